"""The cost of a graph rewrite: 50 matchers over 20,000 nodes, typed against untyped roots.

    python -W ignore -m benchmarks.rewrite_speed [--nodes 20000] [--matchers 50] [--rounds 5]

The graph is a chain that cycles through 50 operations; each takes the previous value and an early
one. Every matcher looks for one kind of operation below a second one that never occurs, so nothing
is rewritten and each run sees the same graph. *typed*: all roots have a type, and a node is tried
only with the matchers of its type. *untyped*: the same patterns, each with an untyped alternative
that never matches, so every matcher is tried at every node. *mixed*: one such pattern among typed
ones. The runs alternate within a round; medians are compared. The initial cost of every pass (types
and names of the whole model) is reported separately.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from irloop.dialects.openvino import OPENVINO
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes import (
    GraphRewrite,
    Match,
    MatcherPass,
    MatchRewriter,
    PassConfig,
    Pattern,
    Predicate,
    any_input,
    either,
    wrap_type,
)
from irloop.passes.session import Session

F32 = TensorType(ElementType.F32, Shape.of(4, 4))


def kinds(count: int) -> list[type[Op]]:
    """Operations with one or two float operands, one per matcher."""
    found = []
    for cls in OPENVINO.all():
        attributes = getattr(cls, "_fields", ())
        if cls.arity in ((1, 1), (2, 2)) and cls.n_outputs == 1 and not attributes:
            b = Builder(Graph("probe"))
            x = b.parameter("x", F32)
            with suppress(InferenceError):  # not for floats, or not for two operands of one shape
                if b(cls(), *[x] * cls.arity[0]).type == F32:
                    found.append(cls)
    return [found[at % len(found)] for at in range(count)]


def chain(classes: Sequence[type[Op]], nodes: int) -> Model:
    b = Builder(Graph("chain"))
    x = value = b.parameter("x", F32)
    for at in range(nodes):
        cls = classes[at % len(classes)]
        value = b(cls(), *([value] if cls.arity[0] == 1 else [value, x]))
    b.result(value, "out")
    return Model(b.graph, "openvino", 11)


class Never(MatcherPass):
    """Looks for one kind of operation below another one that never occurs."""

    def __init__(self, number: int, pattern: Callable[[], Pattern]) -> None:
        self.name = f"never_{number}"  # type: ignore[misc]  # one class, many passes
        self._make = pattern

    def pattern(self) -> Pattern:
        return self._make()

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        raise AssertionError("nothing should match")


def typed(number: int, cls: type[Op]) -> Never:
    return Never(number, lambda: _pattern(cls))


def untyped(number: int, cls: type[Op]) -> Never:
    return Never(number, lambda: either(_pattern(cls), any_input(_NOTHING)))


_NOTHING = Predicate(lambda _: False, "nothing")


def _pattern(cls: type[Op]) -> Pattern:
    return wrap_type(cls, *[any_input(_NOTHING)] * cls.arity[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--matchers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    classes = kinds(options.matchers)
    model = chain(classes, options.nodes)
    all_typed = [typed(at, cls) for at, cls in enumerate(classes)]
    all_untyped = [untyped(at, cls) for at, cls in enumerate(classes)]
    runs: dict[str, Callable[[], object]] = {
        "types and names": lambda: Session(model),
        "typed": lambda: GraphRewrite(all_typed).run(model, PassConfig()),
        "mixed": lambda: GraphRewrite([*all_typed[:-1], all_untyped[-1]]).run(model, PassConfig()),
        "untyped": lambda: GraphRewrite(all_untyped).run(model, PassConfig()),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    median = {name: statistics.median(taken) for name, taken in times.items()}
    print(
        f"{options.nodes} nodes of {len(set(classes))} types, {options.matchers} matchers: "
        + ", ".join(f"{name} {taken * 1e3:.0f} ms" for name, taken in median.items())
    )
    floor = median["types and names"]
    ratio = (median["untyped"] - floor) / max(1e-9, median["typed"] - floor)
    print(
        f"typed roots: {median['untyped'] / median['typed']:.1f}x as fast as untyped ones, "
        f"{ratio:.0f}x where only the matching is counted; "
        f"{(median['typed'] - floor) / options.nodes * 1e6:.2f} us a node"
    )


if __name__ == "__main__":
    main()
