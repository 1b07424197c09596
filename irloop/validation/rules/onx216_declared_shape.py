"""ONX216: declared shape differs from the computed one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.model import Node
from irloop.graph.op import UnknownOp
from irloop.graph.types import Shape, TensorType, ValueType, differ_in_shape, tensor_within
from irloop.graph.walk import node_path
from irloop.validation.onnx_context import OnnxContext, at_path
from irloop.validation.rule import OnnxRule


class DeclaredShape(
    OnnxRule,
    code="ONX216",
    severity=Severity.ERROR,
    title="declared shape differs from the computed one",
    requires=("ONX201", "ONX206", "ONX207"),
):
    """An output, or a value in `value_info`, is declared with a different shape than it has.

    What it does:
        Compares the declared shapes with the inferred ones; in the body of a loop, with those of
        the first iteration. Unknown ranks and dimensions agree with everything. Another rank is a
        warning: many files declare a scalar where they mean an unknown shape, and engines accept
        it. In bodies every difference is a warning. How many values a Loop joins is not compared.
    Why is this bad:
        onnx.checker (full check) refuses the model ("Inferred shape and existing shape differ in
        dimension 0: (32) vs (800)"). ONNX Runtime warns, and allocates the memory of some values as
        declared.
    Bad example:
        float[2,3] x, and float[3,3] y = Relu (x)
    Good example:
        float[2,3] x, and float[2,3] y = Relu (x)
    Fix:
        Correct the declaration, or remove it from value_info.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding per value whose declared shape contradicts the computed one."""
        for graph in context.inferred_graphs:
            for node in graph.nodes:
                if isinstance(node.op, UnknownOp):
                    continue
                for value in node.outputs:
                    declared = tensor_within(context.declared_type(value))
                    computed = tensor_within(value.type)
                    if not differ_in_shape(declared, computed) or _is_left_open(
                        node, declared, computed
                    ):
                        continue
                    path = node_path(node)
                    name = value.names[0] if value.names else path
                    finding = self._of(path, name, declared, computed)
                    in_body = graph.owner is not None
                    yield replace(finding, severity=Severity.WARNING) if in_body else finding
        for name, other, own in context.declared_again:
            if differ_in_shape(other, own):
                yield self._of(name, name, other, own)

    def _of(self, path: str, name: str, declared: ValueType, computed: ValueType) -> Diagnostic:
        assert isinstance(declared, TensorType)
        assert isinstance(computed, TensorType)
        finding = self.found(
            at_path(path),
            f"{name!r} is declared with another shape than it has",
            expected=str(computed.shape),
            found=str(declared.shape),
            fix="correct the declaration",
        )
        if declared.shape.rank == computed.shape.rank:
            return finding
        return replace(finding, severity=Severity.WARNING)


def _is_left_open(node: Node, declared: ValueType, computed: ValueType) -> bool:
    """Return whether no engine computes what the declaration of a Loop's output contradicts.

    This is the number of joined values, which follows from the trip count, and the rank (ONX308).
    """
    if node.op.type != "Loop":
        return False
    assert isinstance(declared, TensorType)
    assert isinstance(computed, TensorType)
    if declared.shape.rank != computed.shape.rank:
        return True
    return _differ_in_length(declared, computed)


def _differ_in_length(declared: TensorType, computed: TensorType) -> bool:
    """Return whether two shapes differ only in the first axis, along which a Loop joins values."""
    left, right = declared.shape.dims, computed.shape.dims
    if not left or not right:
        return False
    return Shape(left[1:]).refine(Shape(right[1:])) is not None
