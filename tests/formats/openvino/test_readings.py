"""An IR has one reading: that of OpenVINO. Where irloop would read it otherwise, it refuses it.

The plain reader is in `fuzz/readings.py`, which `fuzz/campaign.py ir-readings` runs on more files.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import openvino
import pytest

import irloop
from fuzz.markup_changes import changed_markup
from fuzz.readings import one_reading
from irloop.graph.walk import all_nodes

ROOT = Path(__file__).parents[3]
SEEDS = [
    path
    for folder in ("tests/fixtures/ir", "tests/fixtures/models", "fuzz/corpus/ir")
    for path in sorted((ROOT / folder).rglob("*.xml"))
]

DIMS = "<dim>2</dim><dim>3</dim>"
BASE = f"""<?xml version="1.0"?>
<net name="m" version="11">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data shape="2,3" element_type="f32"/>
<output><port id="0" precision="FP32" names="x">{DIMS}</port></output></layer>
<layer id="1" name="r" type="Softmax" version="opset1">
<data axis="1"/>
<input><port id="0" precision="FP32">{DIMS}</port></input>
<output><port id="1" precision="FP32" names="y">{DIMS}</port></output></layer>
<layer id="2" name="out" type="Result" version="opset1">
<input><port id="0" precision="FP32">{DIMS}</port></input></layer>
</layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges>
</net>
"""

#: Layers that belong to no other layer, and their edge.
MORE = """<layer id="7" name="a" type="Parameter" version="opset1">
<data shape="4" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>4</dim></port></output></layer>
<layer id="8" name="b" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>4</dim></port></input></layer>"""
EDGE = '<edge from-layer="7" from-port="0" to-layer="8" to-port="0"/>'
WITH_EDGE = BASE.replace("</edges>", f"{EDGE}</edges>")
OUTPUT = f'<output><port id="1" precision="FP32" names="y">{DIMS}</port></output>'
INPUT = f'<input><port id="0" precision="FP32">{DIMS}</port></input>'

#: Changes of the base, in most of which only some readers see other layers, edges or attributes.
CHANGED: dict[str, str] = {
    "nothing": BASE,
    "layers after layers": WITH_EDGE.replace("<edges>", f"<layers>{MORE}</layers><edges>"),
    "layers before layers": WITH_EDGE.replace("<layers>", f"<layers>{MORE}</layers><layers>"),
    "empty layers first": BASE.replace("<layers>", "<layers/><layers>"),
    "empty layers last": BASE.replace("</layers>", "</layers><layers/>"),
    "edges after edges": BASE.replace("</layers>", f"{MORE}</layers>").replace(
        "</edges>", f"</edges><edges>{EDGE}</edges>"
    ),
    "empty edges first": BASE.replace("<edges>", "<edges/><edges>"),
    "edges before layers": re.sub(
        r"(<layers>.*</layers>)\s*(<edges>.*</edges>)", r"\2\1", BASE, flags=re.DOTALL
    ),
    "two data": BASE.replace('<data axis="1"/>', '<data axis="0"/><data axis="1"/>'),
    "two outputs": BASE.replace(OUTPUT, OUTPUT + OUTPUT.replace('id="1"', 'id="2"')),
    "an empty output first": BASE.replace(OUTPUT, f"<output/>{OUTPUT}"),
    "an empty input first": BASE.replace('<data axis="1"/>', '<data axis="1"/><input/>'),
    "an output without ports last": BASE.replace(OUTPUT, f"{OUTPUT}<output></output>"),
    "an attribute twice": BASE.replace('axis="1"', 'axis="1" axis="0"'),
    "a layer in a layer": WITH_EDGE.replace('<data axis="1"/>', f'<data axis="1"/>{MORE}'),
    "layers in layers": WITH_EDGE.replace("</layers>", f"<layers>{MORE}</layers></layers>"),
    "a net in the net": BASE.replace("<layers>", f"<net><layers>{MORE}</layers></net><layers>"),
    "a net after the net": BASE + BASE.replace("Softmax", "ReLU"),
    "layers of a namespace": BASE.replace("<edges>", f"<a:layers>{MORE}</a:layers><edges>"),
    "an attribute of a namespace": BASE.replace('axis="1"', 'a:axis="0" axis="1"'),
    "a default attribute": BASE.replace(
        "<net ", '<!DOCTYPE net [<!ATTLIST layer name CDATA "default">]>\n<net '
    ).replace('name="out" ', ""),
    "a default namespace": BASE.replace("<net ", '<net xmlns="http://x" '),
    "a DOCTYPE": BASE.replace("<net ", "<!DOCTYPE net>\n<net "),
    "an entity": BASE.replace("<net ", '<!DOCTYPE net [<!ENTITY a "1">]>\n<net ').replace(
        'axis="1"', 'axis="&a;"'
    ),
    "an id twice": BASE.replace('id="2" name="out"', 'id="1" name="out"'),
    "a port twice": BASE.replace(OUTPUT, OUTPUT.replace("<output>", '<output><port id="1"/>')),
    "a comment with layers": BASE.replace("<layers>", f"<!-- <layers>{MORE}</layers> --><layers>"),
    "an instruction with layers": BASE.replace("<edges>", f"<?a <layers>{MORE}</layers>?><edges>"),
    "layers as CDATA": BASE.replace("<layers>", f"<![CDATA[<layers>{MORE}</layers>]]><layers>"),
    "a NUL at the end": f"{BASE}\0<net/>",
    "a NUL in the middle": BASE.replace("<edges>", "\0<edges>"),
    "junk at the end": f"{BASE}junk",
    "a line break in a name": BASE.replace('name="r"', 'name="a\nb"'),
    "a reference to a character": BASE.replace('name="out"', 'name="&#111;ut&#10;"'),
    "other letters": BASE.replace('name="out"', 'name="öut"'),
    "two back edges": BASE.replace(INPUT, f"{INPUT}<back_edges/><back_edges/>"),
}

LATIN = BASE.replace('name="out"', 'name="öut"').replace('"1.0"', '"1.0" encoding="iso-8859-1"')
UTF16 = BASE.replace('name="out"', 'name="öut"').replace('"1.0"', '"1.0" encoding="utf-16"')
ENCODED: dict[str, bytes] = {
    "Latin-1": LATIN.encode("latin-1"),
    "Latin-1 that is UTF-8": LATIN.encode(),
    "Latin-1 after white space": b"\n" + LATIN.encode("latin-1"),
    "UTF-8 with a mark, declared as Latin-1": b"\xef\xbb\xbf" + LATIN.encode(),
    "UTF-8 with a mark": b"\xef\xbb\xbf" + BASE.encode(),
    "UTF-16": UTF16.encode("utf-16"),
    "UTF-16 without a mark": UTF16.encode("utf-16-le"),
    "UTF-16, big end first": UTF16.encode("utf-16-be"),
    "UTF-8 declared as UTF-16": UTF16.encode(),
    "UTF-8 under its short name": LATIN.replace("iso-8859-1", "utf8").encode(),
    "Windows": LATIN.replace("iso-8859-1", "windows-1252").encode("cp1252"),
    "KOI8": LATIN.replace("ö", "я").replace("iso-8859-1", "koi8-r").encode("koi8-r"),
    "not UTF-8": BASE.replace('name="out"', 'name="öut"').encode("latin-1"),
    "more bytes than needed": BASE.encode().replace(b'name="out"', b'name="\xc0\xbc"'),
}

FILES = {**{name: text.encode() for name, text in CHANGED.items()}, **ENCODED}


@pytest.mark.parametrize("name", FILES)
def test_openvino_reads_the_same_or_irloop_refuses(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(FILES[name])
    path.with_suffix(".bin").write_bytes(bytes(64))
    one_reading(path)
    if irloop.validate(path).has_errors:
        return
    found = irloop.read_model(path)
    wanted: Any = openvino.Core().read_model(path)
    types = Counter(type(node.op).type for node in all_nodes(found.graph))
    assert types == Counter({"SoftMax": 1})
    softmax = [node for node in wanted.get_ops() if node.get_type_name() == "Softmax"]
    assert len(softmax) == 1
    assert len(wanted.get_ops()) == 3
    ops: list[Any] = [node.op for node in found.graph.nodes if type(node.op).type == "SoftMax"]
    assert [op.axis for op in ops] == [softmax[0].get_attributes()["axis"]]
    names = [node.name for node in (*found.graph.parameters, *found.graph.results)]
    nodes = (*wanted.get_parameters(), *wanted.get_results())
    assert names == [node.get_friendly_name() for node in nodes]


REFUSED = {
    "layers after layers": "second <layers>",
    "layers before layers": "second <layers>",
    "empty layers first": "second <layers>",
    "edges after edges": "second <edges>",
    "two outputs": "second <output>",
    "an empty input first": "second <input>",
    "two back edges": "second <back_edges>",
    "a default attribute": "attributes of <layer>",
    "Windows": "encoding 'windows-1252'",
    "UTF-8 with a mark, declared as Latin-1": "encoding 'iso-8859-1'",
    "Latin-1 after white space": "not at start",
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_error_names_what_openvino_reads_otherwise(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(FILES[name])
    with pytest.raises(irloop.ReadError, match=re.escape(REFUSED[name])):
        irloop.read_model(path)
    (finding,) = irloop.validate(path).diagnostics
    assert finding.code == "IRL101"


def test_second_sections_of_a_body_are_refused(tmp_path: Path) -> None:
    text = (ROOT / "tests/fixtures/ir/loop_mo2021.xml").read_text()
    body = text.index("<body>")
    path = tmp_path / "m.xml"
    for tag in ("layers", "edges"):
        again = text[body:].replace(f"<{tag}>", f"<{tag}/><{tag}>", 1)
        path.write_text(text[:body] + again)
        with pytest.raises(irloop.ReadError, match=f"second <{tag}>"):
            irloop.read_model(path)


@pytest.mark.parametrize("inside", ["2<!-- -->3", "2<?a?>3", "2<![CDATA[3]]>", "2<a/>3", "<a/>2"])
def test_a_divided_number_is_refused(inside: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(BASE.replace("<dim>2</dim>", f"<dim>{inside}</dim>"))
    with pytest.raises(irloop.ReadError, match="<dim> is divided"):
        irloop.read_model(path)


@pytest.mark.parametrize("inside", ["<!-- a -->2", "2<?a?>", "<![CDATA[2]]>", " <![CDATA[2]]>"])
def test_a_number_next_to_markup_is_read(inside: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(BASE.replace("<dim>2</dim>", f"<dim>{inside}</dim>"))
    one_reading(path)
    assert irloop.read_model(path).graph.results


def test_files_as_they_are(tmp_path: Path) -> None:
    for path in (ROOT / "tests").rglob("*.xml"):
        one_reading(path)


@pytest.mark.parametrize("seed", range(4))
def test_changed_markup(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)  # noqa: S311
    path = tmp_path / "m.xml"
    path.with_suffix(".bin").write_bytes(bytes(1 << 16))
    texts = [path.read_bytes() for path in SEEDS]
    read = 0
    for _ in range(200):
        path.write_bytes(changed_markup(draw.choice(texts), draw))
        one_reading(path)
        read += _is_read(path)
    assert 12 < read < 175


def _is_read(path: Path) -> bool:
    try:
        irloop.read_model(path)
    except irloop.IrloopError:
        return False
    return True
