"""Pasted messages: each entry of the table is compared with real messages, which are stored
verbatim.

``fixtures/messages.json`` holds what OpenVINO, ONNX Runtime and onnx.checker printed for broken
models, and four messages of older versions as users quote them in public issues.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import irloop
from irloop.errors import UsageError
from irloop.messages.explain import all_messages, explanations
from irloop.messages.message import Message
from irloop.validation.engine import rule_classes

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "messages.json"
SAID: list[dict[str, str]] = json.loads(FIXTURE.read_text(encoding="utf-8"))
TABLE = all_messages()
CODES = tuple(rule_classes())


@pytest.mark.parametrize("said", SAID, ids=lambda said: said["says"][:50])
def test_a_real_message_is_known(said: dict[str, str]) -> None:
    engine = said["engine"].split()[0]
    assert any(engine in item.engine for item in explanations(said["says"]))


@pytest.mark.parametrize("message", TABLE, ids=lambda message: message.pattern[:50])
def test_an_entry_matches_a_real_message_of_its_engine(message: Message) -> None:
    assert any(
        re.search(message.pattern, " ".join(said["says"].split()))
        and any(name in message.engine for name in (said["engine"], said["engine"].split()[0]))
        for said in SAID
    )


@pytest.mark.parametrize("message", TABLE, ids=lambda message: message.pattern[:50])
def test_an_entry_names_rules_that_exist(message: Message) -> None:
    for code in message.codes:
        assert any(known.startswith(code) for known in CODES), code


@pytest.mark.parametrize(
    ("text", "cause", "code"),
    [
        ("Incorrect weights in bin file!", "a Const lies outside the .bin", "IRL302"),
        ("unordered_map::at", "a port map or a back edge names a layer", "IRL509"),
        (
            "Exception from core.cpp:84:\nCan not find output port with id 9 in layer mm\n",
            "an edge names output port 9 of layer 'mm'",
            "IRL203",
        ),
        (
            "No Op registered for MatMulX with domain_version of 17",
            "opset 17 has no operation 'MatMulX'",
            "ONX102",
        ),
    ],
)
def test_names_in_the_message_occur_in_the_explanation(text: str, cause: str, code: str) -> None:
    told = irloop.explain(text)
    assert cause in told
    assert re.search(rf"^    {code}  \w", told, flags=re.MULTILINE)
    assert "  next:     " in told


def test_precise_entries_come_before_general_ones() -> None:
    text = (
        "While validating node 'opset1::Add Add_7 (opset1::Parameter x[0]:i32[1]) -> ()' with "
        "friendly_name 'Add_7': Arguments do not have the same element type"
    )
    (item,) = explanations(text)
    assert item.codes[0] == "IRL403"


def test_a_message_in_a_log_is_found(irloop_command: Callable[..., Result]) -> None:
    log = "[ INFO ] loading\nTraceback (most recent call last):\nRuntimeError: stoll\n[ INFO ] end"
    result = irloop_command("explain", "-", input=log)
    assert result.exit_code == 0
    assert "IRL104" in result.stdout


def test_messages_need_no_quotes_on_the_command_line(irloop_command: Callable[..., Result]) -> None:
    result = irloop_command("explain", "TensorIterator", "has", "no", "body.")
    assert result.exit_code == 0
    assert "IRL501" in result.stdout


def test_for_an_unknown_message_validation_is_proposed(
    irloop_command: Callable[..., Result],
) -> None:
    with pytest.raises(UsageError, match="irloop validate"):
        irloop.explain("Segmentation fault (core dumped)")
    result = irloop_command("explain", "Segmentation fault (core dumped)")
    assert result.exit_code == 2
    assert "irloop validate MODEL" in result.stderr


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "Unsupported model IR version: 99, max supported IR version: 14",
            "ir_version of the file",
        ),
        ("Fatal error: my.dom:Foo(-1) is not a registered function/op", "operation my.dom:Foo:"),
        ("Fatal error: Foo(-1) is not a registered function/op", "operation Foo:"),
        ("Could not determine tag type at offset 35", "the .xml is not well-formed"),
    ],
)
def test_the_cause_is_the_one_of_this_message(text: str, cause: str) -> None:
    (item,) = explanations(text)
    assert cause in item.cause


def test_a_newer_ir_version_is_not_taken_for_a_missing_opset() -> None:
    said = [item["says"] for item in SAID if "Unsupported model IR version" in item["says"]]
    for text in said:
        assert ["ir_version" in item.cause for item in explanations(text)] == [True]


def test_the_advice_about_opsets_works(
    tmp_path: Path, irloop_command: Callable[..., Result]
) -> None:
    """The commands of the advice, on a model of an opset that a runtime may not know."""
    from onnx import helper, load, save

    x, y = (helper.make_tensor_value_info(name, 1, [2]) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    paths = [str(tmp_path / name) for name in ("new.onnx", "m.xml", "old.onnx")]
    save(model, paths[0])
    assert irloop_command("convert", paths[0], "-o", paths[1]).exit_code == 0
    assert irloop_command("convert", paths[1], "-o", paths[2], "--opset", "13").exit_code == 0
    old = load(paths[2])
    assert [item.version for item in old.opset_import] == [13]
    assert old.ir_version < 11
