"""The first line of a comparison names the cause, for models with a deliberate fault.

Every fault is put into the text of an IR. The expected words follow from the fault, not from what
irloop prints.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.formats.onnx import reader

RECURRENT = Path(__file__).resolve().parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"

#: A loop with two states, a condition, the iteration number and a concatenated output.
LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
m (int64 trip, float[3] acc0, float[3] far0, float[3] w)
   => (float[3] acc_last, float[3] far_last, float[n,3] seen) {
   go = Constant <value = bool {1}> ()
   [loop] acc_last, far_last, seen = Loop (trip, go, acc0, far0) <body = step
      (int64 i, bool c, float[3] acc, float[3] far)
      => (bool more, float[3] acc_next, float[3] far_next, float[3] mixed) {
      number = Cast <to = 1> (i)
      half = Constant <value = float {0.5}> ()
      limit = Constant <value = float {3.0}> ()
      scaled = Mul (acc, half)
      grown = Add (scaled, number)
      acc_next = Tanh (grown)
      far_next = Add (far, acc_next)
      top = ReduceMax <keepdims = 0> (far_next)
      more = Less (top, limit)
      less = Greater (top, limit)
      both = Or (more, less)
      zero = Sub (number, number)
      weighed = Mul (far_next, w)
      given = Cast <to = 1> (both)
      nothing = Mul (given, zero)
      mixed = Add (weighed, nothing)
   }>
}
"""


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The loop as an IR."""
    folder = tmp_path_factory.mktemp("loop")
    onnx.save(onnx.parser.parse_model(LOOP), folder / "loop.onnx")
    converted, _ = irloop.convert(irloop.read_model(folder / "loop.onnx"))
    irloop.save_model(converted, folder / "loop.xml")
    return folder / "loop.xml"


def tampered(source: Path, folder: Path, *edits: tuple[str, str]) -> Path:
    """A copy of an IR with text edits; each edit must match."""
    text = source.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "wrong.xml"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(source.with_suffix(".bin").read_bytes())
    return path


def with_number(source: Path, folder: Path, constant: str, number: float) -> Path:
    """A copy of an IR in which the first element of an f32 constant is replaced."""
    path = tampered(source, folder)
    found = re.search(rf'name="{constant}" type="Const".*?offset="(\d+)"', path.read_text(), re.S)
    assert found is not None
    data = bytearray(path.with_suffix(".bin").read_bytes())
    struct.pack_into("<f", data, int(found[1]), number)
    path.with_suffix(".bin").write_bytes(data)
    return path


def first_line(first: Path, second: Path) -> str:
    found = irloop.compare(first, second, engines="numpy")
    assert found.outcome == "different"
    return str(found).splitlines()[0]


def line_of(path: Path, text: str) -> int:
    (number,) = [
        at for at, line in enumerate(path.read_text().splitlines(), start=1) if text in line
    ]
    return number


def result_of(path: Path, tail: str) -> str:
    """The id of the body's Result whose name ends with `tail`."""
    (found,) = re.findall(rf'<layer id="(\d+)" name="[^"]*{tail}" type="Result"', path.read_text())
    return str(found)


def parameter_of(path: Path, name: str) -> str:
    (found,) = re.findall(rf'<layer id="(\d+)" name="{name}" type="Parameter"', path.read_text())
    return str(found)


def edges(path: Path) -> dict[str, str]:
    """The back edges of a file: the id of the Result, keyed by that of the Parameter."""
    text = path.read_text()
    section = text[text.index("<back_edges>") : text.index("</back_edges>")]
    return {to: of for of, to in re.findall(r'from-layer="(\d+)" to-layer="(\d+)"', section)}


def states(loop: Path) -> tuple[str, str, str, str]:
    """The ids of acc and far, and of the Results that carry their next values."""
    text = loop.read_text()
    ids = [str(re.findall(rf'id="(\d+)" name="{name}" type="Parameter"', text)[0])
           for name in ("acc", "far")]  # fmt: skip
    back = edges(loop)
    return ids[0], ids[1], back[ids[0]], back[ids[1]]


PAIRS = pytest.mark.parametrize("other", ["IR", "ONNX"])


def original(source: Path, other: str, folder: Path) -> Path:
    """The model that the tampered one is compared with: the IR itself, or its conversion."""
    if other == "IR":
        return source
    converted, _ = irloop.convert(irloop.read_model(source))
    irloop.save_model(converted, folder / "right.onnx")
    return folder / "right.onnx"


@PAIRS
def test_a_lost_back_edge(tmp_path: Path, other: str) -> None:
    wrong = tampered(RECURRENT, tmp_path, ('<edge from-layer="15" to-layer="1"/>', ""))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    entry = line_of(wrong, '<input external_port_id="1" internal_layer_id="1"/>')
    assert (
        f"in wrong.xml `h` of loop `rnn` is not carried: port 1 has no back edge, line {entry}"
        in line
    )
    assert "it is carried from `h_next`" in line
    if other == "IR":
        edge = line_of(RECURRENT, '<edge from-layer="15" to-layer="1"/>')
        assert line.endswith(f"(back edge of port 1, line {edge})")


@PAIRS
def test_a_lost_back_edge_of_one_of_two_states(loop: Path, tmp_path: Path, other: str) -> None:
    acc, _, result, _ = states(loop)
    wrong = tampered(loop, tmp_path, (f'<edge from-layer="{result}" to-layer="{acc}"/>', ""))
    line = first_line(original(loop, other, tmp_path), wrong)
    assert "`acc` of loop `loop` is not carried: port 2 has no back edge" in line


@PAIRS
def test_a_redirected_back_edge(loop: Path, tmp_path: Path, other: str) -> None:
    acc, _, result, wrong_result = states(loop)
    edge = f'<edge from-layer="{wrong_result}" to-layer="{acc}"/>'
    wrong = tampered(loop, tmp_path, (f'<edge from-layer="{result}" to-layer="{acc}"/>', edge))
    line = first_line(original(loop, other, tmp_path), wrong)
    assert line.startswith("not equal: in wrong.xml `acc` of loop `loop` is carried from")
    assert f"(back edge of port 2, line {line_of(wrong, edge)})" in line


@PAIRS
def test_a_result_of_the_body_that_returns_another_value(tmp_path: Path, other: str) -> None:
    wrong = tampered(
        RECURRENT,
        tmp_path,
        ('<edge from-layer="11" from-port="1" to-layer="15" to-port="0"/>',
         '<edge from-layer="8" from-port="2" to-layer="15" to-port="0"/>'),
    )  # fmt: skip
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    assert "`h` of loop `rnn` is carried from `sum`" in line
    assert "it is carried from `h_next`" in line


@PAIRS
def test_a_doubled_back_edge(loop: Path, tmp_path: Path, other: str) -> None:
    """OpenVINO takes the first of two back edges to one Parameter."""
    acc, _, result, wrong_result = states(loop)
    edge = f'<edge from-layer="{result}" to-layer="{acc}"/>'
    doubled = f'<edge from-layer="{wrong_result}" to-layer="{acc}"/>\n{edge}'
    wrong = tampered(loop, tmp_path, (edge, doubled))
    line = first_line(original(loop, other, tmp_path), wrong)
    assert "`acc` of loop `loop` is carried from" in line
    assert "(first of 2 back edges of port 2, line " in line


FORWARDS = 'axis="1" start="0" end="-1" stride="1" part_size="1"'
BACKWARDS = 'axis="1" start="-1" end="0" stride="-1" part_size="1"'


@PAIRS
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (("internal_layer_id", "0", 0), "`x_t` of loop `rnn` is sliced along axis 1, backwards"),
        (("internal_layer_id", "14", 2), "of loop `rnn` joins `with_time` along axis 1, backwards"),
    ],
    ids=["slice", "joined"],
)
def test_a_reversed_slice_or_output(
    tmp_path: Path, other: str, entry: tuple[str, str, int], words: str
) -> None:
    name, layer, port = entry
    place = f'{name}="{layer}" '
    wrong = tampered(RECURRENT, tmp_path, (place + FORWARDS, place + BACKWARDS))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    assert f"in wrong.xml {'' if 'x_t' in words else '`rnn.0` '}{words} (port {port}, line " in line
    assert " along axis 1, forwards" in line


@PAIRS
def test_a_wrong_axis_is_named_first(tmp_path: Path, other: str) -> None:
    place = 'internal_layer_id="14" axis='
    wrong = tampered(RECURRENT, tmp_path, (f'{place}"1"', f'{place}"0"'))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    entry = line_of(wrong, f'{place}"0"')
    assert f"joins `with_time` along axis 0, forwards (port 2, line {entry})" in line


@PAIRS
def test_a_wrong_first_slice(tmp_path: Path, other: str) -> None:
    place = 'internal_layer_id="0" axis="1" start='
    wrong = tampered(RECURRENT, tmp_path, (f'{place}"0"', f'{place}"1"'))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    assert "`x_t` of loop `rnn` is sliced along axis 1, forwards from 1 to -1 (port 0, line" in line


@PAIRS
def test_a_wrong_initial_value(loop: Path, tmp_path: Path, other: str) -> None:
    acc, far, _, _ = states(loop)
    wrong = tampered(
        loop,
        tmp_path,
        (f'"2" internal_layer_id="{acc}"', f'"3" internal_layer_id="{acc}"'),
        (f'"3" internal_layer_id="{far}"', f'"2" internal_layer_id="{far}"'),
    )
    line = first_line(original(loop, other, tmp_path), wrong)
    assert "in wrong.xml `acc` of loop `loop` starts from `far0` (port 3, line " in line
    assert "it starts from `acc0`" in line


@PAIRS
@pytest.mark.parametrize(
    ("constant", "was"), [("W", "-0.5"), ("h0", "0.0")], ids=["weights", "initial state"]
)
def test_a_wrong_constant_is_named_first(
    tmp_path: Path, other: str, constant: str, was: str
) -> None:
    wrong = with_number(RECURRENT, tmp_path, constant, 0.75)
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    assert f"constant `{constant}` of wrong.xml, line " in line
    assert f"the first is 0.75, not {was}" in line


@PAIRS
def test_a_wrong_operation_is_named_first(tmp_path: Path, other: str) -> None:
    wrong = tampered(RECURRENT, tmp_path, ('type="Tanh"', 'type="Sigmoid"'))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    place = line_of(wrong, 'name="h_next"')
    assert f"`h_next` of wrong.xml, line {place} is Sigmoid-1; in " in line
    assert line.endswith("it is Tanh-1")


def test_a_wrong_attribute_is_named_first(tmp_path: Path) -> None:
    text = RECURRENT.read_text()
    start = text.index('name="h_R"')
    old = text[start : text.index("/>", start)]
    wrong = tampered(
        RECURRENT, tmp_path, (old, old.replace('transpose_b="false"', 'transpose_b="true"'))
    )
    line = first_line(RECURRENT, wrong)
    assert "`h_R` of wrong.xml" in line
    assert "transpose_b True instead of False" in line


@PAIRS
def test_a_wrong_edge_is_named_first(tmp_path: Path, other: str) -> None:
    old, new = (
        f'<edge from-layer="{layer}" from-port="{port}" to-layer="10" to-port="0"/>'
        for layer, port in ((8, 2), (9, 0))
    )
    wrong = tampered(RECURRENT, tmp_path, (old, new))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    assert "input 0 of `biased` of wrong.xml" in line
    assert " is constant `b`; in " in line
    assert line.endswith("it is `sum`")


@PAIRS
def test_a_condition_from_another_value_is_named_first(
    loop: Path, tmp_path: Path, other: str
) -> None:
    """Another value feeds the Result of the condition, as if another Result had its purpose."""
    text = loop.read_text()
    body = text[text.index("<body>") : text.index("</body>")]
    ids = {name: at for at, name in re.findall(r'<layer id="(\d+)" name="([^"]+)"', body)}
    (result,) = re.findall(r'internal_layer_id="(\d+)" purpose="execution_condition"', text)
    edge = 'from-layer="{}" from-port="2" to-layer="{}"'
    wrong = tampered(
        loop, tmp_path, (edge.format(ids["more"], result), edge.format(ids["both"], result))
    )
    line = first_line(original(loop, other, tmp_path), wrong)
    entry = line_of(wrong, 'purpose="execution_condition"')
    place = f"(purpose execution_condition, line {entry})"
    assert f"`condition` of loop `loop` is `both` {place}" in line
    assert "it is `more`" in line


@PAIRS
def test_a_lost_purpose_of_the_iteration_number(loop: Path, tmp_path: Path, other: str) -> None:
    wrong = tampered(loop, tmp_path, (' purpose="current_iteration"', ""))
    line = first_line(original(loop, other, tmp_path), wrong)
    assert "in wrong.xml `iteration` of loop `loop` is fed by nothing" in line
    assert "it is the iteration number" in line


def test_a_lost_purpose_of_the_condition(loop: Path, tmp_path: Path) -> None:
    wrong = tampered(loop, tmp_path, (' purpose="execution_condition"', ""))
    with pytest.raises(irloop.ReadError) as refused:
        irloop.compare(loop, wrong, engines="numpy")
    assert "Loop 'loop'" in str(refused.value).splitlines()[0]
    assert "has no execution condition" in str(refused.value).splitlines()[0]


@PAIRS
def test_a_wrong_condition_is_named_first(loop: Path, tmp_path: Path, other: str) -> None:
    wrong = tampered(loop, tmp_path, ('name="more" type="Less"', 'name="more" type="Greater"'))
    line = first_line(original(loop, other, tmp_path), wrong)
    assert "`more` of wrong.xml, line " in line
    assert " is Greater-1; in " in line
    assert " it is Less-" in line


@PAIRS
def test_a_wrong_limit_in_the_condition(loop: Path, tmp_path: Path, other: str) -> None:
    line = first_line(original(loop, other, tmp_path), with_number(loop, tmp_path, "limit", 3.5))
    assert "constant `limit` of wrong.xml" in line
    assert line.endswith("3.5, not 3.0")


@PAIRS
def test_a_wrong_initial_condition(loop: Path, tmp_path: Path, other: str) -> None:
    wrong = tampered(loop, tmp_path)
    found = re.search(r'name="go" type="Const".*?offset="(\d+)"', loop.read_text(), re.S)
    assert found is not None
    data = bytearray(wrong.with_suffix(".bin").read_bytes())
    data[int(found[1])] = 0
    wrong.with_suffix(".bin").write_bytes(data)
    line = first_line(original(loop, other, tmp_path), wrong)
    assert "the initial condition of `loop` is False in wrong.xml" in line
    assert "so it runs 0 times, not 4 times" in line


def test_a_fault_in_the_onnx_model() -> None:
    """A body output that returns its input is a lost back edge in ONNX."""
    right = onnx.parser.parse_model(LOOP)
    wrong = onnx.parser.parse_model(LOOP)
    (body,) = [
        item.g for node in wrong.graph.node for item in node.attribute if item.name == "body"
    ]
    body.node.add(op_type="Identity", input=["acc"], output=["kept"])
    body.output[1].name = "kept"
    models = [reader.from_proto(item) for item in (right, wrong)]
    found = irloop.compare(*models, engines="numpy")
    assert found.cause is not None
    assert found.cause.kind == "state"
    assert "in the second model `acc` of loop `loop` is not carried" in found.cause.message


def test_models_that_are_equal_have_no_cause() -> None:
    assert irloop.compare(RECURRENT, RECURRENT, engines="numpy").cause is None


@PAIRS
@pytest.mark.parametrize("axis", [0, 2])
def test_a_wrong_axis_of_slices(tmp_path: Path, other: str, axis: int) -> None:
    """With axis 2 the body cannot be computed at all."""
    place = 'internal_layer_id="0" axis='
    wrong = tampered(RECURRENT, tmp_path, (f'{place}"1"', f'{place}"{axis}"'))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    assert f"`x_t` of loop `rnn` is sliced along axis {axis}, forwards (port 0, line " in line
    assert "it is sliced along axis 1, forwards" in line


@PAIRS
def test_a_back_edge_from_a_result_of_another_shape(tmp_path: Path, other: str) -> None:
    """The second iteration fails."""
    edge = '<edge from-layer="14" to-layer="1"/>'
    wrong = tampered(RECURRENT, tmp_path, ('<edge from-layer="15" to-layer="1"/>', edge))
    line = first_line(original(RECURRENT, other, tmp_path), wrong)
    place = f"(back edge of port 1, line {line_of(wrong, edge)})"
    assert f"`h` of loop `rnn` is carried from `with_time` {place}" in line


def test_an_output_of_another_result(tmp_path: Path) -> None:
    entry = '<output external_port_id="3" internal_layer_id="{}"/>'
    wrong = tampered(RECURRENT, tmp_path, (entry.format(15), entry.format(14)))
    line = first_line(RECURRENT, wrong)
    place = f"(port 3, line {line_of(wrong, entry.format(14))})"
    assert f"of loop `rnn` is the last `with_time` {place}" in line
    assert "it is the last `h_next`" in line


@PAIRS
def test_a_purpose_on_the_wrong_entry(loop: Path, tmp_path: Path, other: str) -> None:
    """The execution condition is moved to the output entry of a state, which is not boolean."""
    _, _, result, _ = states(loop)
    purpose = ' purpose="execution_condition"'
    wrong = tampered(
        loop,
        tmp_path,
        (purpose, ""),
        (f'internal_layer_id="{result}"/>', f'internal_layer_id="{result}"{purpose}/>'),
    )
    line = first_line(original(loop, other, tmp_path), wrong)
    place = f"(purpose execution_condition, line {line_of(wrong, purpose)})"
    assert "`condition` of loop `loop` is " in line
    assert place in line
    assert "it is `more`" in line


def test_rounding_is_called_drift() -> None:
    """A quotient and a product differ in the last place; a subtraction makes the difference
    visible.
    """
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[50] x) => (float[50] b) {
       three = Constant <value = float {3.0}> ()
       third = Constant <value = float {0.333333333333}> ()
       near = Constant <value = float {0.3333}> ()
       LINE
       c = Mul (x, near)
       b = Sub (a, c)
    }
    """
    first, second = (
        reader.from_proto(onnx.parser.parse_model(text.replace("LINE", line)))
        for line in ("a = Div (x, three)", "a = Mul (x, third)")
    )
    x = np.arange(1, 51, dtype=np.float32)
    found = irloop.compare(first, second, inputs={"x": x}, engines="numpy", rtol=1e-5, atol=0.0)
    assert found.outcome == "different"
    assert found.cause is not None
    assert found.cause.kind == "drift"
    assert "numeric drift: `b` of the second model is the first value" in found.cause.message
