"""Malformed IRs: well-formed XML whose content is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.malformed.cases import Case, edited
from tests.malformed.ir_bases import FLAT, FLAT_WEIGHTS, IF, ITERATOR, LOOP, LOOP_WEIGHTS

__all__ = ["CASES"]

_BASES = {
    "flat": (FLAT, FLAT_WEIGHTS),
    "loop": (LOOP, LOOP_WEIGHTS),
    "iterator": (ITERATOR, b""),
    "if": (IF, b""),
}
Edit = tuple[str, str]


def _case(
    base: str,
    name: str,
    code: str,
    at: str,
    *edits: Edit,
    path: str = "",
    mild: bool = False,
    weights: bytes | None = None,
) -> Case:
    text, sound = _BASES[base]
    broken = edited(text, *edits)
    data = sound if weights is None else weights

    def make(folder: Path) -> Path:
        (folder / "model.xml").write_text(broken, encoding="utf-8")
        (folder / "model.bin").write_bytes(data)
        return folder / "model.xml"

    return Case(f"{base}: {name}", make, code, at, path, mild=mild)


_MM = '<layer id="2" name="mm" type="MatMul" version="opset1">'
_B = '<layer id="3" name="b" type="Const" version="opset1">'
_B_DATA = '<data element_type="f32" shape="1,3" offset="48" size="12"/>'
_X_DATA = '<data shape="1,4" element_type="f32"/>'
_TO_MM = '<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>'
_TO_JOINED = '<edge from-layer="3" from-port="0" to-layer="4" to-port="1"/>'
_LAST = '<edge from-layer="4" from-port="2" to-layer="5" to-port="0"/>'
_RESULT = '<layer id="5" name="y" type="Result" version="opset1">'
_DIM = '<port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port>'
_MANY = "9" * 5000
_LAYERS, _EDGES = FLAT.index("<layers>"), FLAT.index("<edges>")


def _flat() -> Iterator[Case]:
    def case(
        name: str, code: str, at: str, *edits: Edit, path: str = "", mild: bool = False
    ) -> Case:
        return _case("flat", name, code, at, *edits, path=path, mild=mild)

    yield case("root is not net", "IRL102", "<nets", ("<net ", "<nets "), ("</net>", "</nets>"))
    for version in ("99", "8", "9", "ten", "-10", "10.0", ""):
        edit = ('version="10"', f'version="{version}"')
        yield case(f"version {version!r}", "IRL102", "<net ", edit)
    yield case("no version", "IRL102", "<net ", (' version="10"', ""))
    yield case("no layers", "IRL108", "<net ", (FLAT[_LAYERS:_EDGES], ""))
    yield case(
        "layers without a layer",
        "IRL108",
        "<net ",
        (FLAT[_LAYERS + 8 : FLAT.index("</layers>")], ""),
        (FLAT[_EDGES + 7 : FLAT.index("</edges>")], ""),
    )
    yield case("no edges", "IRL406", _RESULT, (FLAT[_EDGES : FLAT.index("</net>")], ""), path="y")
    yield case("no result", "IRL108", 'type="result"', ('type="Result"', 'type="result"'))
    for name in ("id", "name", "type", "version"):
        text = {"id": "2", "name": "mm", "type": "MatMul", "version": "opset1"}[name]
        head = _MM.replace(f' {name}="{text}"', "")
        yield case(f"layer without {name}", "IRL103", head, (_MM, head))
    for text in ("-6", "abc", "0x2", _MANY):
        head = _MM.replace('id="2"', f'id="{text}"')
        yield case(f"layer id {text[:8]}", "IRL104", head[:60], (_MM, head))
    yield case("layer id twice", "IRL105", 'name="b"', (_B, _B.replace('"3"', '"2"')), path="b")
    yield case(
        "port id twice",
        "IRL106",
        '        <port id="0" precision="FP32"><dim>4</dim>',
        (
            '<port id="1" precision="FP32"><dim>4</dim>',
            '<port id="0" precision="FP32"><dim>4</dim>',
        ),
        path="mm",
    )
    yield case("port without id", "IRL103", "<port precision", ('<port id="1" ', "<port "))
    yield case("port id no number", "IRL104", 'port id="one"', ('<port id="1"', '<port id="one"'))
    yield case("unknown type", "IRL109", "MatMulX", ('"MatMul"', '"MatMulX"'), path="mm")
    yield case(
        "unknown opset", "IRL109", "opset99", (_MM, _MM.replace("opset1", "opset99")), path="mm"
    )
    yield case("empty type", "IRL109", 'type=""', ('"MatMul"', '""'))
    yield case("Constant for Const", "IRL110", 'type="Constant"', ('"Const"', '"Constant"'))
    yield case(
        "unknown element", "IRL107", "<surprise/>", ("<layers>", "<layers>\n<surprise/>"), mild=True
    )
    yield case(
        "element type unknown",
        "IRL111",
        'element_type="FP32"',
        (_X_DATA, _X_DATA.replace("f32", "FP32")),
        path="x",
    )
    yield case(
        "precision unknown", "IRL111", "FP33", ('precision="FP32" names="x"', 'precision="FP33"')
    )
    yield case(
        "no element type",
        "IRL103",
        '<data shape="1,4"/>',
        (' element_type="f32"/>\n', "/>\n"),
        path="x",
    )
    for text in ("1,,4", "-5..4,4", "5..1,4", "one,4", "1,4,", f"{_MANY},4"):
        yield case(
            f"shape {text[:8]}",
            "IRL112",
            f'shape="{text[:20]}',
            ('shape="1,4"', f'shape="{text}"'),
            path="x",
        )
    for text in ("-2", "?", "", "four"):
        yield case(
            f"dim {text!r}",
            "IRL113",
            f"<dim>{text}</dim>",
            ("<dim>1</dim>", f"<dim>{text}</dim>"),
            path="x",
        )
    for text in ("18446744073709551616", _MANY):
        yield case(
            f"dim {text[:20]}",
            "IRL113",
            f"<dim>{text[:9]}",
            ("<dim>1</dim>", f"<dim>{text}</dim>"),
            path="x",
        )
    yield case(
        "transpose_b maybe",
        "IRL114",
        "maybe",
        ('transpose_b="false"', 'transpose_b="maybe"'),
        path="mm",
        mild=True,
    )
    yield case("dim 1.5", "IRL116", "1.5", ("<dim>1</dim>", "<dim>1.5</dim>"), path="x", mild=True)
    yield case("axis 1.5", "IRL116", "1.5", ('axis="1"', 'axis="1.5"'), path="joined", mild=True)
    for text in ("x", "", "18446744073709551616", _MANY):
        yield case(
            f"axis {text[:20]!r}",
            "IRL115",
            f'axis="{text[:9]}',
            ('axis="1"', f'axis="{text}"'),
            path="joined",
        )
    yield case("axis out of range", "IRL405", '"Concat"', ('axis="1"', 'axis="2"'), path="joined")
    yield case("no axis", "IRL103", '"Concat"', ('<data axis="1"/>', ""), path="joined", mild=True)
    yield case(
        "wrong declared dims",
        "IRL401",
        "<dim>7</dim>",
        ("<dim>6</dim>", "<dim>7</dim>"),
        path="joined",
        mild=True,
    )
    yield case(
        "inner dimensions differ", "IRL404", '"MatMul"', ('shape="1,4"', 'shape="1,5"'), path="mm"
    )
    yield case(
        "element types differ",
        "IRL403",
        '"Concat"',
        ('"f32" shape="1,3"', '"i32" shape="1,3"'),
        path="joined",
    )
    yield case(
        "one input too few",
        "IRL406",
        _MM,
        ('        <port id="1" precision="FP32"><dim>4</dim><dim>3</dim></port>\n', ""),
        ('    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>\n', ""),
        path="mm",
    )
    yield case(
        "meta_data without value",
        "IRL119",
        "<cli ",
        ("</edges>", '</edges>\n<meta_data>\n<cli name="1"/>\n</meta_data>'),
    )
    yield case(
        "two inputs of one name", "IRL117", 'id="9" name="x"', (_RESULT, _X2 + _RESULT), path="x"
    )
    yield from _edges()
    yield from _constants()


_X2 = """<layer id="9" name="x" type="Parameter" version="opset1">
      <data shape="1,4" element_type="f32"/>
      <output><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></output>
    </layer>
    """


def _edges() -> Iterator[Case]:
    def case(name: str, code: str, old: str, new: str, at: str = "", path: str = "") -> Case:
        return _case(
            "flat", name, code, at or new.rsplit("\n", maxsplit=1)[-1], (old, new), path=path
        )

    yield case("edge from no layer", "IRL201", 'from-layer="3"', 'from-layer="33"')
    yield case("edge to no layer", "IRL202", 'to-layer="5"', 'to-layer="44"')
    yield case(
        "edge from no port",
        "IRL203",
        'from-layer="3" from-port="0"',
        'from-layer="3" from-port="9"',
    )
    yield case("edge to no port", "IRL203", 'to-layer="5" to-port="0"', 'to-layer="5" to-port="9"')
    yield case(
        "edge from an input port",
        "IRL203",
        'from-layer="4" from-port="2"',
        'from-layer="4" from-port="1"',
    )
    yield case("first input lost", "IRL204", _TO_MM, "", _DIM, "mm")
    yield case(
        "last input lost",
        "IRL406",
        '    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>\n',
        "",
        _MM,
        "mm",
    )
    yield case("result without edge", "IRL406", _LAST, "", _RESULT, "y")
    yield case(
        "two edges to one port",
        "IRL206",
        _TO_JOINED,
        f"{_TO_JOINED}\n{_TO_JOINED.replace('3', '1', 1)}",
    )
    yield case(
        "edge to itself",
        "IRL207",
        'from-layer="3" from-port="0" to-layer="4"',
        'from-layer="4" from-port="2" to-layer="4"',
    )
    yield case(
        "cycle",
        "IRL207",
        _TO_MM,
        _TO_MM.replace('from-layer="0" from-port="0"', 'from-layer="4" from-port="2"'),
    )
    yield case(
        "edge into a Const",
        "IRL208",
        _LAST,
        f'{_LAST}\n<edge from-layer="0" from-port="0" to-layer="3" to-port="0"/>',
    )
    yield case(
        "edge without from-layer",
        "IRL103",
        ' from-layer="3"',
        "",
        '<edge from-port="0" to-layer="4"',
    )
    yield case(
        "edge port no number",
        "IRL104",
        'from-layer="3" from-port="0"',
        'from-layer="3" from-port="zero"',
    )


def _constants() -> Iterator[Case]:
    def case(name: str, code: str, data: str, at: str = "") -> Case:
        return _case("flat", name, code, (at or data)[:60], (_B_DATA, data), path="b")

    def changed(**attributes: str) -> str:
        shown = {"element_type": "f32", "shape": "1,3", "offset": "48", "size": "12", **attributes}
        listed = (f'{key}="{text}"' for key, text in shown.items() if text != "none")
        return f"<data {' '.join(listed)}/>"

    yield case("offset no number", "IRL104", changed(offset="abc"))
    yield case("offset negative", "IRL104", changed(offset="-4"))
    yield case("offset 2^64", "IRL104", changed(offset="18446744073709551616"))
    yield case("offset of 5000 digits", "IRL104", changed(offset=_MANY))
    yield case("offset 2^63", "IRL104", changed(offset="9223372036854775808"))
    yield case("offset past the end", "IRL302", changed(offset="60"))
    yield case("size past the end", "IRL302", changed(size="16"))
    yield case("size 2^64 - 1", "IRL104", changed(size="18446744073709551615"))
    yield case("size too small", "IRL303", changed(size="8"))
    yield case("size no number", "IRL104", changed(size="1e1"))
    yield case("no offset", "IRL305", changed(offset="none"))
    yield case("no size", "IRL305", changed(size="none"))
    yield case("no shape", "IRL305", changed(shape="none"))
    yield case("dynamic shape", "IRL305", changed(shape="-1,3"))
    yield case("shape negative", "IRL112", changed(shape="-3,3"))
    yield case("shape that fills the memory", "IRL303", changed(shape="1000000000,1000000000"))
    yield case("shape that overflows", "IRL303", changed(shape="4294967296,4294967296,4294967296"))
    yield case("element type unknown to constants", "IRL111", changed(element_type="f31"))
    yield _case("flat", "constant without data", "IRL305", _B, (_B_DATA, ""), path="b")
    yield _case("flat", "short weights", "IRL302", _B_DATA, path="b", weights=bytes(50))
    yield _case("flat", "weights of nothing", "IRL302", 'offset="0"', path="w", weights=b"")
    yield _case(
        "flat",
        "weights not finite",
        "IRL309",
        'offset="0"',
        path="w",
        weights=b"\xff" * 60,
        mild=True,
    )


_STATE = '<input external_port_id="2" internal_layer_id="0"/>'
_AXIS = 'axis="0" start="0" end="-1" stride="1" part_size="1"'
_SLICED = f'<input external_port_id="3" internal_layer_id="1" {_AXIS}/>'
_ITERATION = '<input external_port_id="-1" internal_layer_id="2" purpose="current_iteration"/>'
_FINAL = '<output external_port_id="4" internal_layer_id="6"/>'
_CONDITION = '<output external_port_id="-1" internal_layer_id="9" purpose="execution_condition"/>'
_BACK = '<edge from-layer="6" to-layer="0"/>'
_LOOP = '<layer id="4" name="loop" type="Loop" version="opset5">'
#: The `data` element of the condition in the body, with the end of the previous line.
_GO_ON = '>\n            <data element_type="boolean" shape="" offset="8" size="1"/>'


def _between(text: str, start: str, end: str) -> str:
    return text[text.index(start) : text.index(end) + len(end)]


_PORT_MAP = _between(LOOP, "<port_map>", "</port_map>")
_BODY = _between(LOOP, "<body>", "</body>")


def _loops() -> Iterator[Case]:
    def case(
        name: str, code: str, at: str, *edits: Edit, path: str = "loop", mild: bool = False
    ) -> Case:
        return _case("loop", name, code, at, *edits, path=path, mild=mild)

    yield case("no body", "IRL501", _LOOP, (_BODY, ""))
    yield case("empty body", "IRL108", "<body", (_BODY, "<body/>"), path="loop/body")
    yield case("no port map", "IRL502", _LOOP, (_PORT_MAP, ""))
    yield case("empty port map", "IRL502", "<port_map", (_PORT_MAP, "<port_map/>"))
    yield case(
        "input of no outer port",
        "IRL503",
        'external_port_id="7"',
        (_STATE, _STATE.replace('"2"', '"7"')),
    )
    yield case(
        "output of no outer port",
        "IRL504",
        'external_port_id="100"',
        (_FINAL, _FINAL.replace('"4"', '"100"')),
    )
    yield case(
        "entry without external port",
        "IRL103",
        _STATE.replace(' external_port_id="2"', ""),
        (_STATE, _STATE.replace(' external_port_id="2"', "")),
    )
    yield case(
        "input mapped twice",
        "IRL505",
        _STATE + "<!-- again -->",
        (_STATE, f"{_STATE}\n{_STATE}<!-- again -->"),
    )
    yield case("input not mapped", "IRL507", '<port id="3"', (_SLICED, ""))
    yield case("output not mapped", "IRL508", '<port id="4"', (_FINAL, ""))
    yield case(
        "input into no layer",
        "IRL509",
        'internal_layer_id="99"',
        (_STATE, _STATE.replace('id="0"', 'id="99"')),
    )
    yield case(
        "output from no layer",
        "IRL509",
        'internal_layer_id="99"',
        (_FINAL, _FINAL.replace('id="6"', 'id="99"')),
    )
    yield case(
        "input into a Result",
        "IRL510",
        'internal_layer_id="6"',
        (_STATE, _STATE.replace('id="0"', 'id="6"')),
    )
    yield case(
        "two inputs into one Parameter",
        "IRL511",
        _SLICED.replace('layer_id="1"', 'layer_id="0"'),
        (_SLICED, _SLICED.replace('layer_id="1"', 'layer_id="0"')),
    )
    yield case(
        "back edge from no layer", "IRL515", 'from-layer="66"', (_BACK, _BACK.replace("6", "66"))
    )
    yield case(
        "back edge from an Add",
        "IRL515",
        '<edge from-layer="5" to-layer="0"/>',
        (_BACK, _BACK.replace("6", "5")),
    )
    yield case(
        "back edge to no layer", "IRL516", 'to-layer="50"', (_BACK, _BACK.replace('"0"', '"50"'))
    )
    yield case(
        "back edge to an Add",
        "IRL516",
        '<edge from-layer="6" to-layer="5"/>',
        (_BACK, _BACK.replace('"0"', '"5"')),
    )
    yield case(
        "back edge to a slice",
        "IRL518",
        '<edge from-layer="6" to-layer="1"/>',
        (_BACK, _BACK.replace('"0"', '"1"')),
        mild=True,
    )
    yield case(
        "two back edges to one Parameter",
        "IRL517",
        '<edge from-layer="7" to-layer="0"/>',
        (_BACK, f'{_BACK}\n<edge from-layer="7" to-layer="0"/>'),
    )
    yield case(
        "no back edges",
        "IRL524",
        "",
        (_between(LOOP, "<back_edges>", "</back_edges>"), ""),
        path="",
        mild=True,
    )
    yield case("no condition", "IRL601", "<port_map>", (_CONDITION, ""))
    yield case(
        "condition of numbers",
        "IRL604",
        "cond_out",
        (_GO_ON, _GO_ON.replace("boolean", "u8")),
        path="loop/body/cond_out",
        mild=True,
    )
    yield case(
        "two iteration counters",
        "IRL603",
        _ITERATION + "<!-- again -->",
        (_ITERATION, f"{_ITERATION}\n{_ITERATION}<!-- again -->"),
    )
    yield case(
        "trip count of floats",
        "IRL606",
        '<port id="0"/>',
        (
            '<data element_type="i64" shape="" offset="0"',
            '<data element_type="f64" shape="" offset="0"',
        ),
    )
    yield case(
        "stride 0", "IRL616", 'stride="0"', (_SLICED, _SLICED.replace('stride="1"', 'stride="0"'))
    )
    yield case(
        "part size 0",
        "IRL615",
        'part_size="0"',
        (_SLICED, _SLICED.replace('part_size="1"', 'part_size="0"')),
    )
    yield case(
        "axis out of range",
        "IRL622",
        'axis="7"',
        (_SLICED, _SLICED.replace('axis="0"', 'axis="7"')),
    )
    yield case(
        "axis no number", "IRL104", 'axis="x"', (_SLICED, _SLICED.replace('axis="0"', 'axis="x"'))
    )
    yield case(
        "start after end",
        "IRL619",
        'start="3" end="2"',
        (_SLICED, _SLICED.replace('start="0" end="-1"', 'start="3" end="2"')),
        mild=True,
    )
    yield case(
        "more trips than slices", "IRL625", _SLICED, ('<data shape="5,2"', '<data shape="3,2"')
    )
    yield case(
        "edge in the body from no layer",
        "IRL201",
        'from-layer="55"',
        (
            '<edge from-layer="5" from-port="2" to-layer="6"',
            '<edge from-layer="55" from-port="2" to-layer="6"',
        ),
        path="loop/body",
    )
    yield case(
        "layer id twice in the body",
        "IRL105",
        'name="next"',
        ('<layer id="5" name="next"', '<layer id="4" name="next"'),
        path="loop/body/next",
    )
    yield case(
        "unknown type in the body",
        "IRL109",
        '"Multiplied"',
        ('"Multiply"', '"Multiplied"'),
        path="loop/body/scaled",
    )
    yield case(
        "cycle in the body",
        "IRL207",
        "",
        (
            '<edge from-layer="1" from-port="0" to-layer="4"',
            '<edge from-layer="5" from-port="2" to-layer="4"',
        ),
        path="",
    )
    yield case(
        "body Parameter without value", "IRL512", "", (_ITERATION, ""), path="loop/body/iteration"
    )
    yield case(
        "short weights in the body",
        "IRL302",
        'offset="80"',
        (
            _GO_ON,
            _GO_ON.replace('offset="8"', 'offset="80"'),
        ),
        path="loop/body/go_on",
    )
    yield case("3000 bodies inside each other", "IRL101", "", (LOOP, _nested(3000)), path="")


def _nested(depth: int) -> str:
    head = '<layer id="0" name="l" type="Loop" version="opset5"><body><layers>'
    tail = "</layers><edges/></body></layer>"
    return f'<net name="deep" version="10"><layers>{head * depth}{tail * depth}</layers></net>'


_PARTS = 'axis="0" start="0" end="-1" stride="2" part_size="2"'
_PART = f'<input external_port_id="0" internal_layer_id="0" {_PARTS}/>'
_PART_OUT = f'<output external_port_id="2" internal_layer_id="3" {_PARTS}/>'
_TI = '<layer id="2" name="iterator" type="TensorIterator" version="opset1">'


def _iterators() -> Iterator[Case]:
    def case(
        name: str, code: str, at: str, *edits: Edit, path: str = "iterator", mild: bool = False
    ) -> Case:
        return _case("iterator", name, code, at, *edits, path=path, mild=mild)

    def part(old: str, new: str) -> Edit:
        return (_PART, _PART.replace(old, new))

    yield case("no body", "IRL501", _TI, (_between(ITERATOR, "<body>", "</body>"), ""))
    yield case("no port map", "IRL502", _TI, (_between(ITERATOR, "<port_map>", "</port_map>"), ""))
    yield case("stride 0", "IRL616", 'stride="0"', part('stride="2"', 'stride="0"'))
    yield case("part size 0", "IRL615", 'part_size="0"', part('part_size="2"', 'part_size="0"'))
    yield case("part size -1", "IRL615", 'part_size="-1"', part('part_size="2"', 'part_size="-1"'))
    yield case(
        "part size is not the stride",
        "IRL614",
        'part_size="1"',
        part('part_size="2"', 'part_size="1"'),
    )
    yield case("reversed stride alone", "IRL617", 'stride="-2"', part('stride="2"', 'stride="-2"'))
    yield case("axis out of range", "IRL622", 'axis="9"', part('axis="0"', 'axis="9"'))
    yield case("axis negative", "IRL623", 'axis="-2"', part('axis="0"', 'axis="-2"'), mild=True)
    yield case("range outside", "IRL618", 'end="99"', part('end="-1"', 'end="99"'))
    yield case("not divisible", "IRL618", _PART, ('<data shape="6,2"', '<data shape="5,2"'))
    yield case(
        "back edge from no layer",
        "IRL515",
        'from-layer="44"',
        ('<edge from-layer="4" to-layer="1"/>', '<edge from-layer="44" to-layer="1"/>'),
    )
    yield case(
        "output from no layer",
        "IRL509",
        'internal_layer_id="33"',
        ('internal_layer_id="3" axis', 'internal_layer_id="33" axis'),
    )
    yield case(
        "start of 5000 digits", "IRL104", 'start="999', part('start="0"', f'start="{_MANY}"')
    )
    yield case(
        "part of the slices as a slice",
        "IRL613",
        "",
        (_PART_OUT, _PART_OUT.replace('stride="2" part_size="2"', 'stride="1" part_size="1"')),
    )


_TO_I32 = '<layer id="1" name="tanh" type="Convert" version="opset1"><data destination_type="i32"/>'
_IF_LAYER = '<layer id="2" name="if" type="If" version="opset8">'


def _branches() -> Iterator[Case]:
    def case(
        name: str, code: str, at: str, *edits: Edit, path: str = "if", mild: bool = False
    ) -> Case:
        return _case("if", name, code, at, *edits, path=path, mild=mild)

    yield case(
        "no then_body", "IRL701", _IF_LAYER, (_between(IF, "<then_body>", "</then_body>"), "")
    )
    yield case(
        "no else_body", "IRL701", _IF_LAYER, (_between(IF, "<else_body>", "</else_body>"), "")
    )
    yield case(
        "no else_port_map",
        "IRL502",
        "",
        (_between(IF, "<else_port_map>", "</else_port_map>"), ""),
        path="",
    )
    yield case(
        "output of one branch only",
        "IRL702",
        "",
        (
            '        <output external_port_id="3" internal_layer_id="3"/>\n      </else_port_map>',
            "      </else_port_map>",
        ),
    )
    yield case(
        "condition of floats",
        "IRL706",
        '<port id="0"/>',
        ('<data shape="" element_type="boolean"/>', '<data shape="" element_type="f32"/>'),
        ('precision="BOOL"', 'precision="FP32"'),
        mild=True,
    )
    yield case(
        "condition of two elements",
        "IRL707",
        '<port id="0"/>',
        ('<data shape="" element_type="boolean"/>', '<data shape="2" element_type="boolean"/>'),
        ('<port id="0" precision="BOOL"/>', '<port id="0" precision="BOOL"><dim>2</dim></port>'),
    )
    yield case(
        "branch input from no layer",
        "IRL509",
        'internal_layer_id="77"',
        ('internal_layer_id="0"', 'internal_layer_id="77"'),
    )
    yield case(
        "one Result for two outputs",
        "IRL705",
        "",
        (
            '<output external_port_id="3" internal_layer_id="3"/>',
            '<output external_port_id="3" internal_layer_id="2"/>',
        ),
    )
    yield case(
        "condition lost",
        "IRL204",
        '<port id="0"/>',
        ('    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>\n  ', "  "),
    )
    yield case(
        "input lost",
        "IRL503",
        '<input external_port_id="1"',
        ('    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>\n', ""),
    )
    yield case(
        "types of branches differ",
        "IRL703",
        "",
        (
            '<layer id="1" name="tanh" type="Tanh" version="opset1">',
            _TO_I32,
        ),
    )


CASES: list[Case] = [*_flat(), *_loops(), *_iterators(), *_branches()]
