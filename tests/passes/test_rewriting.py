"""Rewriting keeps names, tensor names, runtime information and constants automatically."""

from __future__ import annotations

import numpy as np
import pytest

from irloop.dialects.openvino.elementwise import Abs, Add, Multiply, Tanh
from irloop.dialects.openvino.slicing import Split
from irloop.errors import UsageError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model, Node
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import DynamicDim, ElementType, Shape, TensorType
from irloop.passes import (
    Manager,
    Match,
    MatcherPass,
    MatchRewriter,
    Pattern,
    any_input,
    copy_info,
    explain_match,
    wrap_type,
)
from irloop.passes.predicates import element_is, output_index, shape_is, static_dims

F32 = TensorType(ElementType.F32, Shape.of(2))


def node_of(model: Model, name: str) -> Node:
    return next(node for node in model.graph.nodes if node.name == name)


def chain(*names: str) -> Model:
    """A model x -> Abs nodes with these names, each with runtime information and a tensor name ->
    out
    """
    b = Builder(Graph("g"))
    value = b.parameter("x", F32)
    for name in names:
        value = b(Abs(), value, name=name)
        value.names = (f"tensor_{name}",)
        value.producer.info = {f"from_{name}": name}
    b.result(value, "out")
    return Model(b.graph, "openvino", 11)


class OneToOne(MatcherPass):
    name = "one_to_one"

    def pattern(self) -> Pattern:
        return wrap_type(Abs)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root = match.root
        new = rewriter.insert(Tanh(), root.inputs, before=root, name="new")
        rewriter.replace_node(root, new.outputs)
        return True


class OneToMany(OneToOne):
    name = "one_to_many"

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root = match.root
        first = rewriter.insert(Tanh(), root.inputs, before=root, name="first")
        second = rewriter.insert(Tanh(), first.outputs, before=root, name="second")
        rewriter.replace_node(root, second.outputs)
        return True


class ManyToOne(OneToOne):
    name = "many_to_one"

    def pattern(self) -> Pattern:
        self.x = any_input()
        return wrap_type(Abs, wrap_type(Abs, self.x))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        new = rewriter.insert(Tanh(), (match[self.x],), before=match.root, name="new")
        rewriter.replace_node(match.root, new.outputs)
        return True


class ManyToMany(ManyToOne):
    name = "many_to_many"

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root = match.root
        first = rewriter.insert(Tanh(), (match[self.x],), before=root, name="first")
        second = rewriter.insert(Tanh(), first.outputs, before=root, name="second")
        rewriter.replace_node(root, second.outputs)
        return True


def test_one_node_for_one_keeps_everything() -> None:
    model = chain("a")
    assert Manager([OneToOne()], check=True).run_passes(model)
    (new,) = model.graph.nodes
    assert (new.name, new.op) == ("a", Tanh())
    assert new.output.names == ("tensor_a",)
    assert new.info == {"from_a": "a"}


def test_one_of_several_new_nodes_gets_the_name_and_all_get_the_information() -> None:
    model = chain("a")
    assert Manager([OneToMany()], check=True).run_passes(model)
    assert [node.name for node in model.graph.nodes] == ["first", "a"]
    assert [node.output.names for node in model.graph.nodes] == [(), ("tensor_a",)]
    assert [node.info for node in model.graph.nodes] == [{"from_a": "a"}] * 2


def test_one_node_for_several_has_the_name_of_the_root_and_the_information_of_all() -> None:
    model = chain("a", "b")
    assert Manager([ManyToOne()], check=True).run_passes(model)
    (new,) = model.graph.nodes
    assert new.name == "b"
    assert new.output.names == ("tensor_b",)
    assert new.info == {"from_a": "a", "from_b": "b"}


def test_several_nodes_for_several_have_the_information_of_all() -> None:
    model = chain("a", "b")
    assert Manager([ManyToMany()], check=True).run_passes(model)
    assert [node.name for node in model.graph.nodes] == ["first", "b"]
    assert [node.info for node in model.graph.nodes] == [{"from_a": "a", "from_b": "b"}] * 2


def test_a_matched_node_that_others_read_stays_and_keeps_its_information() -> None:
    model = chain("a", "b")
    model.graph.add_result(node_of(model, "a").output, "second_out")
    assert Manager([ManyToOne()], check=True).run_passes(model)
    assert [node.name for node in model.graph.nodes] == ["a", "b"]
    assert node_of(model, "b").info == {"from_b": "b"}


class TwoForSplit(MatcherPass):
    """Replaces a Split by one node per output."""

    name = "two_for_split"

    def pattern(self) -> Pattern:
        return wrap_type(Split)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root, x = match.root, match.root.inputs[:1]
        made = [rewriter.insert(Tanh(), x, before=root, name="new") for _ in root.outputs]
        rewriter.replace_node(root, [node.output for node in made])
        return True


def test_nodes_for_one_with_several_outputs_are_numbered() -> None:
    b = Builder(Graph("g"))
    split = b.emit(Split(2), b.parameter("x", F32), b.i64(0), n_outputs=2, name="s")
    b.result(b(Add(), *split.outputs, name="sum"), "out")
    model = Model(b.graph, "openvino", 11)
    assert Manager([TwoForSplit()], validate=False, check=True).run_passes(model)
    # The axis was a constant that only the Split read, so it was removed.
    assert [node.name for node in model.graph.nodes] == ["s.0", "s.1", "sum"]


def test_copied_information_replaces_that_of_other_targets() -> None:
    model = chain("a", "b", "c")
    a, b, c = model.graph.nodes
    copy_info([a, b], [b, c])
    assert b.info == c.info == {"from_a": "a", "from_b": "b"}


class Scaled(MatcherPass):
    """|x| -> x * (2 * 3), in which the product is folded."""

    name = "scaled"

    def pattern(self) -> Pattern:
        self.x = any_input()
        return wrap_type(Abs, self.x)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        root = match.root
        two, three = (
            rewriter.insert(Constant(_scalar(number)), (), before=root, name="k").output
            for number in (2, 3)
        )
        product = rewriter.insert(Multiply(), (two, three), before=root, name="product").output
        folded = rewriter.fold(product)
        assert rewriter.fold(match[self.x]) is match[self.x]
        new = rewriter.insert(Multiply(), (match[self.x], folded), before=root, name="new")
        rewriter.replace_node(root, new.outputs)
        return True


def _scalar(number: int) -> ArrayTensor:
    return ArrayTensor(np.array(number, np.float32), ElementType.F32)


def test_constants_that_a_callback_computes_with_are_folded() -> None:
    model = chain("a")
    assert Manager([Scaled()], check=True).run_passes(model)
    product = node_of(model, "a").inputs[1]
    assert product is not None
    assert isinstance(product.producer.op, Constant)
    np.testing.assert_array_equal(product.producer.op.tensor.numpy(), np.float32(6))


def test_constants_are_made_of_arrays_numbers_and_lists() -> None:
    rewriter = Rewriter(chain("a").graph)
    for data, element, wanted in (
        (np.array([1.0, 2.0]), None, "f64[2]"),
        (3, None, "i64[]"),
        ([1.5, 2], None, "f32[2]"),
        ([[1], [0]], "u8", "u8[2,1]"),
        (True, "boolean", "boolean[]"),
    ):
        made = rewriter.insert_constant(data, before=None, name="c", element=element)
        assert str(made.type) == wanted
        assert isinstance(made.producer.op, Constant)
        np.testing.assert_array_equal(made.producer.op.tensor.numpy(), data)
    for wrong in ({"a": 1}, [[1], [1, 2]], object()):
        with pytest.raises(UsageError, match="a constant"):
            rewriter.insert_constant(wrong, before=None, name="c")
    with pytest.raises(UsageError, match="do not fit u8"):
        rewriter.insert_constant(-1, before=None, name="c", element="u8")


def test_element_types_in_patterns_have_their_names() -> None:
    node = node_of(chain("a"), "a")
    assert wrap_type(type(node.op), where=element_is("f32")).match(node) is not None
    assert wrap_type(type(node.op), where=element_is("f16", "i8")).match(node) is None
    with pytest.raises(UsageError, match="no element type 'float32'") as caught:
        element_is("float32")
    assert "f32" in str(caught.value)


def test_shapes_in_patterns_may_name_dimensions_that_must_be_equal() -> None:
    b = Builder(Graph("g"))
    batch = DynamicDim(symbol="batch")
    square, oblong, unknown = (
        b(Abs(), b.parameter("x", TensorType(ElementType.F32, Shape(dims)))).producer
        for dims in ((3, 3, batch), (3, 4, batch), (DynamicDim(), DynamicDim(), batch))
    )
    same = wrap_type(Abs, where=shape_is("n", "n", None))
    assert same.match(square) is not None
    assert same.match(oblong) is None
    assert same.match(unknown) is None
    assert wrap_type(Abs, where=shape_is("n", "m", "b")).match(unknown) is not None
    assert wrap_type(Abs, where=static_dims(0, 1)).match(oblong) is not None
    assert "known dimensions [0, -1]" in explain_match(
        wrap_type(Abs, where=static_dims(0, -1)), oblong
    )


def test_a_pattern_may_name_one_of_several_outputs() -> None:
    b = Builder(Graph("g"))
    split = b.emit(Split(2), b.parameter("x", F32), b.i64(0), n_outputs=2, name="s")
    first, second = (b(Abs(), value).producer for value in split.outputs)
    pattern = wrap_type(Abs, wrap_type(Split, where=output_index(1)))
    assert pattern.match(first) is None
    assert pattern.match(second) is not None
