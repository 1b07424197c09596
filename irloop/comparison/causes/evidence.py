"""Collects what is known of a difference between two models, and describes its cause in words.

What is known: the recorded values of both models, and which of their nodes correspond.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from irloop.comparison.agreement import agree
from irloop.comparison.causes.copies import unchanged
from irloop.comparison.causes.likeness import constants_agree, handed_on, origin
from irloop.comparison.causes.wire_comparison import WireDifference, Wires
from irloop.comparison.causes.wire_side import WireSide
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import Pairs
from irloop.comparison.recording import Recording
from irloop.formats.openvino.wire_places import WirePlaces
from irloop.graph.model import Body, Model, Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.record import Record
from irloop.graph.walk import body_around

__all__ = ["Cause", "Evidence"]


#: Parts of a message that change while a model is reduced: names, ports, lines and counts. The word
#: "it" changes, too: it replaces the name in the first model if both models have the same name. The
#: words about reversing disappear if the reduction cuts off the operation that reverses a value
#: before or after the loop.
_CHANGING = re.compile(
    r" \[computed [^]]*\]|`[^`]*`|'[^']*'|, after it is reversed|, and is reversed afterwards"
    r"|\bit\b|\([^)]*\)|, line \d+|, iteration \d+|; so it runs.*|: .* elements.*|[\d.]+"
)

#: Finds the words by which a message about a wire shows that the wire leaves the loop.
_LEAVES = re.compile(r" (?:joins|stacks|is the last) ")


class Cause(Record):
    """The cause of a difference.

    `kind` is one of state, wire, output, constant, operation, input, trip count, condition,
    initial condition, shape, drift and failure. `path` is the place in the second model; `lines`
    are the lines in the IR files, if known.
    """

    kind: str
    message: str
    path: str
    lines: tuple[int | None, int | None] = (None, None)

    @property
    def signature(self) -> str:
        """A string that identifies the cause, even after the models have been reduced.

        It contains the kind, the message and, unless the cause is an output, the last name in
        `path`. It contains nothing that a reduction may change, such as names of values, lines,
        iterations and numbers.
        """
        kind, name, message = self.kind, self.path.rpartition("/")[2], self.message
        if kind == "output" or (kind == "wire" and _LEAVES.search(message)):
            kind, name = "output", ""
        if self.kind == "input":
            # Reduction may make the operands simpler, so keep only the start of the message, which
            # names the position of the input.
            message = message.partition(" of ")[0]
        words = " ".join(_CHANGING.sub("", message).split())
        return f"{kind} {name} {words}"

    def __str__(self) -> str:
        return self.message

    def to_dict(self) -> dict[str, Any]:
        """The cause as plain data, for JSON."""
        return {
            "kind": self.kind,
            "message": self.message,
            "path": self.path,
            "lines": list(self.lines),
        }


class Evidence:
    """What is known about two models: corresponding values and loops, and recorded values."""

    def __init__(self, models: tuple[Model, Model], tolerance: Tolerance) -> None:
        self.models = models
        self.labels = _labels(models)
        self.tolerance = tolerance
        pairs = Pairs(*models)
        self._found_places: tuple[WirePlaces, WirePlaces] | None = None
        by_name = pairs.first_by_name
        self.twin = {value: by_name[name] for value, name in pairs.of_second.items()}
        self.other = {own: value for value, own in self.twin.items()}
        for known in (self.twin, self.other):
            for value, partner in [*known.items()]:
                # If a copy is paired with a value, the value that was copied is paired with that
                # value, too.
                known.setdefault(unchanged(value), partner)
        self.loops = {second: first for first, second in pairs.loops()}
        self.recordings = (Recording(), Recording())

    def differ(
        self, first: Value | None, second: Value | None, iterations: tuple[int, ...]
    ) -> bool:
        if first is None or second is None:
            return False
        left, right = (
            recording.values.get((value, iterations))
            for recording, value in zip(self.recordings, (first, second), strict=True)
        )
        if left is None or right is None:
            return False
        return not agree(left, right, self.tolerance)

    def is_exchanged(self, first: Value, second: Value, iterations: tuple[int, ...]) -> bool:
        """Return whether a node seems to read the wrong value, although both values are correct.

        `first` and `second` are the values that corresponding nodes of the two models read. The
        result is true if they do not correspond to each other, but each has a counterpart in the
        other model and does not differ from it in these `iterations`. The inputs of a node may have
        been exchanged.
        """
        mine, its = self.twin.get(second), self.other.get(first)
        if mine is None or its is None or mine is first:
            return False
        return not self.differ(mine, second, iterations) and not self.differ(first, its, iterations)

    def size(self, side: int, value: Value, iterations: tuple[int, ...]) -> int | None:
        """Return how many elements a value has in the recorded run; None if it was not recorded.

        `side` is 0 if the value is of the first model, and 1 if it is of the second. `iterations`
        holds the iteration numbers of the enclosing loops.
        """
        found = self.recordings[side].values.get((value, iterations))
        return getattr(found, "size", None)

    def same(self, first: Value | None, second: Value | None) -> bool:
        """Return whether two values of the two models correspond.

        Values that are paired by name, or by what computes them, correspond; so do constants with
        equal elements, and two missing values (None).
        """
        if first is None or second is None:
            return first is second
        ops = first.producer.op, second.producer.op
        if isinstance(ops[0], Constant) and isinstance(ops[1], Constant):
            return constants_agree(ops[0], ops[1], self.tolerance)
        if self.nearly_paired(first, second):
            return True
        left, right = origin(first), origin(second)
        if (left, right) != (first, second):
            return self.same(left, right)
        return False

    def nearly_paired(self, first: Value | None, second: Value | None) -> bool:
        """Return whether two values are paired, or take their elements from paired values.

        Operations that only pass elements on are skipped for this.
        """
        return self.paired(self._nearest(first, self.other), self._nearest(second, self.twin))

    def corresponds(self, first: Value | None, second: Value | None) -> bool:
        """Return whether it is known that `first` and `second` correspond in the two models.

        Unlike `same`, this is False if both values are missing (None).
        """
        known = [self._nearest(first, self.other), self._nearest(second, self.twin)]
        return None not in known and self.paired(known[0], known[1])

    @staticmethod
    def _nearest(value: Value | None, pairs: Mapping[Value, Value]) -> Value | None:
        """Find the nearest value upstream that is a key of `pairs` or a constant.

        The search begins with `value` itself. It passes through operations that keep the elements,
        such as Reshape. The result is None if it reaches any other operation first.
        """
        while (
            value is not None and value not in pairs and not isinstance(value.producer.op, Constant)
        ):
            value = handed_on(value)
        return value

    def paired(self, first: Value | None, second: Value | None) -> bool:
        """Return whether two values have been found to correspond, possibly through copies.

        Constants correspond if their elements are equal, and two missing values (None) do, too.
        """
        if first is None or second is None:
            return first is second
        if isinstance(first.producer.op, Constant) and isinstance(second.producer.op, Constant):
            return self.same(first, second)
        # A tensor that only copies another one may have passed its name on to that one.
        mine, its = self.twin.get(second), self.other.get(first)
        return (mine is not None and unchanged(mine) is unchanged(first)) or (
            its is not None and unchanged(its) is unchanged(second)
        )

    def may_be_paired(self, first: Value | None, second: Value | None) -> bool:
        """Return whether two values may correspond in the two models.

        They may if they are known to correspond, if the counterpart of `first` is not known, or if
        one of them is missing (None).
        """
        if first is None or second is None:
            return True
        twin = self.other.get(first)
        return twin is None or self.paired(first, second) or self.nearly_paired(first, second)

    def wires(self, nodes: tuple[Node, Node], bodies: tuple[Body, Body]) -> Wires:
        return Wires.between(nodes, bodies, self.places(), self.same, self.corresponds)

    def places(self) -> tuple[WirePlaces, WirePlaces]:
        if self._found_places is None:
            files = [item.source if item.dialect == "openvino" else None for item in self.models]
            self._found_places = WirePlaces.of(files[0]), WirePlaces.of(files[1])
        return self._found_places

    def described(self, side: int, value: Value) -> str:
        """Describe a value and, if it is a parameter of a body, the wire that feeds it."""
        if isinstance(value.producer.op, Constant):
            return f"constant `{value.name}`"
        around = body_around(value.producer)
        if around is None or not isinstance(value.producer.op, Parameter):
            return f"`{value.name}`"
        place = WireSide(*around, self.places()[side])
        return f"`{value.name}`, which {place.described(around[1].graph.inputs.index(value))}"

    def worded(self, kind: str, wire: WireDifference) -> Cause:
        other = f"`{wire.other_name}`" if wire.other_name else "it"
        message = (
            f"in {self.labels[1]} `{wire.name}` of {wire.owner} `{wire.loop}` {wire.second}; "
            f"in {self.labels[0]} {other} {wire.first}"
        )
        return Cause(kind, message, f"{wire.loop}/{wire.name}", wire.lines)

    def place(self, side: int, node: Node) -> str:
        """Describe the place of a node: name its model and, if known, the line in its file."""
        line = node.location.line
        return self.labels[side] + ("" if line is None else f", line {line}")

    @staticmethod
    def cause(kind: str, message: str, first: Node, second: Node) -> Cause:
        lines = first.location.line, second.location.line
        return Cause(kind, message, second.name, lines)


def _labels(models: tuple[Model, Model]) -> tuple[str, str]:
    """Return short names of both models: their file names or, if these are equal, their paths.

    If the paths do not differ either, or are not known, the names are "the first model" and "the
    second model".
    """
    sources = [model.source for model in models]
    names = [None if source is None else os.path.basename(source) for source in sources]
    if names[0] == names[1]:
        names = sources
    if None in names or names[0] == names[1]:
        return "the first model", "the second model"
    return str(names[0]), str(names[1])
