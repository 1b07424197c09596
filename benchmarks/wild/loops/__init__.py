"""Loop programs as exporters write them, and how fast they run after conversion.

    python -m benchmarks.wild.loops [--only TEXT] [--rounds 60] [--seconds 1]

Every program is ONNX in its text form, in two sizes, with random inputs. Unlike the programs of
`benchmarks.loop_programs`, which are random, each computes something that people write loops for.
"""
