"""Folds loops that depend only on constants, and constant trip counts and conditions.

The conditions are those of Loops and Ifs. Fault OVN115 is the reason.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import numpy as np

from irloop.analysis.constant_loops import BRANCHES, LOOPS, constant_values
from irloop.analysis.patterns import read_inputs
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.wire_ends import inward
from irloop.errors import IrloopError
from irloop.faults.repair import Known, Repair
from irloop.graph.clone import clone_graph, clone_upstream
from irloop.graph.inference import Inference
from irloop.graph.loops import Invariant
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import has_op
from irloop.passes.base import Callback, ModelPass, Pass
from irloop.passes.common.constant_folding import ConstantFolding
from irloop.passes.common.fold_shapes import FoldShapes
from irloop.passes.folding import RESULT_LIMIT

__all__ = ["FoldConstantLoops", "FoldLoopShapes"]

#: A loop of more iterations than this is left to the engine.
MOST_ITERATIONS = 1000
#: A loop that takes more bytes than this is left to the engine.
MOST_BYTES = 1 << 28

#: Maximum number of seconds for running all loops of a model together.
SECONDS = 10.0


class FoldLoopShapes(FoldShapes):
    """Folds values that depend on nothing but known shapes, in models with loops.

    Given::

        n = Gather(Shape(x [2, 3]), 1)    Loop(4, true, n):  s: n, s' = s + s   -> last s

    Result::

        n = Const 3    Loop(4, true, n):  s: n, s' = s + s   -> last s

    OpenVINO folds these values, too. A loop may then depend on constants only, and OpenVINO fails
    on some of these loops. After this pass, `FoldConstantLoops` finds such loops and folds them.
    The pass changes a copy of the graph.
    """

    name = "fold_loop_shapes"
    keeps_results = False

    def concerns(self, kinds: AbstractSet[type[Op]]) -> bool:
        return any(issubclass(kind, LOOPS) for kind in kinds)

    def run_on_model(self, model: Model) -> bool:
        work = replace(model, graph=clone_graph(model.graph))
        if not super().run_on_model(work):
            return False
        model.graph = work.graph
        return True


class FoldConstantLoops(Repair, ModelPass):
    """Runs loops whose inputs are all constant, and computes constant trip counts and conditions.

    Conditions are computed for both Loops and Ifs.

    Given::

        m = Const 3    h = Const [1, 2]    Loop(m, true, h):  s: h, s' = s + s   -> last s
        Loop(m, Less(2, 1), x):  ...    If(Less(2, 1), x):  ...

    Result::

        Const [8, 16]
        Loop(m, Const false, x):  ...    If(Const false, x):  ...

    A body parameter counts as constant if its captured value is constant. Captured values that the
    body of a loop does not read need not be constant. A loop that needs more than a thousand
    iterations, 256 MB or ten seconds is left as it is. The pass works on a copy of the graph, which
    replaces the original if anything was folded.

    OpenVINO folds such loops, too, but fails if a Loop, or a Loop in its body, runs zero times. It
    also fails if folding shows that a Loop does not start. It replaces an If by the branch that a
    constant selects, and then refuses the model if the branch returns an input of the model.
    """

    name = "fold_constant_loops"
    after = ("empty_values",)

    def had(self, node: Node, known: Known) -> bool:
        return node.name in known.constant

    def on_source(self) -> list[Pass]:
        return [FoldLoopShapes(), FoldConstantLoops()]

    def concerns(self, kinds: AbstractSet[type[Op]]) -> bool:
        return any(issubclass(kind, (*LOOPS, *BRANCHES)) for kind in kinds)

    def run_on_model(self, model: Model) -> bool:
        work = replace(model, graph=clone_graph(model.graph))
        folding = _Folding(work, self.transformation_callback, time.monotonic() + SECONDS)
        if not folding.run(work.graph, {}):
            return False
        # A folded result may decide a branch, or make the inputs of another loop constant.
        while ConstantFolding().run(work, self.config) and folding.run(work.graph, {}):
            pass
        model.graph = work.graph
        return True


class _Folding:
    """Folds the loops of one model until a time limit is reached."""

    def __init__(self, model: Model, leave: Callback, end: float) -> None:
        self._model = model
        self._leave = leave
        self._end = end

    def run(self, graph: Graph, known: Mapping[Value, Tensor]) -> bool:
        """Fold the loops of a graph, then those of its bodies; return whether any was folded.

        `known` holds the values of the graph's parameters that are constant. A trip count or
        condition that is constant is folded, too.
        """
        if not has_op(graph, *LOOPS, *BRANCHES):
            return False
        rewriter = Rewriter(graph)
        constant = constant_values(graph, known)
        for node in graph.nodes:
            if not node.outputs or self._leave(node):
                continue
            if isinstance(node.op, BRANCHES):
                self._fold_inputs(node, ("condition",), constant, known, rewriter)
            elif isinstance(node.op, LOOPS) and constant.issuperset(node.outputs):
                self._fold_loop(node, known, rewriter)
            elif isinstance(node.op, ov.Loop | onnx.Loop):
                self._fold_inputs(node, ("trip", "condition"), constant, known, rewriter)
        constant = constant_values(graph, known)
        for node in graph.nodes:
            for body in node.bodies:
                captured = self._captured(node, body, constant, known)
                rewriter.modified |= self.run(body.graph, captured)
        return rewriter.modified

    def _fold_loop(self, node: Node, known: Mapping[Value, Tensor], rewriter: Rewriter) -> None:
        tensors = self._outputs(node, known)
        if tensors is not None:
            made = [rewriter.insert_constant(t, before=node, name=node.name) for t in tensors]
            rewriter.replace_node(node, made)

    def _fold_inputs(
        self,
        node: Node,
        names: Sequence[str],
        constant: AbstractSet[Value],
        known: Mapping[Value, Tensor],
        rewriter: Rewriter,
    ) -> None:
        """Replace computed inputs of a node by constants, if their values are known.

        `names` are the names of the first inputs, for example the trip count and the condition of a
        Loop; only these inputs are replaced.
        """
        for position, (what, value) in enumerate(zip(names, node.inputs, strict=False)):
            if value is None or value not in constant:
                continue
            if isinstance(value.producer.op, Constant):
                continue
            tensor = self._tensor(value, known)
            if tensor is not None:
                made = rewriter.insert_constant(tensor, before=node, name=f"{node.name}/{what}")
                rewriter.set_input(node, position, made)

    def _captured(
        self,
        node: Node,
        body: Body,
        constant: AbstractSet[Value],
        known: Mapping[Value, Tensor],
    ) -> dict[Value, Tensor]:
        """Return the constant value of each body parameter that receives a constant.

        The result is empty if the body contains no loop or If, because there is nothing to fold
        then.
        """
        if not has_op(body.graph, *LOOPS, *BRANCHES):
            return {}
        captured = {}
        for port, _, outer, parameter, _ in inward(node, body):
            if isinstance(port, Invariant) and outer is not None and outer in constant:
                tensor = self._tensor(outer, known)
                if tensor is not None:
                    captured[parameter] = tensor
        return captured

    def _tensor(self, value: Value, known: Mapping[Value, Tensor]) -> Tensor | None:
        if value in known:
            return known[value]
        if isinstance(value.producer.op, Constant):
            return value.producer.op.tensor
        tensors = self._outputs(value.producer, known)
        return None if tensors is None else tensors[value.index]

    def _outputs(self, node: Node, known: Mapping[Value, Tensor]) -> list[Tensor] | None:
        """Compute the outputs of a node from the constants in `known`.

        The result is None if the computation fails, takes too much memory or time, or has an output
        that cannot be stored as a constant.
        """
        # Import the executor only here: most models have no such node, and the import takes longer
        # than converting a small model.
        from irloop.execution.limits import Limits
        from irloop.execution.session import Session

        seconds = self._end - time.monotonic()
        if seconds <= 0:
            return None
        unread = _placeholders(node, known.keys())
        if unread is None:
            return None
        graph = clone_upstream(node, {**known, **unread})
        try:
            # An ONNX file need not declare the types of inner values, so infer them.
            Inference().run(graph)
            session = Session(replace(self._model, graph=graph))
            limits = Limits(MOST_ITERATIONS, MOST_BYTES, seconds)
            arrays = session.run((), limits=limits).values()
        except IrloopError:  # the node is left unchanged; the engine reports the reason
            return None
        tensors: list[Tensor] = []
        for array, value in zip(arrays, graph.outputs, strict=True):
            type = value.type
            if not isinstance(array, np.ndarray) or not isinstance(type, TensorType):
                return None
            if array.nbytes > RESULT_LIMIT or type.element.bits < 8:
                return None
            if array.dtype != type.element.numpy():
                return None
            tensors.append(ArrayTensor(array, type.element))
        return tensors


def _placeholders(node: Node, known: AbstractSet[Value]) -> dict[Value, Tensor] | None:
    """Make zeros for values that are passed to a loop, but that its bodies do not read.

    The executor needs an array for each of these values. The loops in question are `node` and all
    loops from which its inputs are computed. Values that are in `known`, or that one of the nodes
    reads elsewhere, get no zeros. The result is None if zeros cannot be made for the type of a
    value.
    """
    read, unread, left = set(known), set[Value](), [node]
    while left:
        one = left.pop()
        needed = read_inputs(one)
        unread.update(value for value in one.inputs if value is not None and value not in needed)
        left += [value.producer for value in needed if value not in read]
        read.update(needed)
    zeros: dict[Value, Tensor] = {}
    for value in unread - read:
        if not isinstance(value.type, TensorType):
            return None
        element = value.type.element
        if element in (ElementType.DYNAMIC, ElementType.STRING) or element.bits < 8:
            return None
        dims = tuple(dim if isinstance(dim, int) else 1 for dim in value.type.shape.dims or ())
        zeros[value] = ArrayTensor(np.zeros(dims, element.numpy()), element)
    return zeros
