"""Shrinks two models that differ to the smallest models that still differ.

Everything before the first divergence is replaced by inputs with the values computed there, and
everything after it is removed. If the models diverge inside a loop, only the part of its body that
diverges is kept, with the values of that iteration; if the wires of a loop are at fault, the whole
loop is kept. Both models are then simplified in the same way, and sizes and trip counts become
small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from irloop.comparison.compare import Comparison, Path, compare, read_side
from irloop.comparison.inputs import TRIPS, Trial, made_trials, with_arrays
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import Pairs, agree, inputs_of, traced
from irloop.comparison.roles import roles
from irloop.comparison.shrink import Pair, complexity, operations, shrunk
from irloop.comparison.sizes import sizes_of
from irloop.comparison.trials import tried
from irloop.comparison.verdict import Verdict
from irloop.diagnostics import one_line
from irloop.errors import IrloopError, UsageError
from irloop.execution.memory import type_of
from irloop.execution.trace import TraceEvent
from irloop.graph.clone import clone_graph, clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Model, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.rewriter import Rewriter
from irloop.graph.walk import node_path
from irloop.progress import counted

__all__ = ["Reduced", "reduce"]

#: Maximum number of outputs that are tried one by one for a smaller case.
OUTPUTS = 3

#: Maximum number of differing values around which a cut is tried.
PLACES = 4

Array = np.ndarray[Any, np.dtype[Any]]
Key = tuple[Value, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Reduced:
    """Two small models that still differ, the inputs of each, and the steps that led to them."""

    first: Model
    second: Model
    inputs: tuple[tuple[Any, ...], tuple[Any, ...]]
    steps: tuple[str, ...]
    comparison: Comparison

    def __str__(self) -> str:
        return "\n".join([*map(one_line, self.steps), str(self.comparison)])


def reduce(
    first: Model | Path,
    second: Model | Path,
    *,
    inputs: Any = None,
    tolerance: Tolerance | None = None,
    seconds: float = 60.0,
) -> Reduced:
    """Shrink two models that differ; both are run by irloop's own executor.

    Args:
        first: a model or its path. second: the other model or its path. inputs: arrays with which
        they differ; if None, irloop searches for such arrays. tolerance: the difference up to which
        values count as equal, as for `compare`. seconds: the time that one run may take.

    Raises:
        UsageError: when the models do not differ with any inputs.
        UnsupportedError: when irloop's own executor cannot run one of them.
    """
    # The models no longer refer to a file, because its line numbers would be wrong after a
    # reduction.
    models = _prepared(read_side(first)), _prepared(read_side(second))
    work = _Reduction(tolerance or Tolerance(), seconds)
    pair = work.start(models, inputs)
    for step in (work.cut_around_divergence, work.cut_around_loop):
        pair = step(pair)
    for step in (work.smallest, work.lower_trip_counts):
        pair = step(pair)
    for model in pair.models:
        # Inner values have become outputs, and a file must declare the types of outputs.
        Inference(tolerant=True).run(model.graph)
    return Reduced(*pair.models, pair.arrays, tuple(work.steps), work.judge(pair))


def _prepared(model: Model) -> Model:
    """A copy of a model with all types that can be inferred, because ONNX files declare few types
    inside bodies.
    """
    copy = replace(clone_model(model), source=None)
    Inference(tolerant=True).run(copy.graph)
    return copy


class _Reduction:
    def __init__(self, tolerance: Tolerance, seconds: float) -> None:
        self._tolerance = tolerance
        self._seconds = seconds
        self._kind: tuple[str, bool, bool] | None = None
        self.steps: list[str] = []

    def judge(self, pair: Pair) -> Comparison:
        """Compare a pair; the inputs of the second model are made from those of the first."""
        return compare(
            *pair.models,
            inputs=list(pair.arrays[0]),
            engines="numpy",
            tolerance=self._tolerance,
            seconds=self._seconds,
        )

    def start(self, models: tuple[Model, Model], inputs: Any) -> Pair:
        """The original pair with the first inputs that show the difference."""
        if inputs is not None:
            pair = self._first_different(models, with_arrays(models[0], inputs))
        else:
            found = next(sizes_of(models), {})
            # Try zero iterations last: a case in which the loop never runs may need operations
            # that the fault itself does not.
            trips = sorted(TRIPS, key=lambda count: (not count, count))
            trials = made_trials(models[0], found, seeds=(0, 1), trips=trips)
            pair = self._first_different(models, trials)
            pair = pair or self._first_different(models, self._tried(models[0]))
        if pair is not None:
            return pair
        raise UsageError(
            "the models do not differ, so there is nothing to reduce",
            fix="give inputs with which they differ",
        )

    def _tried(self, model: Model) -> Sequence[Trial]:
        """The trials of `compare`, some of which take other branches."""
        return tried(
            model,
            model,
            seeds=(0,),
            trips=TRIPS,
            sizes=None,
            seconds=self._seconds,
            widen=None,
            affordable=lambda: None,
        )[0]

    def _first_different(self, models: tuple[Model, Model], trials: Sequence[Trial]) -> Pair | None:
        for trial in counted("inputs", trials, len(trials)):
            pair = Pair(models, (trial.arrays, trial.arrays))
            if self._differ(pair):
                self._kind = _kind(self.judge(pair))
                self.steps.append(f"with {trial.label}: {_size(pair)}")
                return pair
        return None

    def _differ(self, pair: Pair) -> bool:
        try:
            found = self.judge(pair)
        except IrloopError:
            return False
        if found.outcome != "different" or not (found.compared or found.cause):
            return False
        # Models that now differ for another reason are not the same case.
        return self._kind is None or _kind(found) == self._kind

    def _accept(self, old: Pair, new: Pair, how: str) -> Pair:
        """Return the new pair if it still differs, else the old one."""
        if not self._differ(new):
            return old
        self.steps.append(f"{how}: {_size(new)}")
        return new

    def cut_around_divergence(self, pair: Pair) -> Pair:
        """Keep only the path from values that agree to the first value that differs."""
        return self._cut_around(pair, loops=False)

    def cut_around_loop(self, pair: Pair) -> Pair:
        """Keep only the innermost loop whose inputs agree although an output differs."""
        return self._cut_around(pair, loops=True)

    def _cut_around(self, pair: Pair, *, loops: bool) -> Pair:
        try:
            places = [*islice(_located(pair, self._tolerance, self._seconds, loops=loops), PLACES)]
        except IrloopError:
            # A model that cannot be run at all has no values to cut at.
            return pair
        for place in places:
            new = _cut_at(pair, place)
            if new is None or _size(new) == _size(pair):
                continue
            kept = self._accept(pair, new, f"cut around {node_path(place.values[0].producer)}")
            if kept is new:
                return new
        return pair

    def smallest(self, pair: Pair) -> Pair:
        """Simplify both models for each output separately; return the smallest result."""
        steps, found = self.steps, []
        single = [*islice(self._single_outputs(pair), OUTPUTS)]
        alone: Sequence[tuple[str, Pair] | None] = single or [None]
        for number, one in enumerate(counted("outputs", alone, len(alone))):
            self.steps = []
            start = pair if one is None else one[1]
            made = self._shrink(start)
            told = [] if one is None else [f"only output {one[0]}: {_size(start)}"]
            found.append((complexity(made), number, made, told + self.steps))
        _, _, best, made_by = min(found, key=lambda item: item[:2])
        self.steps = steps + made_by
        return best

    def _single_outputs(self, pair: Pair) -> Iterator[tuple[str, Pair]]:
        """For each output, the pair with that output alone, if it shows the difference."""
        names = [node.name for node in pair.models[0].graph.results]
        if len(names) == 1:
            return
        for item in self.judge(pair).outputs:
            if item.equal or item.name not in names:
                continue
            models = tuple(_with_result(model, names.index(item.name)) for model in pair.models)
            new = Pair((models[0], models[1]), pair.arrays)
            if self._differ(new):
                yield item.name, new

    def _shrink(self, pair: Pair) -> Pair:
        """Simplify both models in the same way; the report has one line for all these steps."""
        # If the cause is that wrong values are read or carried, their computation does not matter.
        kinds = ("input ", "state ", "wire ")
        reads_others = self._kind is not None and self._kind[0].startswith(kinds)
        new = shrunk(pair, self._accept, self._seconds, free=reads_others)
        if self.steps:
            self.steps = [f"{len(self.steps)} simplifications: {_size(new)}"]
        return new

    def lower_trip_counts(self, pair: Pair) -> Pair:
        """Find the smallest trip counts among the inputs that still show the difference."""
        for at, role in enumerate(roles(pair.models[0])):
            if not role.trip or at >= len(pair.arrays[0]):
                continue
            given = np.asarray(pair.arrays[0][at])
            for count in range(int(given.reshape(-1)[0])):
                lower = np.full_like(given, count)
                arrays = tuple((*items[:at], lower, *items[at + 1 :]) for items in pair.arrays)
                new = Pair(pair.models, (arrays[0], arrays[1]))
                kept = self._accept(pair, new, f"trip count {count}")
                if kept is new:
                    pair = new
                    break
        return pair


class _Everything:
    """Records every value of a run, and the order in which values were computed."""

    def __init__(self) -> None:
        self.values: dict[Key, Any] = {}
        self.made: list[Key] = []

    def __call__(self, event: TraceEvent) -> None:
        for value, held in inputs_of(event):
            self.values.setdefault((value, event.iterations), held)
        for value, held in zip(event.node.outputs, event.outputs, strict=False):
            self.values[value, event.iterations] = held
            self.made.append((value, event.iterations))


class _Place(NamedTuple):
    """Two corresponding values that differ, and what was known about other values when they were
    computed.

    For each model, `agreed` tells which values agree with the other model, and `held` gives their
    contents. `twin` maps values of the second model to those of the first.
    """

    values: tuple[Value, Value]
    agreed: tuple[Callable[[Value], bool], Callable[[Value], bool]]
    held: tuple[Callable[[Value], Any], Callable[[Value], Any]]
    twin: Mapping[Value, Value]


def _located(pair: Pair, tolerance: Tolerance, seconds: float, *, loops: bool) -> Iterator[_Place]:
    """The values that differ, in the order in which the second model computes them.

    With `loops`, only outputs of loops are considered, and only if all known inputs of the loop
    agree.
    """
    pairs = Pairs(*pair.models)
    left, right = _Everything(), _Everything()
    traced(pair.models[0], pair.arrays[0], left, seconds, None)
    traced(pair.models[1], pair.arrays[1], right, seconds, None)
    twin = {value: pairs.first_by_name[name] for value, name in pairs.of_second.items()}
    for value, at in right.made:
        mine = twin.get(value)
        before = None if mine is None else left.values.get((mine, at))
        if mine is None or before is None:
            continue
        if loops and not (value.producer.bodies and mine.producer.bodies):
            continue
        made = right.values[value, at]
        # Loops that correspond return the same shapes; elsewhere slices may keep their axis.
        if agree(before, made, tolerance) and not (loops and np.shape(before) != np.shape(made)):
            continue
        good = {
            other
            for other, own in twin.items()
            if (own, at) in left.values
            and (other, at) in right.values
            and agree(left.values[own, at], right.values[other, at], tolerance)
        }
        if loops and any(
            item in twin and item not in good and (item, at) in right.values
            for item in value.producer.inputs
            if item is not None
        ):
            continue
        agreed = ({twin[other] for other in good}.__contains__, good.__contains__)
        held = (
            lambda v, at=at: left.values.get((v, at)),
            lambda v, at=at: right.values.get((v, at)),
        )
        yield _Place((mine, value), agreed, held, twin)


def _cut_at(pair: Pair, place: _Place) -> Pair | None:
    """The part of both models between the values that agree and the two values that differ, or
    None.
    """
    edges = [_frontier(value, ok) for value, ok in zip(place.values, place.agreed, strict=True)]
    cuts = zip(pair.models, place.values, edges, place.held, strict=True)
    (left, first), (right, second) = (_cut(*item) for item in cuts)
    # The values that enter a body may be named differently in the two models.
    twins = [place.twin.get(item) for item in edges[1]]
    order: list[int] | None
    if set(twins) == set(edges[0]) and len(twins) == len(edges[0]):
        order = [twins.index(item) for item in edges[0]]
    else:
        order = _common_order(left.graph, right.graph)
    if order is None:
        return None
    right.graph.parameters = [right.graph.parameters[at] for at in order]
    moved = tuple(second[at] for at in order)
    return Pair((left, right), (first, moved))


def _cut(
    model: Model, value: Value, edges: Sequence[Value], held: Callable[[Value], Any]
) -> tuple[Model, tuple[Any, ...]]:
    """A model that computes `value` from the values `edges`, and the arrays for its inputs."""
    source = value.producer.graph
    assert source is not None
    copy = clone_graph(source)
    twin = dict(zip(_values(source), _values(copy), strict=True))
    rewriter = Rewriter(copy)
    for node in list(copy.results):
        rewriter.erase_result(node)
    copy.parameters.clear()
    arrays = []
    for edge in edges:
        array = held(edge)
        type = edge.type if array is None else type_of(array)
        new = copy.add_parameter(edge.producer.name, type, edge.names)
        rewriter.replace_value(twin[edge], new, keep_names=False)
        arrays.append(array)
    copy.add_result(twin[value], value.producer.name)
    _drop_dead(copy, rewriter)
    return replace(model, graph=copy), tuple(arrays)


def _values(graph: Graph) -> Iterator[Value]:
    yield from graph.inputs
    for node in graph.nodes:
        yield from node.outputs


def _frontier(value: Value, agreed: Callable[[Value], bool]) -> list[Value]:
    """The nearest values from which `value` is computed and that agree or are inputs of the
    graph.
    """
    found: dict[Value, None] = {}
    pending, seen = [value.producer], {value.producer}
    while pending:
        for item in pending.pop().inputs:
            if item is None or isinstance(item.producer.op, Constant):
                continue
            if agreed(item) or isinstance(item.producer.op, Parameter):
                found[item] = None
            elif item.producer not in seen:
                seen.add(item.producer)
                pending.append(item.producer)
    return list(found)


def _drop_dead(graph: Graph, rewriter: Rewriter) -> None:
    for node in reversed(graph):
        if not any(value.is_used for value in node.outputs):
            rewriter.erase(node)


def _common_order(first: Graph, second: Graph) -> list[int] | None:
    """The position in the second graph of each input of the first; None if they do not match."""
    if len(first.parameters) != len(second.parameters):
        return None
    names = [{node.name, *node.outputs[0].names} for node in second.parameters]
    order: list[int] = []
    for node in first.parameters:
        own = {node.name, *node.outputs[0].names}
        at = next((at for at, item in enumerate(names) if own & item and at not in order), None)
        if at is None:
            return None
        order.append(at)
    return order


def _with_result(model: Model, index: int) -> Model:
    copy = clone_graph(model.graph)
    rewriter = Rewriter(copy)
    for node in [node for at, node in enumerate(copy.results) if at != index]:
        rewriter.erase_result(node)
    _drop_dead(copy, rewriter)
    return replace(model, graph=copy)


def _kind(found: Comparison) -> tuple[str, bool, bool]:
    """The properties that a smaller case must preserve.

    These are the cause, whether an output differs in form (shape or element type), and whether any
    output was compared.
    """
    form = (Verdict.SHAPE, Verdict.STACKED, Verdict.TYPE, Verdict.ZERO_SHAPE)
    cause = "" if found.cause is None else found.cause.signature
    differs_in_form = any(item.verdict in form for item in found.outputs if not item.equal)
    return cause, differs_in_form, bool(found.compared)


def _size(pair: Pair) -> str:
    counts = [operations(model) for model in pair.models]
    return f"{counts[0]} and {counts[1]} operations"
