"""Creates the initial corpus of the harnesses: small, with one seed of each kind.

    python fuzz/seeds.py

Inputs that once did harm are added by hand, named by their effect.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import irloop

CORPUS = Path(__file__).parent / "corpus"
MODELS = Path(__file__).parents[1] / "tests" / "fixtures" / "models"

FLOATS: dict[str, dict[str, Any]] = {
    "Relu": {}, "Softmax": {"axis": 0}, "Transpose": {"perm": [1, 0]}, "Flatten": {},
    "ReduceMean": {}, "Cast": {"to": TensorProto.INT64}, "LRN": {"size": 3}, "Shape": {},
    "AveragePool": {"kernel_shape": [2, 2]}, "MaxPool": {"kernel_shape": [2, 2]},
    "HardSigmoid": {}, "ThresholdedRelu": {}, "DepthToSpace": {"blocksize": 2}, "IsNaN": {},
    "GlobalAveragePool": {}, "LpPool": {"kernel_shape": [2, 2]}, "Identity": {},
}  # fmt: skip

SETTINGS = b'select = ["IRL"]\nfail-on = "warning"\nseverity = {IRL9 = "info"}\nbaseline = "x"\n'
BASELINE = (
    b'{"schema": "irloop-baseline/1", "findings": [{"code": "IRL203", "file": "m.xml", '
    b'"path": "a/b", "message": "m", "count": 2}]}'
)


def main() -> None:
    """Write all seeds."""
    for path in sorted(MODELS.glob("*/model.xml")):
        (CORPUS / "ir" / f"{path.parent.name}.xml").write_bytes(path.read_bytes())
        model, _ = irloop.convert(path)
        irloop.save_model(model, CORPUS / "onnx" / f"{path.parent.name}.onnx")
    for kind, attributes in FLOATS.items():
        shape = [1, 4, 4, 4] if kind in ("LRN", "DepthToSpace") or "Pool" in kind else [3, 4]
        model = _one(kind, shape, attributes)
        onnx.save(model, CORPUS / "onnx" / f"{kind}.onnx")
    stream = io.BytesIO()
    np.savez_compressed(stream, x=np.arange(4), y__bf16=np.zeros(2, np.uint16), t=np.array(["a"]))
    (CORPUS / "npz" / "several.npz").write_bytes(stream.getvalue())
    np.save(CORPUS / "npz" / "one.npy", np.zeros((2, 3), np.float32))
    (CORPUS / "settings" / "settings.toml").write_bytes(SETTINGS)
    (CORPUS / "settings" / "both").write_bytes(SETTINGS + b"\0" + BASELINE)


def _one(kind: str, shape: list[int], attributes: dict[str, Any]) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([helper.make_node(kind, ["x"], ["y"], **attributes)], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


if __name__ == "__main__":
    main()
