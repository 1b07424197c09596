"""The content of a page as data: wires, weights, values, lines; names are harmless."""

from __future__ import annotations

import base64
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.graph.tensor import ArrayTensor
from irloop.pages import values, weights
from irloop.pages.contents import Contents
from irloop.pages.weights import number
from tests.pages.models import counting, embedded, long_chain, read

RECURRENT = Path(__file__).parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"


def test_wires_of_an_ir() -> None:
    (model,) = embedded(irloop.view(RECURRENT))["models"]
    owner = next(node for node in model["nodes"] if node["kind"] == "owner")
    body = model["graphs"][owner["bodies"][0]]
    names = [node["name"] for node in model["nodes"]]
    # The port map in the file: slices of x along axis 1; h starts from h0, and its last value is
    # last_h.
    assert [(kind, port, names[at], words) for kind, port, at, words, _ in body["in"]] == [
        ("slice", 0, "x_t", "slice, axis 1"),
        ("state", 1, "h", "state"),
    ]
    assert [(kind, names[at], port) for kind, at, port, _ in body["out"]] == [
        ("joined", "all_h", 0),
        ("last", "last_h", 1),
    ]
    assert [(names[result], names[at], state) for result, at, state in body["back"]] == [
        ("last_h", "h", 0)
    ]


def test_lines_of_the_file() -> None:
    (model,) = embedded(irloop.view(RECURRENT))["models"]
    lines = RECURRENT.read_text(encoding="utf-8").splitlines()
    for node in model["nodes"]:
        assert f'name="{node["name"]}"' in node["xml"]
        assert node["xml"].startswith(lines[node["line"] - 1].strip())
    (squeeze,) = [node for node in model["nodes"] if node["name"] == "x"]
    assert squeeze["xml"].endswith('<data shape="1,6,3" element_type="f32"/>')


def test_weights(tmp_path: Path) -> None:
    contents = Contents(read(counting(tmp_path)), "counting")
    (w,) = [item for item in contents.constants if item["name"] == "w"]
    found = w["weights"]
    assert (found["count"], found["bytes"], found["nan"]) == (2, 8, 1)
    assert (found["min"], found["max"], found["values"]) == (10.0, 10.0, [10.0, "nan"])


def test_the_page_has_a_histogram_of_weights(tmp_path: Path) -> None:
    from irloop.pages.weights import BARS, Weights

    array = np.arange(BARS, dtype=np.float32)
    found = Weights().of(ArrayTensor(np.concatenate([array, array[:1]])))
    assert found["bars"] == [2] + [1] * (BARS - 1)


def test_missing_weights_do_not_prevent_the_page(tmp_path: Path) -> None:
    for name in ("model.xml", "model.bin"):
        (tmp_path / name).write_bytes((RECURRENT.parent / name).read_bytes())
    model = irloop.read_model(tmp_path / "model.xml")
    (tmp_path / "model.bin").write_bytes(b"")
    (shown,) = embedded(irloop.view(model))["models"]
    problems = [item["weights"].get("problem", "") for item in shown["constants"]]
    assert problems
    assert all("cannot be read" in problem for problem in problems)


def test_values_of_each_iteration(tmp_path: Path) -> None:
    model = irloop.read_model(counting(tmp_path))
    text = irloop.view(model, inputs={"n": np.int64(3), "x": np.array([1, 2], np.float32)})
    (shown,) = embedded(text)["models"]
    numbers = {node["path"]: str(at) for at, node in enumerate(shown["nodes"])}
    moved = shown["values"]["by_node"][numbers["count/body/move"]]
    # The values are acc + i; acc starts from x = [1, 2] and grows by i + w, where w = [10, NaN].
    assert [moved[at]["0"]["values"] for at in ("0", "1", "2")] == [
        [1, 2],
        [1 + 0 + 10 + 1, "nan"],
        [1 + 0 + 10 + 1 + 10 + 2, "nan"],
    ]
    assert [moved[at]["0"]["nan"] for at in ("0", "1", "2")] == [0, 1, 1]


def test_long_loops_keep_the_first_iterations_and_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "FIRST", 3)
    text = irloop.view(counting(tmp_path), inputs=[np.int64(9), np.array([1, 2], np.float32)])
    (shown,) = embedded(text)["models"]
    numbers = {node["path"]: str(at) for at, node in enumerate(shown["nodes"])}
    assert list(shown["values"]["by_node"][numbers["count/body/move"]]) == ["0", "1", "2", "8"]
    assert shown["values"]["left_out"] > 0


def test_inputs_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(irloop.UsageError, match="inputs"):
        irloop.view(counting(tmp_path), inputs={"other": np.int64(1)})


def test_a_block_that_repeats_is_one_group(tmp_path: Path) -> None:
    (model,) = embedded(irloop.view(long_chain(tmp_path, 200)))["models"]
    first, group, last = model["graphs"][0]["nodes"]
    assert (model["nodes"][first]["name"], model["nodes"][last]["name"]) == ("v0", "v200")
    assert [model["nodes"][number]["name"] for (number,) in group["copies"]] == [
        f"add_{at}" for at in range(200)
    ]


def test_the_boxes_show_constants(tmp_path: Path) -> None:
    b = irloop.Builder("onnx", opset=17)
    x = b.input("x", "f32", [1, 3, 8, 8])
    weights = b.constant(np.zeros((4, 3, 3, 3), np.float32))
    y = b.op("Conv", x, weights, b.constant(np.zeros(4, np.float32) + 0.5), name="conv")
    y = b.op("Div", y, b.constant(np.float32(16000)), name="scaled")
    b.output("y", b.op("Add", y, b.constant(np.ones((1, 1, 1, 1), np.float32)), name="moved"))
    (model,) = embedded(irloop.view(b.model()))["models"]
    rows = {node["name"]: (node["label"], node["rows"]) for node in model["nodes"]}
    assert rows["conv"] == ("Conv", ["W ⟨4×3×3×3⟩", "B = [0.5, 0.5, 0.5, 0.5]"])
    assert rows["scaled"] == ("Div", ["B = 16000"])
    assert rows["moved"] == ("Add", ["B = [1]"])


def test_the_panel_of_the_model(tmp_path: Path) -> None:
    (model,) = embedded(irloop.view(RECURRENT))["models"]
    about = model["about"]
    assert [item[1:] for item in about["inputs"]] == [["x", "f32[1,6,3]"]]
    assert [item[1:] for item in about["outputs"]] == [
        ["states", "f32[1,6,4]"],
        ["last_state", "f32[1,4]"],
    ]
    assert dict(about["operations"])["MatMul"] == "2"
    assert dict(about["sizes"])["operations"] == "8"


def test_metadata_is_listed_entry_by_entry(tmp_path: Path) -> None:
    proto = onnx.load(counting(tmp_path))
    proto.producer_name = "a & b"
    proto.metadata_props.add(key="author", value="somebody")
    onnx.save(proto, tmp_path / "counting.onnx")
    (model,) = embedded(irloop.view(tmp_path / "counting.onnx"))["models"]
    found = dict(model["about"]["metadata"])
    assert (found["producer_name"], found["author"]) == ("a & b", "somebody")
    text = RECURRENT.read_text("utf-8").replace(
        "</net>",
        '<meta_data><MO_version value="2021.4 &lt;x&gt;"/><cli_parameters>'
        '<framework value="onnx"/></cli_parameters></meta_data></net>',
    )
    (tmp_path / "m.xml").write_text(text, "utf-8")
    (tmp_path / "m.bin").write_bytes(RECURRENT.with_suffix(".bin").read_bytes())
    (model,) = embedded(irloop.view(tmp_path / "m.xml"))["models"]
    assert dict(model["about"]["metadata"]) == {"MO_version": "2021.4 <x>", "framework": "onnx"}


def test_operations_are_described(tmp_path: Path) -> None:
    (model,) = embedded(irloop.view(RECURRENT))["models"]
    assert set(model["descriptions"]) == {
        node["type"] for node in model["nodes"] if node["kind"] in ("operation", "owner")
    }
    assert all(sentence and all for sentence, all, _ in model["descriptions"].values())
    # Of ONNX's operations it is the standard's own text.
    (counted,) = embedded(irloop.view(counting(tmp_path)))["models"]
    _, loop, _ = counted["descriptions"]["Loop-1"]
    assert loop[0] == "Generic Looping construct. This loop has multiple termination conditions:"
    assert {"Inputs", "Outputs", "M (optional): I: int64"} <= set(loop)
    _, cast, _ = counted["descriptions"]["Cast-6"]
    at = cast.index("Attributes")
    assert cast[at + 2].startswith("to: ")
    assert cast[at + 3].startswith("The data type to which the elements of the input tensor")


def test_the_first_elements_of_large_constants() -> None:
    found = weights.Weights().of(ArrayTensor(np.arange(1000, dtype=np.float32)))
    assert found["values"] == list(range(weights.FIRST))


def test_small_arrays_are_kept_whole() -> None:
    kept = weights.Kept(every=24)
    array = np.array([[1, 2]], ">f4")
    found = kept.of(array)["array"]
    assert (found["type"], found["shape"]) == ("<f4", [1, 2])
    assert base64.b64decode("".join(found["bytes"])) == b"\x00\x00\x80?\x00\x00\x00@"
    assert kept.of(np.array(["a"])) == {}
    assert kept.of(np.zeros(3)) == {}
    assert kept.of(np.zeros(2)) != {}
    assert kept.of(np.zeros(1, np.int8)) == {}


def test_a_page_of_442_operations_is_small(tmp_path: Path) -> None:
    text = irloop.view(long_chain(tmp_path, 442))
    assert len(text.encode("utf-8")) < 700_000


def test_too_many_nodes_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irloop.pages.contents.MOST_NODES", 10)
    data = Contents(read(long_chain(tmp_path, 20)), "chain").data
    # The model has 20 additions, an input and an output.
    assert [data["nodes"][9]["name"], data["left_out"]] == ["add_8", 12]


HOSTILE = "</script><script>alert(1)</script><!--\u202egnp.exe\u2066\ud800\0@@data@@ & \"'"


def test_hostile_names_stay_data(tmp_path: Path) -> None:
    model = irloop.read_model(counting(tmp_path))
    for node in model.graph.nodes:
        node.name = HOSTILE
    model.graph.name = HOSTILE
    text = irloop.view(model)
    clean = irloop.view(irloop.read_model(counting(tmp_path)))
    assert text.count("<script") == clean.count("<script")
    assert text.count("</script") == clean.count("</script")
    assert "alert(1)" not in text
    assert "\u202e" not in text
    (shown,) = embedded(text)["models"]
    (node,) = [item for item in shown["nodes"] if item["kind"] == "owner"]
    # Everything that a browser would treat as markup or reorder is text or an escape.
    expected = HOSTILE
    for char, spelt in (("\u202e", r"\u202e"), ("\u2066", r"\u2066"), ("\ud800", r"\ud800")):
        expected = expected.replace(char, spelt)
    assert node["name"] == expected.replace("\0", r"\x00")


def test_a_page_needs_no_network() -> None:
    text = irloop.view(RECURRENT)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    allowed = re.sub(r"'sha256-[A-Za-z0-9+/=]{44}'", "HASH", policy)
    assert allowed == (
        "default-src 'none'; script-src HASH; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"<(link|img|iframe|script src)|@import|url\(", text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(math.inf), "inf"),
        (np.float64(math.nan), "nan"),
        (np.int64(2**60), str(2**60)),
        (np.bool_(True), True),
        (np.float32(0.5), 0.5),
    ],
)
def test_numbers_for_json(value: Any, expected: Any) -> None:
    assert number(value) == expected


def test_equal_models_give_equal_pages() -> None:
    assert irloop.view(RECURRENT) == irloop.view(RECURRENT)


def test_scripts_are_short() -> None:
    from irloop.pages import page as module

    folder = Path(module.__file__).parent / "assets"
    assert {path.name for path in folder.glob("*.js")} == set(module.SCRIPTS)
    for path in folder.iterdir():
        assert len(path.read_text(encoding="utf-8").splitlines()) < 400, path.name
