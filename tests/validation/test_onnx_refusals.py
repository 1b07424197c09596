"""Attributes and sizes that ONNX Runtime refuses when it loads a model: `validate` finds them, too.

For each damaged model there is a sound one that both accept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import irloop

FLOAT, INT64, INT8 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT8


def info(name: str, *dims: int | None, element: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, list(dims))


def model(
    node: onnx.NodeProto,
    inputs: list[onnx.ValueInfoProto],
    output: onnx.ValueInfoProto,
    constants: tuple[onnx.TensorProto, ...] = (),
    *,
    opset: int = 21,
    ml: int = 4,
) -> onnx.ModelProto:
    graph = helper.make_graph([node], "g", inputs, [output], list(constants))
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", ml)]
    made: onnx.ModelProto = helper.make_model(graph, opset_imports=imports)
    made.ir_version = 10 if opset < 23 else 11
    return made


def numbered_tree(true: list[int], false: list[int], **changed: object) -> onnx.ModelProto:
    """A tree with the nodes 0, 1 and 2; node 0 is a branch."""
    attributes: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.0] * 3, "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": true, "nodes_falsenodeids": false, "n_targets": 1, "target_ids": [0],
        "target_nodeids": [2], "target_treeids": [0], "target_weights": [1.0], **changed,
    }  # fmt: skip
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **attributes
    )
    return model(node, [info("x", 1, 2)], info("y", 1, 1))


def listed_tree(**changed: object) -> onnx.ModelProto:
    """A tree in which node 0 leads to node 1 and leaf 1, and node 1 to the leaves 0 and 1."""
    attributes: dict[str, Any] = {
        "n_targets": 1, "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [2], [0, 0]),
        "nodes_splits": helper.make_tensor("s", FLOAT, [2], [0, 0]), "nodes_featureids": [0, 0],
        "nodes_truenodeids": [1, 0], "nodes_trueleafs": [0, 1], "nodes_falsenodeids": [1, 1],
        "nodes_falseleafs": [1, 1], "tree_roots": [0], "leaf_targetids": [0, 0],
        "leaf_weights": helper.make_tensor("w", FLOAT, [2], [1, 2]), **changed,
    }  # fmt: skip
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    return model(node, [info("x", 1, 2)], info("y", 1, 1), ml=5)


def ngrams(**changed: object) -> onnx.ModelProto:
    """A TfIdfVectorizer with four 1-grams and three 2-grams."""
    attributes: dict[str, Any] = {
        "mode": "TF", "min_gram_length": 2, "max_gram_length": 2, "max_skip_count": 0,
        "ngram_counts": [0, 4], "ngram_indexes": [0, 1, 2, 3, 4, 5, 6],
        "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7], **changed,
    }  # fmt: skip
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **attributes)
    return model(node, [info("x", 12, element=INT64)], info("y", 7))


def resize(scales: int, sizes: int) -> onnx.ModelProto:
    """A Resize of two images with this many scales and sizes, all 1 and 2."""
    constants = (
        helper.make_tensor("scales", FLOAT, [scales], [1.0] * scales),
        helper.make_tensor("sizes", INT64, [sizes], [2] * sizes),
    )
    node = helper.make_node("Resize", ["x", "", "scales", "sizes"], ["y"])
    return model(node, [info("x", 2, 2, 2, 2)], info("y", None, None, None, None), constants)


def attention(scale: float) -> onnx.ModelProto:
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], scale=scale)
    return model(node, [info(name, 1, 2, 3, 4) for name in "qkv"], info("y", 1, 2, 3, 4), opset=23)


def crop(sizes: int) -> onnx.ModelProto:
    node = helper.make_node("CenterCropPad", ["x", "s"], ["y"])
    inputs = [info("x", 8, 4), info("s", sizes, element=INT64)]
    return model(node, inputs, info("y", None, None))


def crop_by(*sizes: int, **attributes: Any) -> onnx.ModelProto:
    constant = helper.make_tensor("s", INT64, [1, len(sizes)], sizes)
    node = helper.make_node("CenterCropPad", ["x", "s"], ["y"], **attributes)
    return model(node, [info("x", 8, 4)], info("y", None, None), (constant,))


def resize_to(sizes: int | None, x: tuple[int, ...] = (2, 2, 2)) -> onnx.ModelProto:
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"])
    inputs = [info("x", *x), info("sizes", sizes, element=INT64)]
    return model(node, inputs, info("y", *[None] * len(x)))


def one_hot(
    indices: tuple[int, ...] = (2,),
    depth: tuple[int, ...] = (),
    values: tuple[int, ...] = (2,),
) -> onnx.ModelProto:
    """A OneHot of inputs of these shapes."""
    node = helper.make_node("OneHot", ["i", "d", "v"], ["y"])
    inputs = [
        info("i", *indices, element=INT64), info("d", *depth, element=INT64), info("v", *values),
    ]  # fmt: skip
    return model(node, inputs, info("y", *[None] * (len(indices) + 1)))


def reverse(data: tuple[int, ...], lengths: tuple[int, ...]) -> onnx.ModelProto:
    node = helper.make_node("ReverseSequence", ["x", "n"], ["y"])
    return model(node, [info("x", *data), info("n", *lengths, element=INT64)], info("y", *data))


def pool(type: str, *pads: int) -> onnx.ModelProto:
    node = helper.make_node(type, ["x"], ["y"], kernel_shape=[2, 2], pads=pads)
    return model(node, [info("x", 1, 1, 6, 6)], info("y", 1, 1, None, None))


def grid(sizes: int) -> onnx.ModelProto:
    node = helper.make_node("AffineGrid", ["x", "s"], ["y"])
    inputs = [info("x", 2, 2, 3), info("s", sizes, element=INT64)]
    return model(node, inputs, info("y", 2, None, None, 2))


def columns(*dims: int) -> onnx.ModelProto:
    node = helper.make_node("Col2Im", ["x", "image", "block"], ["y"])
    inputs = [info("x", *dims), info("image", 2, element=INT64), info("block", 2, element=INT64)]
    return model(node, inputs, info("y", None, None, None, None))


def parts(**attributes: Any) -> onnx.ModelProto:
    graph = model(helper.make_node("Split", ["x"], ["y", "z"], **attributes),
                  [info("x", 6)], info("y", 3))  # fmt: skip
    graph.graph.output.append(info("z", 3))
    return graph


def labels(*dims: int) -> onnx.ModelProto:
    node = helper.make_node(
        "LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["a"],
        values_tensor=helper.make_tensor("v", INT64, [1], [4]),
        default_tensor=helper.make_tensor("d", INT64, list(dims), [9]),
    )  # fmt: skip
    return model(node, [info("x", 5, element=TensorProto.STRING)], info("y", 5, element=INT64))


def grown(type: str, size: int, other: int = 1, **attributes: Any) -> onnx.ModelProto:
    """An operation on a tensor of shape [size, 4, other] whose output is larger."""
    constants = {
        "Pad": helper.make_tensor("c", INT64, [6], [0, 0, 0, 1, 0, 0]),
        "Tile": helper.make_tensor("c", INT64, [3], [4, 1, 1]),
        "Reshape": helper.make_tensor("c", INT64, [2], [-1, size]),
    }
    inputs = ["x", "c"] if type in constants else ["x", "x"] if type == "Concat" else ["x"]
    node = helper.make_node(type, inputs, ["y"], **attributes)
    info_y = info("y", *[None] * (2 if type in ("Flatten", "Reshape") else 3))
    known = (constants[type],) if type in constants else ()
    return model(node, [info("x", size, 4, other)], info_y, known)


def causal(
    data: tuple[int, ...] = (1, 2, 5),
    filters: tuple[int, ...] = (2, 1, 3),
    bias: tuple[int, ...] = (2,),
    past: tuple[int, ...] = (1, 2, 2),
) -> onnx.ModelProto:
    node = helper.make_node("CausalConvWithState", ["x", "w", "b", "p"], ["y", "q"])
    inputs = [info("x", *data), info("w", *filters), info("b", *bias), info("p", *past)]
    made = model(node, inputs, info("y", *[None] * len(data)), opset=27)
    made.graph.output.append(info("q", *[None] * len(past)))
    made.ir_version = 13
    return made


def shaped(type: str, *dims: int) -> onnx.ModelProto:
    """An operation whose second input is a shape with these dimensions."""
    node = helper.make_node(type, ["x", "s"] if type != "ConstantOfShape" else ["s"], ["y"])
    inputs = [info("x", 4), info("s", *dims, element=INT64)]
    rank = dims[0] if dims else 1
    return model(node, inputs, info("y", *[None] * rank))


def unpooled(*dims: int) -> onnx.ModelProto:
    node = helper.make_node("MaxUnpool", ["x", "i", "s"], ["y"], kernel_shape=[2, 2])
    inputs = [info("x", 1, 1, 2, 2), info("i", 1, 1, 2, 2, element=INT64)]
    shape = info("s", *dims, element=INT64)
    return model(node, [*inputs, shape], info("y", None, None, None, None))


def cached(*indices: int) -> onnx.ModelProto:
    node = helper.make_node("TensorScatter", ["x", "u", "i"], ["y"])
    inputs = [info("x", 2, 4, 3), info("u", 2, 1, 3), info("i", *indices, element=INT64)]
    return model(node, inputs, info("y", 2, 4, 3), opset=24)


def aligned(*items: int) -> onnx.ModelProto:
    node = helper.make_node("RoiAlign", ["x", "r", "i"], ["y"])
    inputs = [info("x", 1, 1, 4, 4), info("r", 2, 4), info("i", *items, element=INT64)]
    return model(node, inputs, info("y", 2, 1, 1, 1))


def counted(*keys: int) -> onnx.ModelProto:
    """Attention with the numbers of valid keys."""
    node = helper.make_node("Attention", ["q", "q", "q", "", "", "", "n"], ["y"])
    inputs = [info("q", 1, 2, 3, 4), info("n", *keys, element=INT64)]
    made = model(node, inputs, info("y", 1, 2, 3, 4), opset=25)
    made.ir_version = 13
    return made


def product(transposed: int) -> onnx.ModelProto:
    node = helper.make_node("Gemm", ["a", "b"], ["y"], transB=transposed)
    return model(node, [info("a", 2, 3), info("b", 4, 3)], info("y", 2, 4))


def unnamed_body(type: str, *, named: bool = True) -> onnx.ModelProto:
    """A node with a body, which has a name or has none."""
    vector = helper.make_tensor_type_proto(FLOAT, [2])
    name = "body" if named else ""
    element = helper.make_node("Abs", ["e"], ["t"])
    if type == "If":
        outer = helper.make_node("Abs", ["x"], ["t"])
        branch = helper.make_graph([outer], name, [], [info("t", 2)])
        other = helper.make_graph([helper.make_node("Neg", ["x"], ["u"])], "other", [],
                                  [info("u", 2)])  # fmt: skip
        node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=other)
        condition = info("c", element=TensorProto.BOOL)
        return model(node, [condition, info("x", 2)], info("y", 2))
    body = helper.make_graph([element], name, [info("e", 2)], [info("t", 2)])
    if type == "Scan":
        node = helper.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)
        return model(node, [info("x", 3, 2)], info("y", 3, 2))
    if type == "SequenceMap":
        node = helper.make_node("SequenceMap", ["x"], ["y"], body=body)
        items = [helper.make_value_info(n, helper.make_sequence_type_proto(vector)) for n in "xy"]
        return model(node, items[:1], items[1])
    body.input.insert(0, info("i", element=INT64))
    body.input.insert(1, info("k", element=TensorProto.BOOL))
    body.output.insert(0, info("k", element=TensorProto.BOOL))
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    return model(node, [info("n", element=INT64), info("x", 2)], info("y", 2))


def quantized(other_scale: int) -> onnx.ModelProto:
    names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"]
    elements = [INT8, FLOAT, INT8, INT8, other_scale, INT8, FLOAT, INT8]
    dims = {"a": (2, 4), "b": (4, 3)}
    inputs = [
        info(name, *dims.get(name, (1,)), element=element)
        for name, element in zip(names, elements, strict=True)
    ]
    node = helper.make_node("QLinearMatMul", names, ["y"])
    return model(node, inputs, info("y", 2, 3, element=INT8))


def identity(declared: int, *, is_optional: bool = True) -> onnx.ModelProto:
    """An Identity of an optional sequence of floats, whose output has the type `declared`."""

    def optional(element: int) -> onnx.TypeProto:
        item = helper.make_tensor_type_proto(element, [5])
        return helper.make_optional_type_proto(helper.make_sequence_type_proto(item))

    output = helper.make_value_info("y", optional(declared)) if is_optional else info("y", 5)
    given = helper.make_value_info("x", optional(FLOAT))
    return model(helper.make_node("Identity", ["x"], ["y"]), [given], output)


#: A sound model, and the damaged models made from it, by name.
CASES: dict[str, tuple[onnx.ModelProto, dict[str, onnx.ModelProto]]] = {
    "numbered tree": (numbered_tree([1, 0, 0], [2, 0, 0]), {
        "leads to itself": numbered_tree([0, 0, 0], [2, 0, 0]),
        "leads back": numbered_tree([1, 0, 0], [2, 2, 0],
                                    nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"]),
        "leads nowhere": numbered_tree([1, 0, 0], [7, 0, 0]),
        "modes are missing": numbered_tree([1, 0, 0], [2, 0, 0], nodes_modes=["BRANCH_LEQ"]),
    }),
    "listed tree": (listed_tree(), {
        "leads back": listed_tree(nodes_trueleafs=[0, 0]),
        "no such leaf": listed_tree(nodes_falsenodeids=[1, 9]),
        "no such root": listed_tree(tree_roots=[5]),
        "a target that does not exist": listed_tree(leaf_targetids=[0, 9]),
    }),
    "n-grams": (ngrams(), {
        "half a 2-gram": ngrams(pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6]),
        "beyond the pool": ngrams(ngram_counts=[0, 40]),
        "before the pool": ngrams(ngram_counts=[0, -4]),
        "counts descend": ngrams(ngram_counts=[4, 0]),
        "negative column": ngrams(ngram_indexes=[0, 1, 2, 3, 4, 5, -6]),
        "negative skip": ngrams(max_skip_count=-1),
    }),
    "resize by scales": (resize(4, 0), {"both empty": resize(0, 0)}),
    "resize to sizes": (resize(0, 4), {"both empty": resize(0, 0), "both": resize(4, 4)}),
    "resize to computed sizes": (resize_to(3), {
        "two": resize_to(2), "none": resize_to(0), "an unknown number": resize_to(None),
    }),
    "one hot": (one_hot(), {
        "two depths": one_hot(depth=(2,)),
        "a matrix of depths": one_hot(depth=(1, 1)),
        "three values": one_hot(values=(3,)),
        "a matrix of values": one_hot(values=(1, 2)),
        "a scalar of indices": one_hot(indices=()),
    }),
    "one hot with a list of one depth": (one_hot(depth=(1,)), {}),
    "reverse": (reverse((4, 2), (2,)), {
        "a list": reverse((4,), (4,)),
        "a scalar": reverse((), (1,)),
        "a matrix of lengths": reverse((4, 2), (2, 1)),
        "a scalar of lengths": reverse((4, 2), ()),
    }),
    **{
        type: (pool(type, 0, 1, 0, 1), {
            "negative begin": pool(type, -1, 0, 0, 0), "negative end": pool(type, 1, 1, -1, -1),
        })
        for type in ("AveragePool", "MaxPool", "LpPool")
    },
    **{
        f"{type} of a large tensor": (grown(type, 1 << 60, **attributes), {
            "beyond 64 bits": grown(type, size, other, **attributes),
        })
        for type, size, other, attributes in (
            ("Concat", 1 << 62, 1, {"axis": 0}), ("Pad", (1 << 63) - 1, 1, {}),
            ("Tile", 1 << 61, 1, {}), ("Flatten", 1 << 40, 1 << 40, {"axis": 0}),
            ("Reshape", 1 << 40, 1 << 40, {}),
        )
    },
    **{
        f"body of {type}": (unnamed_body(type), {"without a name": unnamed_body(type, named=False)})
        for type in ("If", "Loop", "Scan", "SequenceMap")
    },
    **{
        f"shape of {type}": (shaped(type, 1), {
            "a scalar": shaped(type), "a matrix": shaped(type, 1, 1),
        })
        for type in ("Reshape", "Expand", "ConstantOfShape")
    },
    "unpool": (unpooled(4), {
        "three sizes": unpooled(3), "a scalar": unpooled(), "a matrix": unpooled(4, 1),
    }),
    "cache": (cached(2), {
        "an index for two": cached(1), "a scalar": cached(), "a matrix": cached(2, 1),
    }),
    "regions": (aligned(2), {
        "three items for two": aligned(3), "a scalar": aligned(), "a matrix": aligned(2, 1),
    }),
    "valid keys": (counted(1), {"a scalar": counted()}),
    "transposed product": (product(1), {"a multiple of 2 to the 32": product(1 << 40)}),
    "causal convolution": (causal(), {
        "images": causal(data=(1, 2, 5, 5)),
        "a vector": causal(data=(2, 5)),
        "filters of two channels": causal(filters=(2, 2, 3)),
        "filters for other channels": causal(filters=(3, 1, 3)),
        "another bias": causal(bias=(1,)),
        "a past of another batch": causal(past=(2, 2, 2)),
        "a long past": causal(past=(1, 2, 3)),
    }),
    "attention": (attention(0.5), {"negative scale": attention(-0.5)}),
    "crop": (crop(2), {"three sizes for two axes": crop(3)}),
    "crop by a matrix": (crop_by(3, 3), {
        "three sizes for two axes": crop_by(3, 3, 3),
        "two sizes for an axis": crop_by(3, 3, axes=[0]),
        "an axis twice": crop_by(3, 3, axes=[0, -2]),
    }),
    "grid": (grid(4), {"one size": grid(1)}),
    "columns": (columns(1, 4, 9), {"two dimensions": columns(4, 9)}),
    "parts": (parts(num_outputs=2), {"neither lengths nor number": parts()}),
    "labels": (labels(1), {"a scalar": labels()}),
    "quantized": (quantized(FLOAT), {"scales differ": quantized(TensorProto.FLOAT16)}),
    "optional": (identity(FLOAT), {
        "of another element type": identity(TensorProto.UINT8),
        "declared as a tensor": identity(FLOAT, is_optional=False),
    }),
}  # fmt: skip
DAMAGED = [(name, damage) for name, (_, found) in CASES.items() for damage in found]


def verdicts(made: onnx.ModelProto, folder: Path) -> tuple[list[str], bool]:
    """The errors that `validate` finds, and whether ONNX Runtime loads the model."""
    import onnxruntime

    path = folder / "m.onnx"
    path.write_bytes(made.SerializeToString())
    errors = [item.code for item in irloop.validate(path) if item.severity.value == "error"]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception:
        return errors, False
    return errors, True


@pytest.mark.parametrize("name", CASES)
def test_sound_models_are_accepted(name: str, tmp_path: Path) -> None:
    assert verdicts(CASES[name][0], tmp_path) == ([], True)


@pytest.mark.parametrize(("name", "damage"), DAMAGED)
def test_damaged_models_are_refused(name: str, damage: str, tmp_path: Path) -> None:
    errors, is_loaded = verdicts(CASES[name][1][damage], tmp_path)
    assert not is_loaded
    assert errors in (["ONX201"], ["ONX207"], ["ONX206"], ["ONX109"])
