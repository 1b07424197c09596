"""What `decompose` writes with: the vocabulary of ONNX, for a graph or for arrays.

An operation's `decompose` emits standard operations. A `Steps` either runs each of them on
arrays (the kernel, `arrays`), or appends it as a node to a new graph (import to IR, rewriting as
standard ONNX, `nodes`), so that the operation is defined in one place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from irloop.dialects.onnx.base import ONNX
from irloop.dialects.writing.onnx_writer import OnnxWriter
from irloop.graph.model import Value

__all__ = ["ScanBody", "Steps", "WriteOut"]


class Steps(OnnxWriter):
    """Emits the standard operations of which an operation of ONNX Runtime consists.

    `n_outputs` is the number of outputs of the decomposed operation. `is_graph` is true if
    operations become nodes and constants are stored in a graph.
    """

    is_graph: ClassVar[bool] = False
    n_outputs: int

    @abstractmethod
    def scan(
        self,
        body: ScanBody,
        states: Sequence[Value],
        elements: Sequence[Value],
        fixed: Sequence[Value],
        *,
        reverse: bool,
    ) -> tuple[list[Value], Value]:
        """Call `body` for each position along axis 0 of the elements, from the last if `reverse`.

        `body` takes the decomposition to emit with, the states, the elements at the position, and
        the fixed values; it must not use other values. It returns the next states, of the same
        types, and an output of the shape of the first state. `scan` returns the last states, and
        the outputs stacked by position.
        """

    def op(self, type: str, *inputs: Value | None, **attributes: Any) -> Value:
        """Emit an operation of ai.onnx that has no verb, and return its only (or first) output."""
        return self.ops(type, *inputs, n_outputs=1, **attributes)[0]

    def ops(
        self, type: str, *inputs: Value | None, n_outputs: int, **attributes: Any
    ) -> Sequence[Value]:
        """Emit the operation `type` of ai.onnx in the version of the opset; return its outputs.

        Raises:
            RefusedError: when the opset does not have the operation.
        """
        cls = ONNX.find(type, self.opset)
        if cls is None:
            raise self.refuse(f"it needs {type}, which opset {self.opset} of ai.onnx does not have")
        return self.emit(cls(**attributes), *inputs, n_outputs=n_outputs).outputs


#: One iteration of a scan: maps a decomposition, states, elements and fixed values to the next
#: states and an output.
ScanBody = Callable[
    [Steps, Sequence[Value], Sequence[Value], Sequence[Value]],
    tuple[Sequence[Value], Value],
]

#: A function that decomposes an operation: maps its inputs (None if omitted) to its outputs.
WriteOut = Callable[[Steps, Sequence[Value | None]], Sequence[Value | None]]
