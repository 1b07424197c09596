"""The engines that run models, each in a separate process.

    from irloop.engines.catalogue import engine_of
    from irloop.engines.process import Process

    with Process(engine_of("onnxruntime"), "model.onnx") as process:
        answer = process.run([x], seconds=10)
        again = process.run([y], seconds=10)  # the same compiled model
    print(answer.outputs if answer.failure is None else answer)

A crash, a hang, a refusal or excessive use of memory is reported as an answer, not as an exception.
`catalogue` lists the engines, `process` runs one, `watch` enforces its limits, `worker` is the
program of the child process, and `numpy_runner`, `onnxruntime_runner` and `openvino_runner` call
each engine. You can add your own engine as ``module:function``: a function from the path of a model
to a callable that takes the inputs by position, as a list of arrays, and returns the outputs.
"""
