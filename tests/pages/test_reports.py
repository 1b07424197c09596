"""Reports as pages: verdicts, tensors, curves, marks; in Chromium, tables sort and link to the
picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from irloop.pages.tensors import tensors_of
from tests.pages.browser import Browser, chromium
from tests.pages.models import counting, embedded

RECURRENT = Path(__file__).parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"
INPUTS = {"n": np.int64(4), "x": np.array([1, 2], np.float32)}
HOSTILE = "</script><script>document.title='broken'</script>\u202egnp"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """The counting loop with w = [10, 20], and with w = [10, 20.5]."""
    paths = []
    for folder, w in (("a", [10, 20]), ("b", [10, 20.5])):
        (tmp_path / folder).mkdir()
        path = counting(tmp_path / folder)
        model = onnx.load(path)
        model.graph.initializer[0].CopyFrom(
            onnx.numpy_helper.from_array(np.array(w, np.float32), "w")
        )
        onnx.save(model, path)
        paths.append(path)
    return paths[0], paths[1]


def compared(pair: tuple[Path, Path]) -> irloop.Comparison:
    return irloop.compare(*pair, inputs=INPUTS, engines="numpy")


def tables(data: Any) -> dict[str, list[list[Any]]]:
    sections = [*data["report"]["before"], *data["report"]["after"]]
    return {item["title"]: item["table"]["rows"] for item in sections if "table" in item}


def test_the_error_of_a_state_grows_by_half_per_iteration(pair: tuple[Path, Path]) -> None:
    evidence = compared(pair).evidence
    assert evidence is not None
    curves = {curve["name"]: curve["points"] for curve in tensors_of(evidence).curves}
    # Each iteration adds w, which is 0.5 larger in one element.
    assert curves["count/body/acc"] == [[0, 0.0], [1, 0.5], [2, 1.0], [3, 1.5]]
    assert curves["count/body/go"] == [[0, 0.0], [1, 0.0], [2, 0.0], [3, 0.0]]


def test_every_tensor_is_listed(pair: tuple[Path, Path]) -> None:
    evidence = compared(pair).evidence
    assert evidence is not None
    rows = {row.name: row for row in tensors_of(evidence).rows}
    assert {"i", "acc", "step", "moved", "next", "going", "seen", "last", "all"} <= set(rows)
    # acc + i: [1, 2] at first, then [11, 22] + 1, [22, 43] + 2, [34, 65] + 3; in the second model
    # the last element is 3 * 0.5 larger.
    assert rows["moved"].ranges == ("1 … 68", "1 … 69.5")
    assert (rows["moved"].type, rows["moved"].error, rows["moved"].first) == (
        "float32[2]",
        1.5,
        "1",
    )
    assert (rows["next"].error, rows["next"].first) == (2.0, "0")
    assert (rows["step"].ranges, rows["step"].error, rows["step"].first) == (
        ("0 … 3", "0 … 3"),
        0.0,
        None,
    )


def test_a_report_of_a_comparison(pair: tuple[Path, Path], tmp_path: Path) -> None:
    irloop.save_report(compared(pair), tmp_path / "page.html", pair)
    data = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert data["report"]["verdict"] == {"level": "bad", "text": "not equal"}
    assert [list(model["marks"].values()) for model in data["models"]] == [["culprit"]] * 2
    (outputs,) = [tables(data)["Outputs"]]
    # After four iterations the last value differs by 4 * 0.5, and so does the last row of `all`.
    assert {row[0]: row[3] for row in outputs} == {"last": 2.0, "all": 2.0}


def test_equal_models_have_a_report_too(pair: tuple[Path, Path], tmp_path: Path) -> None:
    same = irloop.compare(pair[0], pair[0], inputs=INPUTS, engines="numpy")
    irloop.save_report(same, tmp_path / "page.html")
    data = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert data["report"]["verdict"] == {"level": "good", "text": "equal"}
    assert {row[4] for row in tables(data)["Intermediate tensors"]} == {0.0}
    assert len(data["models"]) == 2


def test_a_report_replaces_a_link(tmp_path: Path) -> None:
    """A stranger may have made the link, so that something else is written over."""
    page, link = tmp_path / "page.html", tmp_path / "link"
    page.write_text("precious", "utf-8")
    link.symlink_to(page)
    irloop.save_report(irloop.diff(RECURRENT, RECURRENT), link, [RECURRENT])
    assert page.read_text("utf-8") == "precious"
    assert embedded(link.read_text(encoding="utf-8"))["report"]["verdict"]["level"] == "good"


def test_models_with_different_inputs_and_outputs_have_a_report(tmp_path: Path) -> None:
    refused = irloop.compare(RECURRENT, counting(tmp_path), engines="numpy")
    assert refused.evidence is None
    irloop.save_report(refused, tmp_path / "page.html", [RECURRENT, tmp_path / "counting.onnx"])
    data = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert data["report"]["verdict"]["text"] == "not equal"
    assert "1 inputs against 2" in data["report"]["before"][0]["lines"]


def test_a_report_of_changes(tmp_path: Path) -> None:
    text = RECURRENT.read_text(encoding="utf-8")
    new = tmp_path / "new.xml"
    new.write_text(text.replace('type="Tanh"', 'type="Sigmoid"'), encoding="utf-8")
    new.with_suffix(".bin").write_bytes(RECURRENT.with_suffix(".bin").read_bytes())
    irloop.save_report(irloop.diff(RECURRENT, new), tmp_path / "page.html", [RECURRENT, new])
    data = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert data["report"]["verdict"] == {"level": "bad", "text": "different"}
    ((kind, place, what),) = tables(data)["Changes"]
    assert (kind, place["path"], what) == ("changed", "rnn/body/h_next", "Tanh-1 -> Sigmoid-1")
    # The operation is marked in both models.
    assert [model["marks"] for model in data["models"]] == [{"rnn/body/h_next": "changed"}] * 2
    assert data["focus"] == [1, "rnn/body/h_next"]


def test_a_report_of_findings(tmp_path: Path) -> None:
    text = RECURRENT.read_text(encoding="utf-8")
    broken = re.sub(r"<back_edges>.*?</back_edges>", "", text, flags=re.DOTALL)
    path = tmp_path / "model.xml"
    path.write_text(broken, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(RECURRENT.with_suffix(".bin").read_bytes())
    (tmp_path / "unreadable.xml").write_text("<net", encoding="utf-8")
    report = irloop.validate(path)
    report.extend(irloop.validate(tmp_path / "unreadable.xml"))
    found = [path, tmp_path / "unreadable.xml"]
    irloop.save_report(report, tmp_path / "page.html", found)
    data = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
    codes = [row[1] for row in tables(data)["Findings"]]
    assert "IRL524" in codes
    assert len(codes) == len(report) > 1
    assert [(model["title"], model["marks"]) for model in data["models"]] == [
        ("model.xml", {"rnn": "warning"})
    ]
    assert data["report"]["verdict"]["level"] == "bad"


def test_another_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(irloop.UsageError, match="str is not a result with a report"):
        irloop.save_report("equal", tmp_path / "page.html")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


def test_a_table_sorts_and_links_to_the_picture(
    browser: Browser, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    irloop.save_report(compared(pair), tmp_path / "page.html", pair)
    browser.open(tmp_path / "page.html")
    assert browser.texts(".verdict") == ["not equal"]
    assert len(browser.texts(".plot .curve")) == 2
    table = (
        "const table = [...document.querySelectorAll('section')]"
        ".find(item => item.querySelector('h2').textContent === 'Intermediate tensors');"
    )
    errors = (
        table
        + "return [...table.querySelectorAll('tbody tr')].map(row => +row.cells[4].textContent)"
    )
    # Ranges are sorted by magnitude: 69.5 in B is the largest, except for the outputs.
    browser.run(table + "table.querySelectorAll('th button')[3].click()")
    tops = browser.run(
        table + "return [...table.querySelectorAll('tbody tr')]"
        ".map(row => row.cells[3].textContent).filter(text => text.includes('…'))"
        ".map(text => Math.max(...text.split(' … ').map(item => Math.abs(Number(item)))))"
    )
    assert len(tops) > 5
    assert tops == sorted(tops, reverse=True)
    press = table + "table.querySelectorAll('th button')[4].click()"
    browser.run(press)
    assert browser.run(errors) == sorted(browser.run(errors), reverse=True)
    assert browser.run(errors)[0] == 2
    browser.run(press)
    assert browser.run(errors) == sorted(browser.run(errors))
    browser.run(
        table + "[...table.querySelectorAll('.link')]"
        ".find(item => item.textContent === arguments[0]).click()",
        "count/body/move (moved)",
    )
    browser.wait("return document.querySelector('aside .path')?.textContent === 'count/body/move'")
    assert browser.texts(".selected .line")[0] == "move"
    assert browser.complaints() == []


def test_the_differing_operation_is_in_the_picture(
    browser: Browser, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    irloop.save_report(compared(pair), tmp_path / "page.html", pair)
    browser.open(tmp_path / "page.html")
    browser.wait("return Boolean(document.querySelector('.mark-culprit.selected'))")
    # The cause is shown in both models, not the Loop whose output differs.
    assert browser.texts(".canvas .mark-culprit.selected .line")[::2] == ["next_node"] * 2
    assert browser.texts("aside .path")[0] == "count/body/next_node"
    assert browser.complaints() == []


def test_the_culprit_is_the_operation_and_not_the_result_behind_it(
    browser: Browser, tmp_path: Path
) -> None:
    for name, scale in (("a", 1.0), ("b", 1.5)):
        b = irloop.Builder("onnx", opset=17)
        x = b.input("x", "f32", [1, 4])
        weights = b.constant(np.eye(4, dtype=np.float32) * np.float32(scale), name="weights")
        y = b.op("MatMul", b.op("Relu", x, name="pre"), weights, name="product")
        b.output("y", y)
        b.output("z", b.op("Tanh", y, name="post"))
        irloop.save_model(b.model(), tmp_path / f"{name}.onnx")
    # In the IR the operation has the name of the result.
    converted, _ = irloop.convert(tmp_path / "b.onnx")
    irloop.save_model(converted, tmp_path / "b.xml")
    paths = [tmp_path / "a.onnx", tmp_path / "b.xml"]
    irloop.save_report(irloop.compare(*paths, engines="numpy"), tmp_path / "page.html", paths)
    browser.open(tmp_path / "page.html")
    assert browser.texts(".mark-culprit.selected .title") == ["MatMul", "MatMul"]
    assert browser.texts("aside h2") == ["MatMul-1"]
    assert browser.complaints() == []


def test_two_models_side_by_side(browser: Browser, pair: tuple[Path, Path], tmp_path: Path) -> None:
    irloop.view(pair[0], tmp_path / "page.html", against=pair[1])
    browser.open(tmp_path / "page.html")
    assert browser.texts(".side") == ["a/counting.onnx", "b/counting.onnx"]
    # The constant w differs; the operation that reads it is marked in both models.
    assert browser.texts(".canvas .mark-changed .line")[::2] == ["next_node"] * 2
    browser.run(
        "const left = document.querySelectorAll('.canvas')[0];"
        "[...left.querySelectorAll('.box')].find(item => item.textContent.includes('watch'))"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.texts(".selected .title") == ["Identity", "Identity"]
    assert browser.texts(".selected .line")[::2] == ["watch", "watch"]
    assert browser.complaints() == []


def test_groups_side_by_side(browser: Browser, tmp_path: Path) -> None:
    def layers(count: int) -> irloop.Model:
        b = irloop.Builder("onnx", opset=17)
        value = b.op("Tanh", b.input("x", "f32", [4, 4]), name="/stem/tanh")
        for at in range(count):
            inner = value
            for kind in ("Relu", "Exp", "Neg", "Sin"):
                inner = b.op(kind, inner, name=f"/encoder/layer.{at}/{kind}")
            value = b.op("Add", value, inner, name=f"/encoder/layer.{at}/sum")
        b.output("y", value)
        return b.model()

    irloop.view(layers(12), tmp_path / "page.html", against=layers(11))
    browser.open(tmp_path / "page.html")
    browser.run(
        "[...document.querySelectorAll('.bar button')]"
        ".find(item => item.textContent === 'Close all').click()"
    )
    browser.click(".canvas .box.group")
    names = [f"encoder/layer/0 … encoder/layer/{last}  × {last + 1}" for last in (11, 10)]
    assert browser.texts(".selected .title") == names
    assert browser.texts("aside h2") == [names[0]]
    browser.click(".stage + .stage .box.group")
    assert browser.texts(".selected .title") == names
    assert browser.complaints() == []


def test_models_of_two_formats_side_by_side(tmp_path: Path) -> None:
    irloop.save_model(irloop.convert(RECURRENT)[0], tmp_path / "new.onnx")
    data = embedded(irloop.view(RECURRENT, against=tmp_path / "new.onnx"))
    first, second = (model["nodes"] for model in data["models"])
    found = {first[one]["path"]: second[two]["path"] for one, two in data["pairs"]}
    assert {"rnn", "rnn/body/h_next", "x", "states"} <= set(found)
    assert second[dict(map(tuple, data["pairs"]))[0]]["name"] == first[0]["name"]
    with pytest.raises(irloop.UsageError, match="one model"):
        irloop.view(RECURRENT, inputs={}, against=RECURRENT)


def test_a_validation_of_many_files_has_a_heading(tmp_path: Path) -> None:
    report = irloop.validate(RECURRENT)
    irloop.save_report(report, tmp_path / "page.html", [RECURRENT] * 7)
    data = embedded((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert data["title"] == "Validation of 7 files"
    assert len(data["models"]) == 5


def test_hostile_names_in_reports(browser: Browser, tmp_path: Path) -> None:
    models = [irloop.read_model(counting(tmp_path)) for _ in range(2)]
    for model in models:
        for node in (*model.graph.nodes, *model.graph.results):
            node.name = HOSTILE
    next(iter(models[1].graph.nodes)).name = f"{HOSTILE}2"
    results: list[irloop.Comparison | irloop.ModelDiff | irloop.Report] = [
        irloop.compare(*models, inputs=INPUTS, engines="numpy"),
        irloop.diff(*models),
        irloop.Report(
            [
                irloop.Diagnostic(
                    "IRL000", irloop.Severity.ERROR, HOSTILE, fix=HOSTILE, found=HOSTILE
                )
            ]
        ),
    ]
    for number, result in enumerate(results):
        path = tmp_path / f"page{number}.html"
        irloop.save_report(result, path, models)
        browser.open(path)
        assert browser.run("return document.title").endswith("· irloop")
        assert browser.run("return document.querySelectorAll('script').length") == 2
        assert browser.complaints() == []
        shown = browser.run("return document.body.innerText")
        assert "\u202e" not in shown
