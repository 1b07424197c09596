"""Replaces operations of ONNX Runtime by standard ONNX operations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.nodes import decomposed
from irloop.dialects.contrib.terms import CannotDecomposeError
from irloop.errors import InferenceError, UsageError
from irloop.graph.inference import Inference, NodeArguments
from irloop.graph.model import Graph, Model, Node
from irloop.graph.op import Constant
from irloop.graph.walk import all_nodes
from irloop.passes.base import PassConfig
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.options import option
from irloop.passes.written_out import replace_by_graph

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Standardize", "why_not"]

#: The opset of ai.onnx for a model that does not import ai.onnx.
OPSET_OF_NONE = 17


@dataclass(eq=False)
class Standardize(NodePass):
    """Replaces operations of ONNX Runtime (domain com.microsoft) by standard ONNX operations.

    Given::

        y = com.microsoft.BiasGelu(x, b)

    Result (opset 20)::

        y = Gelu(x + b)

    Operations that standard operations cannot compute are not replaced, nor are operations whose
    inputs have an unknown rank or element type.
    """

    name = "standardize"
    dialects = frozenset({"onnx"})

    opset: int = option(0, "the opset of ai.onnx to use; 0 means the opset of the model")

    def __post_init__(self) -> None:
        if self.opset < 0:
            raise UsageError(f"there is no opset {self.opset}", expected="0 or more")

    operations = (ContribOp,)

    def run(self, model: Model, config: PassConfig) -> bool:
        modified = super().run(model, config)
        if modified and self.opset == 0:
            _import_standard(model, model.opsets.get("", OPSET_OF_NONE))
        return modified

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        written = _written_out(node, w.rewriter.inference, self.opset or w.opset or OPSET_OF_NONE)
        if not isinstance(written, str):
            inputs = [value for value in node.inputs if value is not None]
            replace_by_graph(node, written[0], inputs, written[1], w.rewriter)


def _import_standard(model: Model, opset: int) -> None:
    """Import `opset` of ai.onnx, unless the model imports ai.onnx already.

    Also remove the import of com.microsoft if no operation of this domain is left.
    """
    used = {node.op.domain for node in all_nodes(model.graph)}
    used |= {getattr(node.op, "op_domain", "") for node in all_nodes(model.graph)}
    if ContribOp.domain not in used:
        model.opsets.pop(ContribOp.domain, None)
    model.opsets.setdefault("", opset)


def why_not(node: Node, inference: Inference, opset: int = OPSET_OF_NONE) -> str:
    """Return the reason why an ONNX Runtime operation cannot be decomposed, or "" if it can.

    A decomposition consists of standard ONNX operations of the given `opset` of ai.onnx.
    """
    made = _written_out(node, inference, opset)
    return made if isinstance(made, str) else ""


def _written_out(node: Node, inference: Inference, opset: int) -> tuple[Graph, list[int]] | str:
    """Decompose the node into a graph of standard operations.

    Returns the graph, and the positions of those outputs of the node that the graph computes. If
    the node cannot be decomposed, returns the reason instead.
    """
    op = node.op
    assert isinstance(op, ContribOp)
    types = [None if value is None else value.type for value in node.inputs]
    known = NodeArguments(node, inference).constant

    def constant(position: int) -> Array | None:
        value = node.inputs[position]
        own = None if value is None else value.producer.op
        return own.tensor.numpy() if isinstance(own, Constant) else known(position)

    try:
        graph, operands = decomposed(
            op.written_out, types, len(node.outputs), opset, constant, node.name, op.oldest
        )
    except CannotDecomposeError as error:
        return str(error)
    except InferenceError as error:
        return error.message
    lacking = [
        value.index for value in node.outputs if value.is_used and value.index not in operands
    ]
    if lacking:
        return f"ONNX Runtime does not compute output {lacking[0]}"
    return graph, operands
