"""The API for passes of other packages, and the errors when these passes fail."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import irloop
import irloop.passes
from irloop.dialects import Constant, contrib, onnx, openvino
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Registry
from irloop.passes import (
    GraphRewrite,
    Manager,
    Match,
    MatcherPass,
    MatchRewriter,
    ModelPass,
    PassConfig,
    Pattern,
    Predicate,
    any_input,
    wrap_type,
)
from irloop.passes import graph_rewrite as limits

MODEL = Path(__file__).resolve().parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"

NAMES = {
    "BackwardGraphRewrite",
    "GraphRewrite",
    "LoopPass",
    "LoopWires",
    "Manager",
    "Match",
    "MatchRewriter",
    "MatcherPass",
    "ModelPass",
    "NodePass",
    "NodeWriter",
    "Observer",
    "Pass",
    "PassConfig",
    "PassRecord",
    "Pattern",
    "Predicate",
    "Profile",
    "Rewriter",
    "any_input",
    "attributes",
    "build",
    "consumers",
    "copy_info",
    "dims",
    "either",
    "element_is",
    "explain_match",
    "option",
    "optional",
    "output_index",
    "parse_request",
    "rank_is",
    "shape_is",
    "static_dims",
    "static_rank",
    "static_shape",
    "wrap_type",
}


def test_the_names_of_the_pass_api_do_not_change() -> None:
    assert set(irloop.passes.__all__) == NAMES
    assert all(hasattr(irloop.passes, name) for name in NAMES)


@pytest.mark.parametrize(("module", "registry"), [(openvino, OPENVINO), (onnx, ONNX)])
def test_every_operation_class_is_found_by_its_name(module: object, registry: Registry) -> None:
    for cls in registry.all():
        # ONNX Runtime's own operations belong to the ONNX dialect, but have a separate module.
        home = contrib if issubclass(cls, contrib.ContribOp) else module
        assert getattr(home, cls.__name__) is cls
    with pytest.raises(AttributeError):
        _ = openvino.NoSuchOperation


class TanhAgain(MatcherPass):
    """Replaces each Tanh by another Tanh, which the pattern matches again."""

    name = "tanh_again"

    def pattern(self) -> Pattern:
        return wrap_type(openvino.Tanh)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root = match.root
        again = rewriter.insert(openvino.Tanh(), root.inputs, before=root, name="again")
        rewriter.replace_node(root, again.outputs)
        return True


class Sigmoids(TanhAgain):
    """Replaces each Tanh by a Sigmoid."""

    name = "sigmoids"

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root = match.root
        made = rewriter.insert(openvino.Sigmoid(), root.inputs, before=root, name="made")
        rewriter.replace_node(root, made.outputs)
        return True


class Broken(TanhAgain):
    """Raises an exception that is not one of irloop's."""

    name = "broken"

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        raise KeyError("no such thing")


class BrokenPredicate(TanhAgain):
    """Its predicate divides by zero."""

    name = "broken_predicate"

    def pattern(self) -> Pattern:
        def test(value: Value) -> bool:
            return 1 // len(value.names[:0]) > 0

        return wrap_type(openvino.Tanh, any_input(), where=Predicate(test, "broken"))


class BrokenModelPass(ModelPass):
    """Reads a key that does not exist."""

    name = "broken_model_pass"

    def run_on_model(self, model: Model) -> bool:
        return bool(model.metadata["no such key"])


def body_of(model: Model) -> Graph:
    (loop,) = (node for node in model.graph.nodes if node.bodies)
    return loop.body().graph


def types_in(graph: Graph) -> list[str]:
    return [node.op.type for node in graph.nodes if not isinstance(node.op, Constant)]


def test_a_pass_is_applied_to_one_node() -> None:
    model = irloop.read_model(MODEL)
    body = body_of(model)
    (tanh,) = (node for node in body.nodes if isinstance(node.op, openvino.Tanh))
    other = next(node for node in body.nodes if isinstance(node.op, openvino.MatMul))
    assert not Sigmoids().apply(other)
    assert "Tanh" in types_in(body)
    assert Sigmoids().apply(tanh)
    assert "Tanh" not in types_in(body)
    assert types_in(body).count("Sigmoid") == 1


def test_a_rewrite_that_does_not_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FEWEST_CHANGES", 50)
    monkeypatch.setattr(limits, "CHANGES_PER_NODE", 1)
    with pytest.raises(irloop.PassError, match=r"tanh_again never finishes.*Tanh-1") as caught:
        irloop.transform(MODEL, [TanhAgain()])
    assert caught.value.diagnostics[0].code == "PAS002"


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (Broken(), r"pass broken failed at Tanh-1 '[^']*h_next': KeyError"),
        (BrokenPredicate(), r"pass broken_predicate failed at Tanh-1 '[^']*h_next': ZeroDivision"),
        (BrokenModelPass(), r"pass broken_model_pass failed: KeyError"),
        (GraphRewrite([Broken()]), r"pass broken failed at Tanh-1"),
        (Manager([Broken()]), r"pass broken failed at Tanh-1"),
    ],
)
def test_an_exception_in_a_pass_names_pass_and_node(item: irloop.passes.Pass, message: str) -> None:
    with pytest.raises(irloop.PassError, match=message) as caught:
        irloop.transform(MODEL, [item])
    assert caught.value.__cause__ is not None
    assert caught.value.diagnostics[0].code == "PAS001"


def test_an_exception_in_a_callback_names_pass_and_node() -> None:
    def callback(node: Node) -> bool:
        raise IndexError("of the callback")

    config = PassConfig()
    config.set_callback(callback, Sigmoids)
    model = irloop.read_model(MODEL)
    with pytest.raises(irloop.PassError, match=r"the callback for pass sigmoids failed at Tanh-1"):
        Manager([Sigmoids()], config=config).run_passes(model)


SOURCE = """
from dataclasses import dataclass

from irloop.dialects import openvino
from irloop.passes import MatcherPass, option, wrap_type


@dataclass(eq=False)
class Rename(MatcherPass):
    name = "rename"
    to: str = option("renamed", "the new name")

    def pattern(self):
        return wrap_type(openvino.Tanh)

    def rewrite(self, match, rewriter):
        root = match.root
        if root.name == self.to:
            return False
        made = rewriter.insert(openvino.Tanh(), root.inputs, before=root, name="made")
        rewriter.replace_node(root, made.outputs)
        made.name = self.to
        return True
"""


@pytest.mark.parametrize(
    ("request_", "name"), [("Rename", "renamed"), ("Rename=x", "x"), ("Rename:to=y", "y")]
)
def test_a_pass_in_a_file(request_: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(textwrap.dedent(SOURCE), "utf-8")
    target = tmp_path / "out.xml"
    command = [sys.executable, "-m", "irloop", "transform", str(MODEL), "-o", str(target)]
    subprocess.run([*command, "--pass", f"{tmp_path}/mine.py:{request_}"], check=True)
    assert name in [node.name for node in body_of(irloop.read_model(target)).nodes]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (None, "Rename", "no such file"),
        ("raise ValueError('loud')", "Rename", "cannot be run"),
        (SOURCE, "MatcherPass", "has no pass MatcherPass"),
        (SOURCE, "Nothing", "has no pass Nothing"),
    ],
)
def test_a_file_without_the_pass(text: str | None, name: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(irloop.UsageError, match=message):
        irloop.transform(MODEL, [f"{path}:{name}"])
