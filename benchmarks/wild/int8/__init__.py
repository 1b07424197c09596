"""Networks quantised to 8 bits, and how fast they run after conversion.

In the environment of `benchmarks.wild`, which has PyTorch and NNCF, and then in that of irloop::

    wildenv/bin/python -m benchmarks.wild.int8.networks FOLDER
    python -m benchmarks.wild.int8 FOLDER

The first writes each network, with random weights, in f32 and as NNCF quantises it, as IR and as
ONNX, which is the peer. The second converts and measures them.
"""
