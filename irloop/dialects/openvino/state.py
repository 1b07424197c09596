"""Variables in OpenVINO, which keep their value from one inference to the next.

The results of ReadValue and Assign are not a function of their inputs. Therefore these operations
have no kernel, and the executor runs them itself.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_SHAPE, ElementType, Shape, TensorType, ValueType

__all__ = ["Assign", "Assign6", "ReadValue", "ReadValue6"]


class ReadValue(OpenVinoOp, type="ReadValue", since=3, inputs=1):
    """The value of a variable; before the first Assign, the value of the input (ReadValue-3)."""

    operands = "initial value: any -> any"

    variable_id: str
    pure: ClassVar[bool] = False

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)


class ReadValue6(OpenVinoOp, type="ReadValue", since=6, inputs=(0, 1)):
    """The value of a variable; before the first Assign, the value of the input (ReadValue-6).

    Without an input, the initial value is zeros. The attributes tell the type of the variable.
    """

    operands = "initial value?: any -> any"

    variable_id: str
    variable_type: ElementType = ElementType.DYNAMIC
    variable_shape: Shape = UNKNOWN_SHAPE
    pure: ClassVar[bool] = False

    def infer(self, args: Arguments) -> list[ValueType]:
        declared = TensorType(self.variable_type, self.variable_shape)
        if not args.has(0):
            return [declared]
        initial = args.tensor(0)
        if self.variable_type is ElementType.DYNAMIC:
            return [initial]
        if initial.element not in (self.variable_type, ElementType.DYNAMIC):
            raise args.error(
                "the initial value has the wrong type", str(declared), str(initial), kind="elements"
            )
        if initial.shape.refine(self.variable_shape) is None:
            raise args.error("the initial value has the wrong shape", str(declared), str(initial))
        # The shape of the variable may change from run to run, so only the declared type is
        # certain.
        return [declared]


class Assign(OpenVinoOp, type="Assign", since=3, inputs=1):
    """Sets a variable and returns its new value (Assign-3)."""

    operands = "new value: any -> any"

    variable_id: str
    pure: ClassVar[bool] = False

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)[: args.n_outputs]


class Assign6(OpenVinoOp, type="Assign", since=6, inputs=1):
    """Sets a variable and returns its new value (Assign-6).

    The attributes tell the type of the variable.
    """

    operands = "new value: any -> any"

    variable_id: str
    variable_type: ElementType = ElementType.DYNAMIC
    variable_shape: Shape = UNKNOWN_SHAPE
    pure: ClassVar[bool] = False

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)[: args.n_outputs]
