"""The wiring of a body to the operation that owns it: port maps and back edges as typed records.

All numbers are positions, never identifiers of a file format: `external` counts the inputs (or
outputs) of the owning node, `parameter` the parameters of the body, `result` its results.

==================  =====================================================================
record              meaning
==================  =====================================================================
`Invariant`         the same outer value in every iteration (a captured value in ONNX)
`Carried`           starts from an outer value, then holds the body result of its back edge
`Sliced`            IR: iteration i sees slice i of an axis; the axis stays, of size `part_size`
`ScanInput`         ONNX Scan: iteration i sees element i of an axis; the axis is dropped
`LastValue`         the value of a body result after the last iteration
`Concatenated`      IR: the results of all iterations, concatenated along an existing axis
`ScanOutput`        ONNX: the results of all iterations, stacked along a new axis
==================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field

from irloop.graph.record import Record

__all__ = [
    "Carried",
    "Concatenated",
    "InputPort",
    "Invariant",
    "LastValue",
    "OutputPort",
    "PortMap",
    "ScanInput",
    "ScanOutput",
    "Sliced",
]


class Invariant(Record):
    """Body parameter `parameter` is outer input `external` in every iteration."""

    external: int
    parameter: int


class Carried(Record):
    """A state: it starts from `external`, and a back edge carries its next value.

    The next value is body result `result`.
    """

    external: int
    parameter: int
    result: int


class Sliced(Record):
    """Slices of input `external` along `axis`; they keep the axis.

    `start` and `end` bound the range, counted as in OpenVINO: with N elements, a negative value v
    means N + 1 + v, so 0..-1 is the whole axis. With a negative `stride` the first slice is at the
    end. A Loop ignores the range: its slices start at an end of the axis.
    """

    external: int
    parameter: int
    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1


class ScanInput(Record):
    """The elements of input `external` along `axis`, one per iteration, without that axis.

    With `reverse` the last element comes first.
    """

    external: int
    parameter: int
    axis: int = 0
    reverse: bool = False


class LastValue(Record):
    """Output `external` is body result `result` after the last iteration."""

    result: int
    external: int


class Concatenated(Record):
    """Output `external` joins body result `result` of all iterations along `axis`.

    With a negative `stride` the parts are joined in reverse order: the part of iteration 0 comes
    last. `start` and `end` determine the number of iterations of a TensorIterator that slices no
    input.
    """

    result: int
    external: int
    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1


class ScanOutput(Record):
    """Output `external` stacks body result `result` of all iterations along a new `axis`."""

    result: int
    external: int
    axis: int = 0
    reverse: bool = False


InputPort = Invariant | Carried | Sliced | ScanInput
OutputPort = LastValue | Concatenated | ScanOutput


@dataclass(frozen=True, slots=True)
class PortMap:
    """All connections between one body and the node that owns it.

    `iteration` is the position of the body parameter that receives the iteration number, and
    `condition` the position of the body result that decides whether another iteration follows. Each
    of them is None if the operation has no such value or the body does not use it.
    """

    inputs: tuple[InputPort, ...] = ()
    outputs: tuple[OutputPort, ...] = ()
    iteration: int | None = None
    condition: int | None = None
    by_parameter: dict[int, InputPort] = field(init=False, repr=False, compare=False)
    #: The states, in the order of the port map.
    carried: tuple[Carried, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_parameter", {port.parameter: port for port in self.inputs})
        carried = tuple(port for port in self.inputs if isinstance(port, Carried))
        object.__setattr__(self, "carried", carried)
