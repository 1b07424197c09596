"""The framework behaves as measured in nGraph (order, requeueing, dispatch, config)."""

from __future__ import annotations

import pytest

from irloop.dialects.openvino.control_flow import If
from irloop.dialects.openvino.elementwise import Abs, Add, Multiply, Subtract
from irloop.errors import VerifyError
from irloop.graph.builder import Builder
from irloop.graph.loops import Invariant, LastValue, PortMap
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes import (
    BackwardGraphRewrite,
    GraphRewrite,
    Manager,
    Match,
    MatcherPass,
    MatchRewriter,
    ModelPass,
    NodePass,
    Observer,
    PassConfig,
    PassRecord,
    Pattern,
    Profile,
    any_input,
    either,
    explain_match,
    optional,
    wrap_type,
)
from irloop.passes.node_writer import NodeWriter
from irloop.passes.predicates import consumers, element_is, rank_is, static_shape

F32 = TensorType(ElementType.F32, Shape.of(2))


def model_of(*names: str) -> Model:
    """A model x -> a chain of Abs nodes with these names -> out"""
    b = Builder(Graph("g"))
    value = b.parameter("x", F32)
    for name in names:
        value = b(Abs(), value, name=name)
    b.result(value, "out")
    return Model(b.graph, "openvino", 10)


class Recorder(MatcherPass):
    """Matches Abs and records the node, but changes nothing."""

    name = "recorder"

    def __init__(self, log: list[str], *, answer: bool = False) -> None:
        self.log = log
        self.answer = answer

    def pattern(self) -> Pattern:
        return wrap_type(Abs)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        self.log.append(f"{self.name}:{match.root.name}")
        return self.answer


class Second(Recorder):
    name = "second"


class AbsToSquare(MatcherPass):
    """|x| -> x * x, which contains no Abs."""

    name = "abs_to_square"

    def pattern(self) -> Pattern:
        self.x = any_input()
        return wrap_type(Abs, self.x)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        x = match[self.x]
        new = rewriter.insert(Multiply(), (x, x), before=match.root, name="square")
        rewriter.replace_node(match.root, new.outputs)
        return True


class MultiplyToAdd(MatcherPass):
    """x * x -> x + x: matches only nodes that AbsToSquare inserted."""

    name = "multiply_to_add"

    def pattern(self) -> Pattern:
        self.x = any_input()
        return wrap_type(Multiply, self.x, self.x)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        x = match[self.x]
        new = rewriter.insert(Add(), (x, x), before=match.root, name="sum")
        rewriter.replace_node(match.root, new.outputs)
        return True


class AbsToSum(NodePass):
    """|x| -> x + x, unless the node is called "kept" or "erased"; the latter is removed."""

    name = "abs_to_sum"
    operations = (Abs,)

    def applies(self, node: Node) -> bool:
        return node.name != "kept"

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        (x,) = node.inputs
        assert x is not None
        if node.name == "erased":
            w.rewriter.eliminate(node, x)
            return None
        return w.add(x, x)


def types_of(model: Model) -> list[str]:
    return [node.op.type for node in model.graph.nodes]


def test_forward_visits_from_parameters_and_backward_from_results() -> None:
    log: list[str] = []
    GraphRewrite([Recorder(log)]).run(model_of("a", "b", "c"), PassConfig())
    assert log == ["recorder:a", "recorder:b", "recorder:c"]
    log.clear()
    BackwardGraphRewrite([Recorder(log)]).run(model_of("a", "b", "c"), PassConfig())
    assert log == ["recorder:c", "recorder:b", "recorder:a"]


def test_matchers_run_in_registration_order_and_the_first_success_ends_the_node() -> None:
    log: list[str] = []
    GraphRewrite([Recorder(log), Second(log)]).run(model_of("a", "b"), PassConfig())
    assert log == ["recorder:a", "second:a", "recorder:b", "second:b"]
    log.clear()
    GraphRewrite([Recorder(log, answer=True), Second(log)]).run(model_of("a"), PassConfig())
    assert log == ["recorder:a"]


def test_a_node_pass_rewrites_the_nodes_to_which_it_applies() -> None:
    log: list[str] = []
    model, pair = model_of("erased", "kept", "a"), GraphRewrite([AbsToSum(), Recorder(log)])
    assert pair.run(model, PassConfig())
    kept, changed = model.graph.nodes
    assert (kept.name, kept.op, changed.name, changed.op) == ("kept", Abs(), "a", Add())
    assert pair.matches == {"abs_to_sum": 2, "recorder": 1}
    assert log == ["recorder:kept"]
    assert not AbsToSum().run(model, PassConfig())


def test_inserted_nodes_are_visited_next_without_being_registered() -> None:
    model = model_of("a")
    assert GraphRewrite([AbsToSquare(), MultiplyToAdd()]).run(model, PassConfig())
    assert types_of(model) == ["Add"]


def test_a_pass_returns_whether_it_changed_anything() -> None:
    assert AbsToSquare().run(model_of("a"), PassConfig())
    assert not Recorder([]).run(model_of("a"), PassConfig())


def test_bodies_are_visited_before_their_owner() -> None:
    b = Builder(Graph("outer"))
    x = b.parameter("x", F32)
    condition = b.parameter("condition", TensorType(ElementType.BOOLEAN, Shape(())))
    bodies = []
    for label in ("then", "else"):
        inner = b.nested(label)
        p = inner.parameter(f"{label}_x", F32)
        inner.result(inner(Abs(), p, name=f"{label}_abs"), f"{label}_out")
        ports = PortMap((Invariant(1, 0),), (LastValue(0, 0),))
        bodies.append(Body(label, inner.graph, ports))
    node = b.emit(If(), condition, x, n_outputs=1, bodies=tuple(bodies), name="if")
    b.result(b(Abs(), node.output, name="after"), "out")
    model = Model(b.graph, "openvino", 10)
    log: list[str] = []
    GraphRewrite([Recorder(log)]).run(model, PassConfig())
    assert log == ["recorder:then_abs", "recorder:else_abs", "recorder:after"]
    log.clear()
    GraphRewrite([Recorder(log)], recurse=False).run(model, PassConfig())
    assert log == ["recorder:after"]


def test_disabled_passes_do_not_run_and_callbacks_protect_nodes() -> None:
    config = PassConfig()
    config.disable(AbsToSquare)
    model = model_of("a")
    assert not Manager([AbsToSquare()], config=config).run_passes(model)
    config.enable("abs_to_square")
    config.set_callback(lambda node: node.name == "a", AbsToSquare)
    model = model_of("a", "b")
    assert Manager([AbsToSquare()], config=config).run_passes(model)
    assert types_of(model) == ["Abs", "Multiply"]


def test_one_config_serves_nested_managers() -> None:
    config = PassConfig()
    config.disable(AbsToSquare)
    nested = Manager([AbsToSquare()], name="nested")
    outer = Manager([nested], config=config, name="outer")
    assert not outer.run_passes(model_of("a"))


def test_a_pass_may_be_registered_without_being_enabled() -> None:
    manager = Manager()
    manager.register(AbsToSquare(), enabled=False)
    assert not manager.run_passes(model_of("a"))
    manager.config.enable("abs_to_square")
    assert manager.run_passes(model_of("a"))


def test_callbacks_hold_for_one_pass_or_for_all() -> None:
    config = PassConfig()
    config.set_callback(lambda node: node.name == "a")
    config.set_callback(lambda node: node.name == "b", "second")
    log: list[str] = []
    rewrite = GraphRewrite([Recorder(log), Second(log)])
    Manager([rewrite], config=config).run_passes(model_of("a", "b"))
    assert log == ["second:a", "recorder:b"]


class Renamer(ModelPass):
    """Renames the nodes that no callback protects."""

    name = "renamer"

    def run_on_model(self, model: Model) -> bool:
        rewriter = Rewriter(model.graph)
        for node in model.graph.nodes:
            if not self.transformation_callback(node):
                rewriter.rename(node, f"new_{node.name}")
        return rewriter.modified


def test_a_model_pass_consults_callbacks_itself() -> None:
    config = PassConfig()
    config.set_callback(lambda node: node.name == "a", Renamer)
    model = model_of("a", "b")
    assert Manager([Renamer()], config=config).run_passes(model)
    assert [node.name for node in model.graph.nodes] == ["a", "new_b"]


class EditsButKeepsTheRoot(Recorder):
    """Inserts a node before the root and returns False, because the root stays."""

    name = "edits"

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root = match.root
        if root.inputs[0] is not rewriter.graph.inputs[0]:
            return super().rewrite(match, rewriter)
        doubled = rewriter.insert(Add(), (root.inputs[0],) * 2, before=root, name="doubled")
        rewriter.set_input(root, 0, doubled.output)
        return False


def test_later_patterns_see_an_edit_that_keeps_the_root() -> None:
    log: list[str] = []
    model = model_of("a")
    rewrite = GraphRewrite([EditsButKeepsTheRoot(log), Second(log)])
    assert Manager([rewrite], check=True).run_passes(model)
    assert types_of(model) == ["Add", "Abs"]
    assert log == ["second:a"]


class OnlyOnRequest(ModelPass):
    name = "only_on_request"
    enabled_by_default = False

    def run_on_model(self, model: Model) -> bool:
        model.graph.name = "touched"
        return True


def test_a_pass_may_be_off_by_default() -> None:
    model = model_of("a")
    manager = Manager([OnlyOnRequest()])
    assert not manager.run_passes(model)
    manager.config.enable(OnlyOnRequest)
    assert manager.run_passes(model)
    assert model.graph.name == "touched"


def test_a_pass_registered_as_off_runs_where_a_configuration_enables_it() -> None:
    def nested(*, enabled_first: bool | None) -> bool:
        inner, outer = Manager(name="inner"), Manager(name="outer")
        if enabled_first:
            outer.config.enable(AbsToSquare)
        inner.register(AbsToSquare(), enabled=False)
        outer.register(Manager([inner]))
        if enabled_first is False:
            outer.config.enable(AbsToSquare)
        return outer.run_passes(model_of("a"))

    assert not nested(enabled_first=None)
    assert nested(enabled_first=True)
    assert nested(enabled_first=False)


class Watcher(Observer):
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def before(self, name: str, model: Model) -> None:
        self.seen.append((f"before {name}", len(model.graph)))

    def after(self, record: PassRecord, model: Model) -> None:
        self.seen.append((f"after {record.name}", len(model.graph)))


def test_records_contain_time_matches_and_changes() -> None:
    watcher = Watcher()
    squares = GraphRewrite([AbsToSquare(), Recorder([])], name="squares")
    manager = Manager([squares, MultiplyToAdd(), Recorder([])], observers=[watcher])
    manager.run_passes(model_of("a", "b"))
    found = [(item.name, dict(item.matches), item.modified) for item in manager.records]
    assert found == [
        ("squares", {"abs_to_square": 2}, True),
        ("multiply_to_add", {"multiply_to_add": 2}, True),
        ("recorder", {}, False),
    ]
    assert [item.nodes for item in manager.records] == [(2, 2)] * 3
    assert all(item.seconds >= 0 for item in manager.records)
    names = [text for text, _ in watcher.seen]
    assert names[:3] == ["before squares", "after squares", "before multiply_to_add"]


def test_nested_managers_notify_the_observers_of_the_outer_one() -> None:
    watcher = Watcher()
    inner = Manager([AbsToSquare()], name="inner")
    outer = Manager([inner], name="outer", observers=[watcher])
    assert outer.run_passes(model_of("a"))
    assert [text for text, _ in watcher.seen] == [
        "before inner",
        "before abs_to_square",
        "after abs_to_square",
        "after inner",
    ]
    assert [(item.name, item.manager, item.depth) for item in outer.records] == [
        ("inner", "outer", 0),
        ("abs_to_square", "inner", 1),
    ]


def test_a_profile_is_a_table_and_csv() -> None:
    profile = Profile(
        [
            PassRecord("inner", "outer", 0.0125, True, {}, (7, 5)),
            PassRecord("squares", "inner", 0.01, True, {"a": 2, "b": 1}, (7, 5), depth=1),
            PassRecord("dead_code", "inner", 0.0025, False, {}, (5, 5), depth=1),
        ]
    )
    assert profile.modified
    assert str(profile).splitlines() == [
        "pass            ms  matches   nodes  changed",
        "inner        12.50           7 -> 5  yes",
        "  squares    10.00        3  7 -> 5  yes",
        "    a                     2",
        "    b                     1",
        "  dead_code   2.50                5  no",
    ]
    assert profile.csv().splitlines() == [
        "pass,manager,milliseconds,matches,nodes_before,nodes_after,modified",
        "inner,outer,12.500,0,7,5,true",
        "squares,inner,10.000,3,7,5,true",
        "a,squares,,2,,,",
        "b,squares,,1,,,",
        "dead_code,inner,2.500,0,5,5,false",
    ]


class Breaker(ModelPass):
    name = "breaker"

    def run_on_model(self, model: Model) -> bool:
        first = next(iter(model.graph.nodes))
        first.inputs = ()
        return True


def test_the_manager_can_verify_after_each_pass() -> None:
    with pytest.raises(VerifyError, match="after pass breaker"):
        Manager([Breaker()], check=True, validate=False).run_passes(model_of("a"))


def two_operands(op: Op) -> tuple[Graph, Value, Value, Value]:
    b = Builder(Graph("g"))
    x = b.parameter("x", F32)
    k = b.constant([1.0, 2.0], ElementType.F32, name="k")
    y = b(op, x, k, name="y")
    b.result(y, "out")
    return b.graph, x, k, y


def test_commutative_operations_match_swapped_and_others_do_not() -> None:
    constant, x = wrap_type(Constant), any_input()
    _, given, k, total = two_operands(Add())
    match = wrap_type(Add, constant, x).match(total.producer)
    assert match is not None
    assert match[constant] is k
    assert match[x] is given
    _, _, _, rest = two_operands(Subtract())
    assert wrap_type(Subtract, constant, x).match(rest.producer) is None


def test_a_pattern_used_twice_must_match_the_same_value() -> None:
    x = any_input()
    _, _, _, total = two_operands(Add())
    assert wrap_type(Add, x, x).match(total.producer) is None
    b = Builder(Graph("g"))
    value = b.parameter("x", F32)
    assert wrap_type(Add, x, x).match(b.emit(Add(), value, value)) is not None


def test_optional_matches_with_and_without_the_node() -> None:
    b = Builder(Graph("g"))
    x = b.parameter("x", F32)
    maybe = optional(Abs, wrap_type(Add))
    bare = b.emit(Add(), x, x)
    behind = b.emit(Abs(), bare.output)
    for node, present in ((bare, False), (behind, True)):
        match = maybe.match(node)
        assert match is not None
        assert (maybe in match) is present


def test_either_takes_the_first_alternative_that_matches() -> None:
    first, second = wrap_type((Add, Subtract)), wrap_type(Add)
    pattern = either(first, second)
    _, _, _, total = two_operands(Add())
    match = pattern.match(total.producer)
    assert match is not None
    assert first in match
    assert second not in match


def test_predicates_can_be_combined() -> None:
    _, _, _, total = two_operands(Add())
    node = total.producer
    good = consumers(1) & static_shape() & ~rank_is(2) & (rank_is(1) | rank_is(3))
    assert wrap_type(Add, where=good).match(node) is not None
    assert wrap_type(Add, where=good & element_is(ElementType.I64)).match(node) is None


def test_a_failed_match_has_a_reason() -> None:
    _, _, _, total = two_operands(Add())
    node = total.producer
    assert explain_match(wrap_type(Add), node) == "matches"
    assert "is not Subtract" in explain_match(wrap_type(Subtract), node)
    assert "does not have 3 consumers" in explain_match(wrap_type(Add, where=consumers(3)), node)
    deep = wrap_type(Add, wrap_type(Abs), any_input())
    assert "is not Abs" in explain_match(deep, node)
    assert "2 inputs, not 1" in explain_match(wrap_type(Add, any_input()), node)


def test_untyped_roots_are_tried_at_every_node() -> None:
    log: list[str] = []

    class Anything(MatcherPass):
        name = "anything"

        def pattern(self) -> Pattern:
            return any_input()

        def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
            log.append(match.root.name)
            return False

    GraphRewrite([Anything()]).run(model_of("a", "b"), PassConfig())
    assert log == ["x", "a", "b"]


def test_removing_a_node_keeps_the_name_of_an_output() -> None:
    model = model_of("a", "b")

    class Drop(MatcherPass):
        name = "drop"

        def pattern(self) -> Pattern:
            self.inner = wrap_type(Abs)
            return wrap_type(Abs, self.inner)

        def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
            return rewriter.eliminate(match.root, match[self.inner])

    assert Drop().run(model, PassConfig())
    (only,) = model.graph.nodes
    assert only.name == "b"
    assert not Drop().run(model_of("a"), PassConfig())
