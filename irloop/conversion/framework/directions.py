"""The conversions of both directions, with which rules write."""

from __future__ import annotations

from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx.control_flow import Loop
from irloop.dialects.onnx.convert import Identity
from irloop.dialects.wire_ends import LAST, STATE, stacked_port
from irloop.dialects.wires import Wires
from irloop.dialects.writing.onnx_writer import OnnxWriter
from irloop.dialects.writing.openvino_writer import OpenVinoWriter
from irloop.graph.model import Value
from irloop.graph.types import ElementType, Shape, TensorType

__all__ = ["Export", "Import"]


class Export(Conversion, OnnxWriter):
    """A conversion to ONNX: the argument `c` of the rules that `exports` registers."""

    def iteration_numbers(self, count: Value) -> Value:
        inner = self.nested("numbers")
        wires, truth = Wires(inner.graph, self.location), ElementType.BOOLEAN
        iteration = wires.number(inner.names.fresh("iteration"))
        wires.running = inner.parameter("condition_in", TensorType(truth, Shape(())))
        number = inner(Identity(), iteration)
        wires.trip, wires.starts = count, self.constant(True, truth)
        wires.goes_on = inner.constant(True, truth)
        # Without NonZero there is no Loop without a state either.
        zero = self.i64(0)
        unused = wires.enter(zero, inner.names.fresh("unused"), STATE, zero.type)
        unused.result = inner(Identity(), unused.parameter)
        wires.leave(unused.result, LAST, unused)
        numbers = wires.leave(number, stacked_port())
        wires.emit(self, Loop())
        return numbers.output


class Import(Conversion, OpenVinoWriter):
    """A conversion to OpenVINO: the argument `c` of the rules that `imports` registers."""
