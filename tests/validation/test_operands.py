"""Element types and shapes of operands that OpenVINO refuses: `validate` finds them, too.

Each case is an operation with sound operands, which both accept, and one change that both refuse.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import irloop

pytest.importorskip("openvino")

#: An operand: element type and shape, and the numbers if it is a constant.
Operand = tuple[str, list[int]] | tuple[str, list[int], list[int]]
#: Names of element types in ports, if they are not the type in capital letters.
PRECISIONS = {"f16": "FP16", "f32": "FP32", "f64": "FP64", "boolean": "BOOL"}
SIZES = {"i64": 8, "i32": 4, "i8": 1, "boolean": 1, "f32": 4}


def write(folder: Path, operation: str, data: str, operands: list[Operand]) -> Path:
    """An IR with one operation; its outputs are declared as unknown."""
    kind, opset = operation.split("-")
    layers, edges, ports, weights = [], [], [], b""
    for at, (element, shape, *numbers) in enumerate(operands):
        dims = "".join(f"<dim>{size}</dim>" for size in shape)
        text = ",".join(map(str, shape))
        precision = PRECISIONS.get(element, element.upper())
        known = f'<data shape="{text}" element_type="{element}"/>'
        if numbers:
            size = SIZES[element]
            made = b"".join(item.to_bytes(size, "little", signed=True) for item in numbers[0])
            known = known.replace("/>", f' offset="{len(weights)}" size="{len(made)}"/>')
            weights += made
        layers.append(
            f'<layer id="{at}" name="in{at}" type="{"Const" if numbers else "Parameter"}" '
            f'version="opset1">{known}<output><port id="0" precision="{precision}">{dims}'
            "</port></output></layer>"
        )
        edges.append(f'<edge from-layer="{at}" from-port="0" to-layer="90" to-port="{at}"/>')
        ports.append(f'<port id="{at}">{dims}</port>')
    layers.append(
        f'<layer id="90" name="op" type="{kind}" version="opset{opset}"><data {data}/>'
        f'<input>{"".join(ports)}</input><output><port id="80" precision="dynamic"/></output>'
        '</layer><layer id="91" name="out" type="Result" version="opset1"><input><port id="0"/>'
        "</input></layer>"
    )
    edges.append('<edge from-layer="90" from-port="80" to-layer="91" to-port="0"/>')
    path = folder / "model.xml"
    path.write_text(
        f'<net name="one" version="11"><layers>{"".join(layers)}</layers>'
        f"<edges>{''.join(edges)}</edges></net>",
        encoding="utf-8",
    )
    path.with_suffix(".bin").write_bytes(weights)
    return path


def verdicts(path: Path) -> tuple[set[str], bool]:
    """The codes of the errors, and whether OpenVINO reads the file."""
    import openvino

    found = {item.code for item in irloop.validate(path) if item.severity.value == "error"}
    try:
        openvino.Core().read_model(path)
    except RuntimeError:
        return found, False
    return found, True


IMAGE = ("f32", [1, 2, 4, 4])
ONE = ("i64", [1], [1])
SCORES = ("f32", [1, 2, 6])
ROW = ("i64", [2], [1, 0])
NMS = [("f32", [1, 6, 4]), SCORES]
TABLE: list[Any] = [("f32", [5, 2]), ("i32", [4]), ("i32", [3])]
ATTENTION = [("f32", [1, 2, 3, 4]), ("f32", [1, 2, 5, 4]), ("f32", [1, 2, 5, 4])]
BLOCKS: list[Any] = [("f32", [4, 2, 2, 2]), *[("i64", [4], [1, 1, 2, 2])], ("i64", [4], [0] * 4),
                     ("i64", [4], [0] * 4)]  # fmt: skip
CLIP = 'pre_nms_topn="5" post_nms_topn="3" nms_thresh="0.7" feat_stride="16" min_size="4"'
RATIO = 'base_size="16" ratio="1" scale="2" framework=""'
SPARSE: list[Any] = [("f32", [3]), ("i32", [2]), ("i32", [3, 2]), ("f32", [])]
FRAMES: list[Any] = [("f32", [48]), ("f32", [8]), ("i64", [], [8]), ("i64", [], [4])]
SLICE: list[Any] = [
    ("f32", [4, 5]),
    ("f32", [2, 5]),
    ONE,
    ("i64", [1], [3]),
    ONE,
    ("i64", [1], [0]),
]
#: The operation, its attributes and operands, and changes: position and new operand, or attributes.
CASES: dict[str, tuple[str, list[Any], list[tuple[int, Any] | str]]] = {
    "TopK-1": ('axis="1" mode="max" sort="value"', [("f32", [3, 7]), ("i64", [], [2])],
               [(1, ("boolean", [], [1])), (1, ONE)]),
    "Transpose-1": ("", [("f32", [3, 2]), ROW], [(1, ("f32", [2])), (1, ("i64", [1, 2], [1, 0]))]),
    "GridSample-9": ('mode="bilinear" padding_mode="zeros" align_corners="false"',
                     [IMAGE, ("f32", [1, 3, 4, 2])], [(1, ("i32", [1, 3, 4, 2]))]),
    "ScaledDotProductAttention-13": ('causal="false"', [*ATTENTION, ("f32", [3, 5])],
        [(3, ("i64", [3, 5])), (3, ("f16", [3, 5])), (3, ("f32", [3, 4])),
         (1, ("f32", [1, 2, 5, 3]))]),
    "BatchToSpace-2": ("", BLOCKS, [(1, ("i32", [4], [1, 1, 2, 2])), (2, ("i64", [4], [-1] * 4)),
        (3, ("i64", [4], [0, 9, 0, 0])), (3, ("i64", [1, 4], [0] * 4))]),
    "StridedSlice-1": ('begin_mask="0" end_mask="0"', [("f32", [4]), ("i64", [1], [0]),
        ("i64", [1], [4]), ONE], [(3, ("i64", [1], [0])), (1, ("f32", [1])), (2, ("i64", [2])),
        'begin_mask="2" end_mask="0"']),
    "Proposal-4": (f"{CLIP} {RATIO}", [("f32", [1, 2, 3, 4]), ("f32", [1, 4, 3, 4]), ("f32", [3])],
                   [(1, ("f32", [8, 4, 3, 4])), (1, ("f32", [1, 6, 3, 4])), (2, ("f32", [2]))]),
    "SparseFillEmptyRows-16": ("", SPARSE, [(2, ("i64", [3, 2])), (2, ("i32", [1, 2, 5, 4])),
                                            (0, ("f32", [4])), (3, ("f32", [1]))]),
    "SliceScatter-15": ("", SLICE, [(4, ("f32", [1])), (5, ("boolean", [1], [0])),
                                    (2, ("i64", [], [1]))]),
    "EmbeddingBagOffsetsSum-3": ("", TABLE, [(1, ("i64", [4])), (2, ("u8", [3])),
                                             (2, ("i32", [3, 1]))]),
    "NonMaxSuppression-5": ('box_encoding="corner" output_type="i64"', [*NMS, ("i64", [], [3])],
        [(0, ("f64", [1, 6, 4])), (0, ("f32", [1, 5, 4])), (2, ("boolean", [], [1]))]),
    "ROIAlign-3": ('pooled_h="2" pooled_w="2" sampling_ratio="2" spatial_scale="1" mode="avg"',
        [IMAGE, ("f32", [3, 4]), ("i32", [3])],
        [(1, ("f16", [3, 4])), (2, ("f32", [3])), (2, ("i32", [2])), (2, ("i32", [3, 1]))]),
    "ScatterElementsUpdate-3": ("", [("f32", [3]), ("i32", [2]), ("f32", [2]), ("i64", [], [0])],
        [(3, ("f32", [], [0])), (1, ("f32", [2])), (2, ("i32", [2]))]),
    "STFT-15": ('transpose_frames="false"', FRAMES, [(1, ("f32", [9])), (1, ("f16", [8])),
        (2, ("i8", [], [8])), (2, ("i64", [1], [8]))]),
    "Pad-12": ('pad_mode="reflect"', [("f32", [4]), ONE, ONE], [(0, ("f32", [1])),
        (1, ("f32", [1])), (2, ("i64", [1], [4]))]),
    "ReverseSequence-1": ('batch_axis="0" seq_axis="1"', [("f32", [2, 4]), ("i64", [2])],
                          [(1, ("i64", [3])), (1, ("boolean", [2])), (1, ("i64", [2, 1]))]),
    "SearchSorted-15": ("", [("f32", [2, 4]), ("f32", [2, 3])], [(1, ("f16", [2, 3])),
        (1, ("f32", [3])), (0, ("f32", []))]),
    "GatherTree-1": ("", [("i32", [4, 2, 3]), ("i32", [4, 2, 3]), ("i32", [2]), ("i32", [])],
                     [(2, ("i32", [3])), (2, ("i32", [])), (3, ("i32", [1])),
                      (1, ("i64", [4, 2, 3]))]),
    "MaxPool-1": ('kernel="2,2" strides="1,1" pads_begin="0,0" pads_end="0,0"', [IMAGE],
                  [(0, ("f32", [0, 2, 4, 4])), (0, ("f32", [1, 2, 0, 4]))]),
    "Eye-9": ('output_type="f32"', [("i64", []), ("i64", []), ("i64", [])],
              [(0, ("i8", [])), (1, ("i64", [1, 1]))]),
    "OneHot-1": ('axis="0"', [("i32", [3]), ("i64", [], [4]), ("f32", []), ("f32", [])],
                 [(1, ("i64", [], [-1])), (1, ("f32", [], [0])), (2, ("i32", [])),
                  (2, ("f32", [1]))]),
    "SegmentMax-16": ('fill_mode="ZERO"', [("f32", [3, 2]), ("i32", [3], [0, 1, 1])],
                      [(1, ("i32", [3], [0, 2, 1])), (1, ("i32", [2], [0, 1])),
                       (1, ("i8", [3], [0] * 3))]),
    "Add-1": ('auto_broadcast="none"', [("f32", [2, 3]), ("f32", [2, 3])],
              [(1, ("f32", [3])), (1, ("f16", [2, 3])), 'auto_broadcast="bidirectional"']),
    "DetectionOutput-8": ('keep_top_k="3" nms_threshold="0.5"', [("f32", [2, 20]), ("f32", [2, 10]),
        ("f32", [1, 2, 25])], [(1, ("f32", [3, 10])), (0, ("f16", [2, 20])),
        (2, ("i32", [1, 2, 25])), (2, ("f32", [3, 2, 25]))]),
}  # fmt: skip
CHANGES = [(name, number) for name, case in CASES.items() for number in range(len(case[2]))]


@pytest.mark.parametrize("name", CASES)
def test_sound_operands(name: str, tmp_path: Path) -> None:
    data, operands, _ = CASES[name]
    assert verdicts(write(tmp_path, name, data, operands)) == (set(), True)


@pytest.mark.parametrize(("name", "number"), CHANGES)
def test_operands_that_openvino_refuses(name: str, number: int, tmp_path: Path) -> None:
    data, operands, changes = CASES[name]
    change = changes[number]
    if isinstance(change, str):
        data = change
    else:
        operands = [change[1] if at == change[0] else item for at, item in enumerate(operands)]
    errors, is_read = verdicts(write(tmp_path, name, data, operands))
    assert not is_read
    assert errors & {"IRL115", "IRL403", "IRL404", "IRL405"}, errors


def test_an_output_that_the_operation_does_not_have(tmp_path: Path) -> None:
    path = write(tmp_path, "ReLU-1", "", [("f32", [2])])
    assert verdicts(path) == (set(), True)
    port = '<port id="80" precision="dynamic"/>'
    text = path.read_text(encoding="utf-8").replace(port, port + port.replace("80", "81"))
    path.write_text(text, encoding="utf-8")
    assert verdicts(path) == ({"IRL404"}, False)


@pytest.mark.parametrize(
    ("first", "second"), [("i64", "i32"), ("i32", "f32")], ids=["two sizes", "a float"]
)
def test_constants_of_prior_boxes_have_one_type(first: str, second: str, tmp_path: Path) -> None:
    data = 'min_size="2" offset="0.5" variance="0.1"'
    operands: list[Any] = [(first, [2], [2, 3]), (second, [2], [20, 30])]
    path = write(tmp_path, "PriorBox-8", data, operands)
    # OpenVINO computes constants of files of version 10 when it reads them.
    path.write_text(path.read_text(encoding="utf-8").replace("11", "10"), encoding="utf-8")
    errors, is_read = verdicts(path)
    assert not is_read
    assert errors == {"IRL403"}


WINDOW = (
    'strides="1,1" dilations="1,1" pads_begin="0,0" pads_end="0,0" auto_pad="explicit" '
    'group="1" deformable_group="1"'
)
SMALL = ("nf4", "f4e2m1", "u2")
#: Operations on data of a small type T that OpenVINO compiles.
COMPILED: dict[str, tuple[str, list[Any]]] = {
    "ReduceSum-1": ('keep_dims="false"', [("T", [2, 3]), ONE]),
    "TopK-11": ('axis="0" mode="max" sort="value" index_element_type="i32"',
                [("T", [4]), ("i64", [], [2])]),
    "ReverseSequence-1": ('batch_axis="0" seq_axis="1"', [("f32", [2, 3]), ("T", [2])]),
    "DeformableConvolution-8": (WINDOW, [("T", [1, 1, 4, 4]), ("T", [1, 8, 3, 3]),
                                                      ("T", [1, 1, 2, 2])]),
    "LRN-1": ('alpha="1" beta="0.5" bias="1" size="3"', [("T", [1, 2, 3, 3]), ONE]),
    "Range-1": ("", [("T", [])] * 3),
    "Acos-1": ("", [("T", [2])]),
}  # fmt: skip


@pytest.mark.parametrize("small", SMALL)
@pytest.mark.parametrize("name", COMPILED)
def test_small_types_that_openvino_compiles(name: str, small: str, tmp_path: Path) -> None:
    import openvino

    data, operands = COMPILED[name]
    given = [(small if item[0] == "T" else item[0], *item[1:]) for item in operands]
    path = write(tmp_path, name, data, given)
    assert verdicts(path) == (set(), True)
    openvino.Core().compile_model(path, "CPU")


@pytest.mark.parametrize("element", ["u1", "u8", "u16", "u32", "u64"])
def test_negative_of_unsigned_numbers(element: str, tmp_path: Path) -> None:
    import openvino

    path = write(tmp_path, "Negative-1", "", [(element, [2])])
    assert "IRL403" in verdicts(path)[0]
    with pytest.raises(RuntimeError):
        openvino.Core().compile_model(path, "CPU")


def test_pads_that_overflow(tmp_path: Path) -> None:
    data = f'kernel="2,2" strides="1,1" pads_begin="0,0" pads_end="{2**63 - 1},0"'
    assert verdicts(write(tmp_path, "MaxPool-1", data, [IMAGE])) == ({"IRL404"}, False)


def test_the_size_that_version_10_takes_for_a_dynamic_one(tmp_path: Path) -> None:
    path = write(tmp_path, "ReLU-1", "", [("f32", [2**63 - 1])])
    path.write_text(path.read_text(encoding="utf-8").replace("11", "10"), encoding="utf-8")
    errors, is_read = verdicts(path)
    assert not is_read
    assert "IRL112" in errors
