"""IRL802: weights of a recurrent operation have a wrong shape."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import texts
from irloop.formats.openvino.places import at_port, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class WeightShapes(
    Rule,
    code="IRL802",
    severity=Severity.ERROR,
    title="weights of a recurrent operation have a wrong shape",
    requires=("IRL801", "IRL805", "IRL807"),
):
    """W, R or B of a recurrent operation does not match its data and state.

    What it does:
        Compares the declared shapes with the specification for G gates, input size I and
        state size S: W [G*S,I], R [G*S,S], B [G*S] ([4*S] for a GRU with linear_before_reset),
        each with a leading axis of directions in a sequence.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file.
    Bad example:
        a GRUCell with linear_before_reset="true" and a bias of shape [3*S]
    Good example:
        a GRUCell with linear_before_reset="true" and a bias of shape [4*S]
    Fix:
        Correct the constant; when weights come from ONNX, gates and biases must be rearranged.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding for each W, R or B of a recurrent layer that has a wrong shape.

        The expected shape follows from the sizes of the layer's data and state.
        """
        for cell in recurrent.recurrent_layers(context):
            layer = cell.layer
            data = context.operand(cell.net, layer, 0).dims
            state = context.operand(cell.net, layer, 1).dims
            size = state[-1] if state else cell.hidden_size
            width = data[-1] if data else None
            if size is None:
                continue
            rows = cell.gates * size
            shapes = [("W", (rows, width)), ("R", (rows, size)), ("B", (cell.bias_gates * size,))]
            if recurrent.has_joined_weights(context, cell.net, cell.layer):
                joined = None if width is None else width + size
                shapes = [("the weights W and R", (rows, joined)), shapes[-1]]
            for offset, (name, shape) in enumerate(shapes):
                position = cell.first_weight + offset
                wanted = (cell.directions, *shape) if cell.is_sequence else shape
                dims = context.operand(cell.net, layer, position).dims
                if dims is None or position >= len(layer.inputs) or _fits(dims, wanted):
                    continue
                yield self.found(
                    at_port(layer, layer.inputs[position]),
                    f"{name} of {describe(layer)} has a wrong shape",
                    expected=texts.show_dims(wanted),
                    found=texts.show_dims(dims),
                    fix="correct the constant",
                )


def _fits(found: tuple[int | None, ...], wanted: tuple[int | None, ...]) -> bool:
    if len(found) != len(wanted):
        return False
    return all(None in pair or pair[0] == pair[1] for pair in zip(found, wanted, strict=True))
