"""A copy of a model around the faults that engines have with loops.

Engines go wrong where the body of a loop returns its own input, or one value twice: they hand on
memory that something else is written to. OpenVINO also takes other slices than a range says that
begins or ends inside an axis. In the twin every body result is a copy of its own, and bodies of an
IR gather their slices themselves. The twin computes the same by the specification, so an engine
that gives something else for it than for the model has such a fault.
"""

from __future__ import annotations

from irloop.dialects.onnx.convert import Identity
from irloop.dialects.openvino.comparison import LogicalOr
from irloop.dialects.openvino.elementwise import Maximum
from irloop.graph.clone import clone_model
from irloop.graph.model import Model, Value
from irloop.graph.op import Op
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, TensorType
from irloop.graph.walk import all_nodes
from irloop.passes.common.slice_to_gather import SliceToGather
from irloop.passes.common.tensor_iterator_to_loop import TensorIteratorToLoop
from irloop.passes.manager import Manager

__all__ = ["TWIN_OPTIONS", "safe_twin"]

#: How each engine runs the twin: optimisation would take the copies away again.
TWIN_OPTIONS = {"onnxruntime": {"optimization": "none"}}


def safe_twin(model: Model) -> Model | None:
    """The model around such faults; None where it has no bodies.

    Raises:
        IrloopError: when a loop cannot be written so.
    """
    twin = clone_model(model)
    if model.dialect == "openvino":
        Manager([TensorIteratorToLoop(), SliceToGather()]).run_passes(twin)
    bodies = [body.graph for node in all_nodes(twin.graph) for body in node.bodies]
    for graph in bodies:
        rewriter = Rewriter(graph)
        for result in graph.results:
            (value,) = result.inputs
            op = None if value is None else _copy(value, model.dialect)
            if value is None or op is None:
                continue
            inputs = (value,) if model.dialect == "onnx" else (value, value)
            name = f"{result.name}/copy"
            node = rewriter.insert(op, inputs, before=None, name=name, types=(value.type,))
            rewriter.set_input(result, 0, node.output)
    return twin if bodies else None


def _copy(value: Value, dialect: str) -> Op | None:
    """An operation that gives what it takes and that no engine takes away."""
    if dialect == "onnx":
        return Identity()
    if not isinstance(value.type, TensorType) or value.type.element is ElementType.STRING:
        return None
    return LogicalOr() if value.type.element is ElementType.BOOLEAN else Maximum()
