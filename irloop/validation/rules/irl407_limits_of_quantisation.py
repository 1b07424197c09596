"""IRL407: limits of a FakeQuantize that leave no numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_port, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule

#: Maximum number of channels whose limits are read.
CHANNELS = 4096

_NAMES = ("input_low", "input_high", "output_low", "output_high")


class LimitsOfQuantisation(
    Rule,
    code="IRL407",
    severity=Severity.WARNING,
    title="limits of a FakeQuantize that leave no numbers",
    requires=("IRL406",),
):
    """A constant limit of a FakeQuantize is not finite, or its two input limits are equal.

    What it does:
        Reads the constants that are the four limits of each FakeQuantize, if they have at most 4096
        elements.
    Why is this bad:
        OpenVINO accepts the file. If an input limit is infinite or nan, its CPU plugin returns nan
        or the same number for all data; if an output limit is infinite, it returns numbers of 1e34.
        Where the two input limits are equal, the specification defines the result, but the plugin
        divides by their difference and returns nan in the whole channel. It returns zeros if all
        four limits are 0 everywhere.
    Bad example:
        the limits 0 and 0 of a channel that was always 0 during calibration
    Good example:
        the limits 0 and 0.0001 of this channel
    Fix:
        Find out why the tool that quantised the model measured this range; write a small range for
        data that never change.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield at most one finding for each FakeQuantize, for the first unusable limit.

        A limit is unusable if it is not finite. If all limits are finite, input_low and input_high
        must not be equal in any element, unless all limits are 0.
        """
        for index, layer in context.layers("fakequantize"):
            limits = [
                context.operand_value(index, layer, position, CHANNELS) for position in range(1, 5)
            ]
            bad = _first_infinite(limits)
            if bad is not None:
                limit, number = bad
                yield self.found(
                    at_port(layer, layer.inputs[limit + 1]),
                    f"{_NAMES[limit]} of {describe(layer)} is {number}",
                    expected="finite numbers",
                    found=str(number),
                    cause="the range that was measured when the model was quantised is not finite",
                    fix="correct the measured range",
                )
                continue
            equal = _first_equal(limits)
            if equal is not None:
                channel, number = equal
                yield self.found(
                    at_port(layer, layer.inputs[2]),
                    f"input_low and input_high of {describe(layer)} are both {number}",
                    expected="input_low < input_high",
                    found=f"{number} at element {channel}",
                    cause="the data did not change when the model was calibrated",
                    fix="write a small range, such as 0 to 0.0001",
                )


def _first_infinite(limits: Sequence[tuple[float, ...] | None]) -> tuple[int, float] | None:
    """Return the index of the first limit with an element that is not finite, and that element.

    Returns None if all elements are finite. Limits that are not known (None) are skipped.
    """
    for index, limit in enumerate(limits):
        for number in limit or ():
            if not math.isfinite(number):
                return index, number
    return None


def _first_equal(limits: Sequence[tuple[float, ...] | None]) -> tuple[int, float] | None:
    """Return the index and the value of the first element in which both input limits are equal.

    `limits` starts with the two input limits. Returns None if there is no such element, if an input
    limit is not known (None), if the two cannot be broadcast together, or if all known limits are
    0.
    """
    low, high = limits[:2]
    if low is None or high is None or not any(number for limit in limits for number in limit or ()):
        return None
    count = max(len(low), len(high))
    if {len(low), len(high)} - {1, count}:
        return None
    for index in range(count):
        number = low[index % len(low)]
        if number == high[index % len(high)]:
            return index, number
    return None
