"""Random programs with loops, converted both ways and checked with real engines.

    python -m benchmarks.loop_programs --programs 5000 --seed 1 [--family FAMILY] [-o FILE]

The programs contain features that other suites lack: strings, optionals, recurrent operations
inside bodies, omitted optional outputs, 4-bit integers, 8-bit floats, unknown ranks, bodies nested
up to five levels. `onnx_programs` and `ir_programs` generate them, `neutral_programs` adds
arithmetic without effect, `size_programs` generates arithmetic with sizes, and `resizing_programs`
generates loops whose states change their sizes. `judge` converts one program and runs it in the
engines, and `worker` does so in a process that may die or hang.
"""
