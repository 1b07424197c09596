"""Node tests of ONNX, written as IR and run by OpenVINO itself, in a child process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser
from onnx.backend.test import loader

from irloop.conversion import pipelines
from irloop.formats.onnx import reader
from irloop.formats.openvino import writer

#: One node test for each kind of form; the CPU plugin returns ONNX's values for all of them.
NAMES = """
    acosh add_bcast atan batchnorm_epsilon bitwise_and_i16_3d
    bitwise_not_2d cast_FLOAT_to_FLOAT16 ceil_example celu clip dequantizelinear_axis
    dequantizelinear_blocked div_int32_trunc dropout_default_mask elu_example erf gelu_tanh_1
    greater_equal_bcast group_normalization_epsilon hardmax_one_hot hardsigmoid_example
    hardswish instancenorm_epsilon isinf_negative isnan l1normalization_axis_0
    layer_normalization_4d_axis2 leakyrelu_example logsoftmax_axis_1 lrn
    matmulinteger max_int8 mean_example mish mod_mixed_sign_int32 mod_int64_fmod mvn
    pow_types_float32_int64 prelu_broadcast qlinearconv qlinearmatmul_2D_uint8_float32
    quantizelinear_axis quantizelinear_blocked_asymmetric reciprocal
    reduce_l2_negative_axes_keep_dims_random reduce_log_sum_exp_negative_axes_keepdims_random
    reduce_sum_square_negative_axes_keepdims_random rms_normalization_3d_axis1_epsilon round selu
    shrink_soft sign softmax_axis_0 softplus softsign sub_uint8 sum_example swish
    thresholdedrelu where_long_example xor3d
    ai_onnx_ml_binarizer ai_onnx_ml_array_feature_extractor
    flexattention_score_mod
"""

SCRIPT = """
import sys
import numpy as np
import openvino
from openvino.frontend import FrontEndManager

core, manager = openvino.Core(), FrontEndManager()
for name in sys.argv[2:]:
    base = f"{sys.argv[1]}/{name}"
    # The frontend itself keeps element types that Core.read_model would replace.
    frontend = manager.load_by_framework("ir")
    model = frontend.convert(frontend.load(base + ".xml"))
    compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    with np.load(base + ".npz") as data:
        tensors = [openvino.Tensor(data[f"arr_{i}"]) for i in range(len(data.files))]
    results = compiled(tensors)
    np.savez(base + ".out.npz", *[results[i] for i in range(len(model.outputs))])
"""


@pytest.fixture(scope="module")
def tests() -> dict[str, Any]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {test.name: test for test in loader.load_model_tests(kind="node")}


def arrays(items: list[Any]) -> list[Any]:
    plain = [item if isinstance(item, np.ndarray) else _plain(item) for item in items]
    return [np.array(item, order="C") for item in plain]


def _plain(item: Any) -> Any:
    return numpy_helper.to_array(item) if hasattr(item, "data_type") else np.asarray(item)


def run_in_openvino(folder: Path, names: list[str]) -> dict[str, list[Any]]:
    """The outputs for the files `name`.xml in the folder and the inputs in `name`.npz, by name."""
    if importlib.util.find_spec("openvino") is None:
        pytest.skip("OpenVINO is not installed")
    command = [sys.executable, "-c", SCRIPT, str(folder), *names]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    outputs = {}
    for name in names:
        with np.load(folder / f"{name}.out.npz") as data:
            outputs[name] = [data[f"arr_{index}"] for index in range(len(data.files))]
    return outputs


@pytest.mark.parametrize("opset", [7, 8])
def test_openvino_computes_the_same_numbers(
    opset: int, tests: dict[str, Any], tmp_path: Path
) -> None:
    chosen = [tests[f"test_{name}"] for name in NAMES.split()]
    for test in chosen:
        model, _ = pipelines.to_openvino(reader.from_proto(test.model), opset=opset)
        writer.write(model, tmp_path / f"{test.name}.xml")
        np.savez(tmp_path / f"{test.name}.npz", *arrays(test.data_sets[0][0]))
    outputs = run_in_openvino(tmp_path, [test.name for test in chosen])
    for test in chosen:
        wanted_outputs = arrays(test.data_sets[0][1])
        for result, wanted in zip(outputs[test.name], wanted_outputs, strict=True):
            assert result.shape == wanted.shape, test.name
            wide, reference = result.astype(np.float64), wanted.astype(np.float64)
            np.testing.assert_allclose(wide, reference, 1e-3, 1e-4, err_msg=test.name)


#: Operations whose results do not fit into 8 bits, and how NumPy computes them.
EIGHT_BITS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": lambda a, b: np.trunc(a / b).astype(a.dtype),
    "Pow": np.power,
}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_eight_bits_wrap_around_and_truncate(dtype: str, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    limits = np.iinfo(dtype)
    x = random.integers(limits.min, limits.max, (3, 4), dtype, endpoint=True)
    y = random.integers(1, 4, (3, 4), dtype)
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    names = []
    for kind in EIGHT_BITS:
        for shape in ([3, 4], [None, None]):
            infos = [helper.make_tensor_value_info(name, element, shape) for name in "xyz"]
            node = helper.make_node(kind, ["x", "y"], ["z"])
            graph = helper.make_graph([node], "one", infos[:2], infos[2:])
            proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])
            model, _ = pipelines.to_openvino(reader.from_proto(proto))
            names.append(f"{kind}_{'known' if shape[0] else 'open'}")
            writer.write(model, tmp_path / f"{names[-1]}.xml")
            np.savez(tmp_path / f"{names[-1]}.npz", x, y)
    for name, (found,) in run_in_openvino(tmp_path, names).items():
        np.testing.assert_array_equal(found, EIGHT_BITS[name.split("_")[0]](x, y), name)


#: The number of iterations depends only on the trip count, which may be 0; OpenVINO would keep the
#: shape of the last run.
COUNTED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, int64 count) => (float[n, 2] out) {
  on = Constant <value = bool {1}> ()
  last, all = Loop (count, on, x) <
    body = step (int64 i, bool go, float[2] s) => (bool again, float[2] next, float[2] part) {
      again = Identity (go) next = Add (s, x) part = Neg (next)
    }>
  out = Abs (all)
}"""

AGAIN = """
import sys
import numpy as np
import openvino

request = openvino.Core().compile_model(sys.argv[1], "CPU").create_infer_request()
for count in (2, 0, 3, 0):
    print(request.infer([np.ones(2, np.float32), np.array(count)])[0].shape[0])
"""


def test_a_run_without_iterations_joins_nothing_after_one_with_some(tmp_path: Path) -> None:
    if importlib.util.find_spec("openvino") is None:
        pytest.skip("OpenVINO is not installed")
    proto = parser.parse_model(COUNTED)
    writer.write(pipelines.to_openvino(reader.from_proto(proto))[0], tmp_path / "model.xml")
    command = [sys.executable, "-c", AGAIN, str(tmp_path / "model.xml")]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["2", "0", "3", "0"], done.stderr[-2000:]
