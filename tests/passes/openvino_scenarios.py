"""Applies OpenVINO's own transformation classes to models in a folder; runs as a child process.

    python openvino_scenarios.py FOLDER

Prints one JSON object: the outcome of each scenario by the scenario's name.
`test_against_openvino.py` has the same scenarios in irloop's classes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openvino
from openvino import opset13 as op
from openvino import passes as ov
from openvino import utils
from openvino.frontend import FrontEndManager

FOLDER = Path(sys.argv[1])
MANAGER = FrontEndManager()
NODES = ["opset13.Abs", "opset13.Relu", "opset13.Add", "opset13.Subtract"]


def model(name: str) -> Any:
    # The frontend is called directly because Core.read_model would transform the model.
    frontend = MANAGER.load_by_framework("ir")
    return frontend.convert(frontend.load(str(FOLDER / f"{name}.xml")))


def node(source: Any, name: str) -> Any:
    return next(item for item in source.get_ordered_ops() if item.get_friendly_name() == name)


def types(source: Any) -> list[str]:
    return sorted(item.get_type_name() for item in source.get_ordered_ops())


class Recorder(ov.MatcherPass):  # type: ignore[misc]  # the package is half typed
    """Records where its pattern matches and returns a fixed result."""

    def __init__(
        self, tag: str, pattern: Any, log: list[str], answer: bool | Callable[[Any], bool] = False
    ) -> None:
        super().__init__()

        def callback(matcher: Any) -> bool:
            log.append(f"{tag}:{matcher.get_match_root().get_friendly_name()}")
            return answer(matcher) if callable(answer) else answer

        self.register_matcher(ov.Matcher(pattern, tag), callback)


def rewrite(source: Any, matchers: Sequence[Any], *, backward: bool = False) -> None:
    manager = ov.Manager()
    graph_rewrite = manager.register_pass(
        ov.BackwardGraphRewrite() if backward else ov.GraphRewrite()
    )
    for matcher in matchers:
        graph_rewrite.add_matcher(matcher)
    manager.run_passes(source)


def forward() -> list[str]:
    log: list[str] = []
    rewrite(model("chain"), [Recorder("w", ov.WrapType(NODES), log)])
    return log


def backward() -> list[str]:
    log: list[str] = []
    rewrite(model("chain"), [Recorder("w", ov.WrapType(NODES), log)], backward=True)
    return log


def registration_order() -> list[str]:
    log: list[str] = []
    first = Recorder("first", ov.WrapType(NODES), log)
    second = Recorder("second", ov.WrapType("opset13.Relu"), log, True)
    third = Recorder("third", ov.WrapType(NODES), log)
    rewrite(model("chain"), [first, second, third])
    return log


def untyped_root() -> list[str]:
    log: list[str] = []
    typed = Recorder("typed", ov.WrapType("opset13.Relu"), log)
    rewrite(model("chain"), [Recorder("any", ov.AnyInput(), log), typed])
    return log


def border_roots() -> list[str]:
    log: list[str] = []
    names = ("Parameter", "Constant", "Result")
    rewrite(model("chain"), [Recorder(n, ov.WrapType(f"opset13.{n}"), log) for n in names])
    return log


def alone_in_a_manager() -> list[str]:
    log: list[str] = []
    manager = ov.Manager()
    manager.register_pass(Recorder("alone", ov.WrapType(NODES), log))
    manager.run_passes(model("chain"))
    return log


def bodies() -> list[str]:
    log: list[str] = []
    wanted = ["opset13.Abs", "opset13.If", "opset13.Loop", "opset13.TensorIterator"]
    rewrite(model("bodies"), [Recorder("b", ov.WrapType(wanted), log)])
    return log


def requeued() -> dict[str, list[str]]:
    """A matcher replaces Abs by two Relus and registers both, so they are visited next, in this
    order.
    """
    log: list[str] = []
    source = model("chain")
    passes: list[Recorder] = []

    def replaced(matcher: Any) -> bool:
        root = matcher.get_match_root()
        first = op.relu(root.input_value(0), name="first")
        second = op.relu(first, name="second")
        for made in (first, second):
            passes[0].register_new_node(made)
        # In OpenVINO the name must be copied explicitly.
        second.set_friendly_name(root.get_friendly_name())
        utils.replace_node(root, second)
        return True

    passes.append(Recorder("abs", ov.WrapType("opset13.Abs"), log, replaced))
    rewrite(source, [*passes, Recorder("relu", ov.WrapType("opset13.Relu"), log)])
    names = [item.get_friendly_name() for item in source.get_ordered_ops()]
    return {"log": log, "names": sorted(names), "types": types(source)}


def fused() -> list[str]:
    """A matcher replaces three nodes by one; nodes that only they read are removed."""
    source = model("chain")

    def replaced(matcher: Any) -> bool:
        root = matcher.get_match_root()
        x = root.input_value(0).get_node().input_value(0).get_node().input_value(0)
        utils.replace_node(root, op.tanh(x))
        return True

    inner = ov.WrapType("opset13.Relu", ov.WrapType("opset13.Abs"))
    pattern = ov.WrapType("opset13.Add", [inner, ov.WrapType("opset13.Constant")])
    rewrite(source, [Recorder("fuse", pattern, [], replaced)])
    return types(source)


def matches(pattern: Any, source: str, name: str) -> bool:
    graph = model(source)
    return bool(ov.Matcher(pattern, "m").match(node(graph, name).output(0)))


def structure() -> list[bool]:
    relu, absolute = ov.WrapType("opset13.Relu"), ov.WrapType("opset13.Abs")
    same, other = ov.AnyInput(), ov.AnyInput()
    return [
        # The operands in their own order, and swapped.
        matches(ov.WrapType("opset13.Add", [absolute, relu]), "branches", "c"),
        matches(ov.WrapType("opset13.Add", [relu, absolute]), "branches", "c"),
        matches(ov.WrapType("opset13.Subtract", [absolute, relu]), "branches", "d"),
        matches(ov.WrapType("opset13.Subtract", [relu, absolute]), "branches", "d"),
        # A pattern without inputs fits any number of inputs; otherwise the inputs must be exactly
        # these.
        matches(ov.WrapType("opset13.Add"), "branches", "c"),
        matches(ov.WrapType("opset13.Concat"), "joined", "j"),
        matches(ov.WrapType("opset13.Concat", [same, other]), "joined", "j"),
        # A pattern that occurs twice must match the same value.
        matches(ov.WrapType("opset13.Add", [same, same]), "branches", "c"),
        matches(ov.WrapType("opset13.Add", [same, same]), "joined", "twice"),
        # The operation of an older opset has the same class.
        matches(ov.WrapType("opset1.Add"), "branches", "c"),
        # A pattern with several types matches each of them.
        matches(ov.WrapType(["opset13.Subtract", "opset13.Add"]), "branches", "c"),
    ]


def alternatives() -> list[list[bool]]:
    found = []
    for name in ("c", "d"):
        first = ov.WrapType(["opset13.Add"])
        second = ov.WrapType(["opset13.Add", "opset13.Subtract"])
        matcher = ov.Matcher(ov.Or([first.output(0), second.output(0)]), "m")
        graph = model("branches")
        matched = matcher.match(node(graph, name).output(0))
        values = matcher.get_pattern_value_map()
        found.append([matched, first in values, second in values])
    return found


def optional() -> list[bool]:
    return [
        # Relu(Abs(x)) with and without an Abs at the position of the pattern.
        matches(
            ov.WrapType("opset13.Relu", ov.Optional(["opset13.Abs"], ov.AnyInput())), "chain", "b"
        ),
        matches(
            ov.WrapType(
                "opset13.Relu", ov.Optional(["opset13.Abs"], ov.WrapType("opset13.Parameter"))
            ),
            "chain",
            "b",
        ),
        matches(
            ov.WrapType(
                "opset13.Relu", ov.Optional(["opset13.Tanh"], ov.WrapType("opset13.Parameter"))
            ),
            "chain",
            "b",
        ),
        matches(
            ov.WrapType(
                "opset13.Relu", ov.Optional(["opset13.Abs"], ov.WrapType("opset13.Parameter"))
            ),
            "branches",
            "b",
        ),
    ]


def predicates() -> list[bool]:
    f32, f16 = openvino.Type.f32, openvino.Type.f16
    asked = [
        ov.consumers_count(1),
        ov.consumers_count(2),
        ov.has_static_shape(),
        ov.has_static_rank(),
        ov.has_static_dim(0),
        ov.has_static_dims([0]),
        ov.rank_equals(openvino.Dimension(1)),
        ov.rank_equals(openvino.Dimension(2)),
        ov.shape_matches("[6]"),
        ov.shape_matches("[5]"),
        ov.type_matches(f32),
        ov.type_matches(f16),
        ov.type_matches_any([f32, f16]),
        ov.attrs_match({"axis": 0}),
        ov.attrs_match({"axis": 1}),
    ]
    return [matches(ov.WrapType("opset13.Concat", item), "joined", "j") for item in asked]


def replaced_output() -> dict[str, Any]:
    """Every reader of one output reads another one: tensor names are moved, friendly names are
    not.
    """
    source = model("chain")
    old = node(source, "a")
    new = op.tanh(old.input_value(0), name="new")
    old.output(0).replace(new.output(0))
    return {"name": new.get_friendly_name(), "names": sorted(new.output(0).get_names())}


def eliminated() -> dict[str, list[str]]:
    """A node is removed; if it was an output, its name is kept."""
    found = {}
    for name in ("b", "c"):
        source = model("chain")
        output = node(source, name).output(0)
        utils.replace_output_update_name(output, output.get_node().input_value(0))
        found[name] = [
            item.get_friendly_name()
            for item in source.get_ordered_ops()
            if item.get_type_name() in ("Abs", "Relu", "Add")
        ]
    return found


def wrong_number_of_outputs() -> bool:
    source = model("split")
    old = node(source, "s")
    try:
        utils.replace_node(old, op.tanh(old.input_value(0)))
    except RuntimeError:
        return True
    return False


def constant_folding() -> list[list[Any]]:
    source = model("constants")
    manager = ov.Manager()
    manager.register_pass(ov.ConstantFolding())
    manager.run_passes(source)
    return sorted(
        [
            item.get_type_name().replace("Constant", "Const"),
            item.get_friendly_name(),
            sorted(item.output(0).get_names()) if item.get_type_name() == "Constant" else [],
        ]
        for item in source.get_ordered_ops()
    )


class Doubled(ov.ModelPass):  # type: ignore[misc]  # the package is half typed
    """Makes `a` read a vector of twice the length."""

    def run_on_model(self, source: Any) -> bool:
        first = node(source, "a")
        x = first.input_value(0)
        first.input(0).replace_source_output(op.concat([x, x], 0).output(0))
        return True


class Shown(ov.ModelPass):  # type: ignore[misc]  # the package is half typed
    """Records the shape of `b`."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log

    def run_on_model(self, source: Any) -> bool:
        self.log.append(str(node(source, "b").get_output_partial_shape(0)))
        return False


def validation() -> list[str]:
    """Shapes after an edit are outdated until the manager validates the graph after the pass."""
    log: list[str] = []
    for validate in (False, True):
        manager = ov.Manager()
        manager.set_per_pass_validation(validate)
        manager.register_pass(Doubled())
        manager.register_pass(Shown(log))
        manager.run_passes(model("open"))
    return log


SCENARIOS: list[Callable[[], Any]] = [
    forward,
    backward,
    registration_order,
    untyped_root,
    border_roots,
    alone_in_a_manager,
    bodies,
    requeued,
    fused,
    structure,
    alternatives,
    optional,
    predicates,
    replaced_output,
    eliminated,
    wrong_number_of_outputs,
    constant_folding,
    validation,
]


if __name__ == "__main__":
    print(json.dumps({item.__name__: item() for item in SCENARIOS}))
