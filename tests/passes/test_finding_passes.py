"""Passes by name: options as text, descriptions, and passes of other packages."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal

import pytest

import irloop
from irloop.errors import UsageError
from irloop.graph.model import Model
from irloop.passes import ModelPass, PassConfig, option
from irloop.passes.common import LIBRARY
from irloop.passes.library import all_passes, describe, make_pass
from irloop.passes.options import Option, build, options_of, parse_request


@dataclass(eq=False)
class Configured(ModelPass):
    """Does nothing, with every kind of option.

    Given::

        y = x

    Result::

        y = x
          (still)

    It leaves all as it is.
    """

    name = "configured"
    dialects = frozenset({"onnx"})
    enabled_by_default = False
    count: int = option(3, "how many")
    scale: float = option(0.5, "how much")
    deep: bool = option(False, "whether inside bodies")
    mode: Literal["fast", "exact"] = option("fast", "how")
    where: str | None = option(None, "at which node")
    shapes: tuple[str, ...] = option((), "for which inputs")

    def run_on_model(self, model: Model) -> bool:
        return False


def configured(text: str) -> Configured:
    made = build(Configured, parse_request(text))
    assert isinstance(made, Configured)
    return made


def test_options_are_read_from_text() -> None:
    assert configured("configured").count == 3
    assert configured("configured=8").count == 8
    made = configured(
        "configured:count=8:scale=1e-3:deep=yes:mode=exact:where=a:0:shapes=x=1,3:shapes=y:0=2"
    )
    assert (made.count, made.scale, made.deep, made.mode) == (8, 1e-3, True, "exact")
    # A colon separates options only if the name of an option follows.
    assert made.where == "a:0"
    assert made.shapes == ("x=1,3", "y:0=2")


@pytest.mark.parametrize(
    ("text", "message", "expected"),
    [
        ("configured=many", "option count of pass configured cannot be 'many'", "whole number"),
        ("configured:deep=perhaps", "option deep of pass configured", "yes|no"),
        ("configured:mode=slow", "option mode of pass configured", "fast|exact"),
        ("configured:size=3", "has no option 'size'", "count, scale, deep, mode, where, shapes"),
        ("configured:count=1:count=2", "option count of pass configured is given twice", ""),
        ("two words", "'two words' does not name a pass", "NAME"),
    ],
)
def test_bad_options_are_refused_by_name(text: str, message: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        configured(text)
    assert message in caught.value.message
    assert expected in caught.value.diagnostics[0].expected


def test_a_pass_without_options_says_so() -> None:
    with pytest.raises(UsageError, match="dead_code has no options"):
        make_pass("dead_code=3")


def test_an_unknown_pass_is_refused_with_all_names() -> None:
    with pytest.raises(UsageError, match="no pass is called 'unrol'") as caught:
        make_pass("unrol")
    assert "unroll" in caught.value.diagnostics[0].expected


def test_a_hyphen_is_read_as_an_underscore() -> None:
    assert make_pass("dead-code").name == "dead_code"


def test_a_pass_describes_itself() -> None:
    info = describe(Configured)
    assert info.summary == "Does nothing, with every kind of option."
    assert (info.given, info.result) == ("y = x", "y = x\n  (still)")
    assert info.notes == "It leaves all as it is."
    assert (info.dialects, info.enabled) == (("onnx",), False)
    assert info.options[:2] == (
        Option("count", "whole number", "3", "how many"),
        Option("scale", "number", "0.5", "how much"),
    )
    assert [item.type for item in info.options[2:]] == [
        "yes|no",
        "fast|exact",
        "text",
        "text, several times",
    ]


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_every_pass_of_the_library_is_described(name: str) -> None:
    """The command line and the documentation use these descriptions."""
    cls = LIBRARY[name]
    info = describe(cls)
    assert info.name == name
    assert info.summary.endswith(".")
    assert info.given, "the docstring draws no 'Given::'"
    assert info.result, "the docstring draws no 'Result::'"
    assert all(item.doc for item in info.options)
    assert isinstance(make_pass(name), cls)


def test_passes_that_are_off_by_default_run_on_request() -> None:
    config = PassConfig()
    assert config.is_disabled(Configured)
    config.enable(Configured)
    assert not config.is_disabled(Configured())


PACKAGE = '''
from irloop.graph.model import Model
from irloop.passes import ModelPass


class Renamed(ModelPass):
    """Calls the graph "renamed"."""

    name = "renamed"

    def run_on_model(self, model: Model) -> bool:
        model.graph.name = "renamed"
        return True


class Taken(Renamed):
    name = "dead_code"
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path, with a package that contains passes."""
    (tmp_path / "other_passes.py").write_text(PACKAGE)
    (tmp_path / "other_passes-1.0.dist-info").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "other_passes", raising=False)
    return tmp_path


def name_passes(folder: Path, *points: str) -> None:
    info = folder / "other_passes-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-passes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(["[irloop.passes]", *points, ""]))


def test_other_packages_can_provide_passes(installed: Path) -> None:
    name_passes(installed, "renamed = other_passes:Renamed")
    assert [point.name for point in entry_points(group="irloop.passes")] == ["renamed"]
    (info,) = (item for item in irloop.transformations() if item.name == "renamed")
    assert (info.origin, info.summary) == ("other_passes", 'Calls the graph "renamed".')
    fixture = Path(__file__).resolve().parents[1] / "fixtures" / "models" / "halving" / "model.xml"
    result, profile = irloop.transform(fixture, ["renamed"])
    assert result.graph.name == "renamed"
    assert [record.name for record in profile] == ["renamed"]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("dead_code = other_passes:Taken", "two passes are called dead_code"),
        ("gone = other_passes:Gone", "the pass gone of other-passes cannot be loaded"),
        ("no = other_passes:Model", "the entry point no of other-passes does not name a pass"),
    ],
)
def test_objects_that_are_not_passes_are_refused_by_name(
    installed: Path, point: str, message: str
) -> None:
    name_passes(installed, point)
    with pytest.raises(UsageError, match=message):
        all_passes()


def test_options_of_a_pass_that_is_not_a_dataclass() -> None:
    assert options_of(LIBRARY["dead_code"]) == ()
