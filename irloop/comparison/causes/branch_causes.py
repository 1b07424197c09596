"""Finds causes in what the branches of an If return: exchanged branches and exchanged outputs."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.comparison.causes.copies import unchanged
from irloop.comparison.causes.evidence import Cause, Evidence
from irloop.comparison.verdict import LOOPS
from irloop.graph.model import Body, Node, Value

__all__ = ["BranchCauses", "body_value_of"]

#: What a branch returns as an output, in the first and in the second model.
_Returned = tuple[Value, Value]


class BranchCauses:
    """Finds Ifs with exchanged branches, and branches that return values for the wrong outputs.

    Each If is compared with the corresponding If of the other model.
    """

    def __init__(self, seen: Evidence) -> None:
        self._seen = seen

    def of(self, first: Node, second: Node) -> Cause | None:
        """Return the cause if an If has exchanged branches or a branch returns wrong values.

        Otherwise return None. `first` and `second` are nodes of the two models; the result is also
        None if they are not corresponding Ifs. A branch of `second` returns a wrong value if it
        gives to one output what the same branch of `first` gives to another.
        """
        if not second.bodies or isinstance(second.op, LOOPS):
            return None
        if self._seen.loops.get(second) is not first:
            return None
        bodies = {body.label: body for body in first.bodies}
        pairs = [(bodies[body.label], body) for body in second.bodies if body.label in bodies]
        places = [self._seen.place(side, node) for side, node in enumerate((first, second))]
        if len(pairs) == 2 and self._are_exchanged(first, second, pairs):
            message = (
                f"the branches of {second.op.label} `{second.name}` of {places[1]} are those of "
                f"`{first.name}` in {places[0]}, exchanged"
            )
            return self._seen.cause("wire", message, first, second)
        for mine, other in pairs:
            returned = list(self._returned((first, mine), (second, other)))
            own = [unchanged(left) for left, _ in returned]
            for left, right in returned:
                expected = self._partner(right)
                if expected is None or expected is unchanged(left) or expected not in own:
                    continue
                message = (
                    f"the {other.label} branch of {second.op.label} `{second.name}` of {places[1]} "
                    f"returns `{right.name}` where that of {places[0]} returns `{left.name}`"
                )
                return self._seen.cause("wire", message, first, second)
        return None

    def _are_exchanged(self, first: Node, second: Node, pairs: list[tuple[Body, Body]]) -> bool:
        """Return whether two Ifs have exchanged branches.

        This is so if each branch of one If returns what the opposite branch of the other returns.
        At least one output must be comparable.
        """
        crossed = ((pairs[0][0], pairs[1][1]), (pairs[1][0], pairs[0][1]))
        returned = [
            item
            for mine, other in crossed
            for item in self._returned((first, mine), (second, other))
        ]
        return bool(returned) and all(
            self._partner(right) is unchanged(left) for left, right in returned
        )

    def _partner(self, value: Value) -> Value | None:
        """The value of the first model that corresponds to `value` of the second model."""
        found = self._seen.twin.get(value) or self._seen.twin.get(unchanged(value))
        return None if found is None else unchanged(found)

    def _returned(self, first: tuple[Node, Body], second: tuple[Node, Body]) -> Iterator[_Returned]:
        """Yield pairs of body values that two nodes return for corresponding outputs.

        `first` and `second` are a node and one of its bodies, from the first and the second model.
        Each pair holds a value of the first body and one of the second.
        """
        for value in second[0].outputs:
            mine = self._seen.twin.get(value)
            if mine is None or mine.producer is not first[0]:
                continue
            left, right = body_value_of(first[1], mine.index), body_value_of(second[1], value.index)
            if left is not None and right is not None:
                yield left, right


def body_value_of(body: Body, output: int) -> Value | None:
    """Return the body value that becomes output number `output` of the node.

    The result is None if no body value does.
    """
    port = next((port for port in body.ports.outputs if port.external == output), None)
    return None if port is None else body.graph.results[port.result].inputs[0]
