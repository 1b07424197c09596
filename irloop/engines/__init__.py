"""The engines that models are run with, each in a process of its own.

    from irloop.engines.catalogue import engine_of
    from irloop.engines.process import Process

    with Process(engine_of("onnxruntime"), "model.onnx") as process:
        answer = process.run([x], seconds=10)
        again = process.run([y], seconds=10)  # the same compiled model
    print(answer.outputs if answer.failure is None else answer)

A crash, a hang, a refusal or the need of too much memory is an answer. `catalogue` knows which
engines there are, `process` runs one and `watch` its limits, `worker` is what the child process
executes, and `numpy_runner`, `onnxruntime_runner` and `openvino_runner` hold how each engine is
fed. An engine of your own is named ``module:function``: a function from the path of a model to a
callable that takes the inputs by position, as a list of arrays, and returns the outputs.
"""
