"""Programs with loops drawn at random, converted both ways and judged by real engines.

    python -m benchmarks.loop_programs --programs 5000 --seed 1 [--family onnx|ir] [-o found.jsonl]

The programs hold what other suites leave out: strings, optionals, recurrent operations inside
bodies, omitted optional outputs, 4-bit integers, 8-bit floats, ranks that are not known, bodies in
bodies down to depth five. `onnx_programs` and `ir_programs` draw them, `judge` takes one through
conversion and the engines, `worker` does that in a process that may die or hang.
"""
