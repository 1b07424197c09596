"""Shrinks two models that differ to the smallest models that still differ.

Everything before the first divergence is replaced by inputs with the values computed there, and
everything after it is removed. If the models diverge inside a loop, only the part of its body that
diverges is kept, with the values of that iteration; if the wires of a loop are at fault, the whole
loop is kept. Both models are then simplified in the same way, and sizes and trip counts become
small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import numpy as np

from irloop.budget import Budget
from irloop.comparison.compare import Comparison, Path, compare, read_side
from irloop.comparison.inputs import TRIPS, Trial, made_trials, with_arrays
from irloop.comparison.measure import Tolerance
from irloop.comparison.outcome import DIFFERENT, EQUAL, EQUAL_WHERE_RUN
from irloop.comparison.reduction.changes import Pair, complexity, operations
from irloop.comparison.reduction.cutting import cut_at, drop_dead, located
from irloop.comparison.reduction.shrink import shrunk
from irloop.comparison.roles import roles
from irloop.comparison.runs import reason_of
from irloop.comparison.sizes import sizes_of
from irloop.comparison.trials import tried
from irloop.comparison.verdict import Verdict
from irloop.diagnostics import one_line
from irloop.errors import IrloopError, UsageError
from irloop.graph.clone import clone_graph, clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.graph.rewriter import Rewriter
from irloop.graph.walk import node_path
from irloop.progress import counted

__all__ = ["Reduced", "reduce"]

#: Maximum number of outputs that are tried one by one for a smaller case.
OUTPUTS = 3

#: Maximum number of differing values around which a cut is tried.
PLACES = 4

#: The steps that a run of a smaller case may take in addition to those of the original comparison:
#: without its condition, a loop may never end.
SPARE = 10_000

#: The kinds of causes that name the place where two models differ.
LOCATED = ("state", "wire", "constant", "operation", "input", "trip count", "condition")


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
        first: a model or its path.
        second: the other model or its path.
        inputs: arrays with which they differ; if None, irloop searches for such arrays.
        tolerance: the difference up to which values count as equal, as for `compare`.
        seconds: the time that one run may take.

    Raises:
        UsageError: when the models do not differ with any inputs.
        UnsupportedError: when irloop's own executor cannot run one of them.
    """
    # The models no longer refer to a file, because its line numbers would be wrong after a
    # reduction.
    models = _prepared(read_side(first)), _prepared(read_side(second))
    work = _Reduction(tolerance or Tolerance(), seconds)
    pair = work.start(models, inputs)
    with Budget(operations_a_run=work.spent + SPARE).entered():
        for step in (work.cut_around_divergence, work.cut_around_loop):
            pair = step(pair)
        for step in (work.smallest, work.lower_trip_counts):
            pair = step(pair)
    for model in pair.models:
        # Inner values have become outputs, and a file must declare the types of outputs.
        Inference(tolerant=True).run(model.graph)
    return Reduced(*pair.models, pair.arrays, tuple(work.steps), work.judge(pair))


def _prepared(model: Model) -> Model:
    """Copy a model and infer all types that can be inferred.

    Files in ONNX declare few types inside bodies.
    """
    copy = replace(clone_model(model), source=None)
    Inference(tolerant=True).run(copy.graph)
    return copy


class _Reduction:
    def __init__(self, tolerance: Tolerance, seconds: float) -> None:
        self._tolerance = tolerance
        self._seconds = seconds
        self._kind: tuple[str, bool, bool] | None = None
        #: Whether the models returned equal outputs for some inputs, and why other inputs could not
        #: be compared.
        self._found_equal = False
        #: Whether a model cannot be run, so that no output was compared.
        self._fails = False
        self._uncompared = ""
        #: The steps of the budget that the comparison of the original models took.
        self.spent = 0
        self.steps: list[str] = []

    def judge(self, pair: Pair) -> Comparison:
        """Compare the two models of a pair, both run by irloop's NumPy executor.

        The first model gets its inputs from the pair; the inputs of the second are derived from
        them.
        """
        return compare(
            *pair.models,
            inputs=list(pair.arrays[0]),
            engines="numpy",
            tolerance=self._tolerance,
            seconds=self._seconds,
        )

    def start(self, models: tuple[Model, Model], inputs: Any) -> Pair:
        """Find inputs for which the two models differ; return the models with these inputs.

        Tries `inputs` or, if it is None, inputs that irloop makes.

        Raises:
            UsageError: when no inputs show a difference, or the models could not be compared.
        """
        if inputs is not None:
            pair = self._first_different(models, with_arrays(models[0], inputs))
        else:
            sizes = next(sizes_of(models), {})
            # Try zero iterations last: if the loop never runs, the reduced case may have to keep
            # operations that the fault does not need.
            trips = sorted(TRIPS, key=lambda count: (not count, count))
            trials = made_trials(models[0], sizes, seeds=(0, 1), trips=trips)
            pair = self._first_different(models, trials)
            pair = pair or self._first_different(models, self._tried(models[0]))
        if pair is not None:
            return pair
        if self._found_equal or not self._uncompared:
            raise UsageError(
                "the models do not differ, so there is nothing to reduce",
                fix="give inputs with which they differ",
            )
        raise UsageError(
            "the models could not be compared, so there is nothing to reduce",
            cause=self._uncompared,
            fix="give inputs with which both models run",
        )

    def _tried(self, model: Model) -> Sequence[Trial]:
        """Make sets of inputs as `compare` does, so that more branches of the model are reached."""
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
                with Budget().entered() as budget:
                    found = self.judge(pair)
                self._kind, self._fails = _kind(found), not found.compared
                self.spent = budget.spent
                self.steps.append(f"with {trial.label}: {_size(pair)}")
                return pair
        return None

    def _differ(self, pair: Pair) -> bool:
        try:
            report = self.judge(pair)
        except IrloopError as error:
            self._uncompared = self._uncompared or reason_of(error)
            return False
        if report.outcome != DIFFERENT or not (report.compared or report.cause):
            self._found_equal |= report.outcome in (EQUAL, EQUAL_WHERE_RUN)
            self._uncompared = self._uncompared or "; ".join(report.problems[:1])
            return False
        # Models that now differ for another reason are not the same case.
        kind = _kind(report)
        if self._kind is None or kind == self._kind:
            return True
        # A model that failed had no outputs with a form.
        return self._fails and kind[::2] == self._kind[::2]

    def _accept(self, old: Pair, new: Pair, how: str) -> Pair:
        """Return `new` if its models still compute different outputs, else `old`.

        If `new` is returned, `how` is recorded as a step of the reduction.
        """
        if not self._differ(new):
            return old
        self.steps.append(f"{how}: {_size(new)}")
        return new

    def cut_around_divergence(self, pair: Pair) -> Pair:
        """Cut both models down to the operations that lead from equal values to a difference.

        The equal values become inputs. Returns `pair` itself if no cut keeps the difference.
        """
        return self._cut_around(pair, loops=False)

    def cut_around_loop(self, pair: Pair) -> Pair:
        """Cut both models down to the innermost loop whose inputs agree although an output differs.

        Returns `pair` itself if no cut keeps the difference.
        """
        return self._cut_around(pair, loops=True)

    def _cut_around(self, pair: Pair, *, loops: bool) -> Pair:
        try:
            places = [*islice(located(pair, self._tolerance, self._seconds, loops=loops), PLACES)]
        except IrloopError:
            # A model that cannot be run at all has no values to cut at.
            return pair
        for place, keeps_ports in product(places, (False, True) if self._fails else (False,)):
            new = cut_at(pair, place, keeps_ports=keeps_ports)
            if new is None or _size(new) == _size(pair):
                continue
            kept = self._accept(pair, new, f"cut around {node_path(place.values[0].producer)}")
            if kept is new:
                return new
        return pair

    def smallest(self, pair: Pair) -> Pair:
        """Simplify both models for each output separately; return the smallest result."""
        steps, candidates = self.steps, []
        single = [*islice(self._single_outputs(pair), OUTPUTS)]
        alone: Sequence[tuple[str, Pair] | None] = single or [None]
        for number, one in enumerate(counted("outputs", alone, len(alone))):
            self.steps = []
            start = pair if one is None else one[1]
            made = self._shrink(start)
            told = [] if one is None else [f"only output {one[0]}: {_size(start)}"]
            candidates.append((complexity(made), number, made, told + self.steps))
        _, _, best, made_by = min(candidates, key=lambda item: item[:2])
        self.steps = steps + made_by
        return best

    def _single_outputs(self, pair: Pair) -> Iterator[tuple[str, Pair]]:
        """Yield smaller pairs of models, each with a single output, that still differ.

        Each item is the name of the output and the pair. Nothing is yielded if there is only one
        output.
        """
        names = [node.name for node in pair.models[0].graph.results]
        if len(names) == 1:
            return
        differing = [item.name for item in self.judge(pair).outputs if not item.equal]
        for name in names if self._fails else differing:
            if name not in names:
                continue
            models = tuple(_with_result(model, names.index(name)) for model in pair.models)
            new = Pair((models[0], models[1]), pair.arrays)
            if self._differ(new):
                yield name, new

    def _shrink(self, pair: Pair) -> Pair:
        """Simplify both models in the same way; record all simplifications as one step."""
        reads_others = self._kind is not None and _reads_others(self._kind[0])
        new = shrunk(pair, self._accept, self._seconds, free=reads_others)
        if self._fails:
            new = shrunk(new, self._accept, self._seconds, free=reads_others, keeps_ports=True)
        if self.steps:
            self.steps = [f"{len(self.steps)} simplifications: {_size(new)}"]
        return new

    def lower_trip_counts(self, pair: Pair) -> Pair:
        """Lower each input trip count to the smallest one that still shows the difference."""
        for index, role in enumerate(roles(pair.models[0])):
            if not role.trip or index >= len(pair.arrays[0]):
                continue
            given = np.asarray(pair.arrays[0][index])
            for count in range(int(given.reshape(-1)[0])):
                lower = np.full_like(given, count)
                arrays = tuple(
                    (*items[:index], lower, *items[index + 1 :]) for items in pair.arrays
                )
                new = Pair(pair.models, (arrays[0], arrays[1]))
                kept = self._accept(pair, new, f"trip count {count}")
                if kept is new:
                    pair = new
                    break
        return pair


def _with_result(model: Model, index: int) -> Model:
    copy = clone_graph(model.graph)
    rewriter = Rewriter(copy)
    for node in [node for at, node in enumerate(copy.results) if at != index]:
        rewriter.erase_result(node)
    drop_dead(copy, rewriter)
    return replace(model, graph=copy)


def _kind(comparison: Comparison) -> tuple[str, bool, bool]:
    """Return the properties that a smaller pair must keep: (cause, differs in form, compared).

    The cause is "" if none was found. The second item is true if an output differs in shape or
    element type, the third if any output was compared. With a cause that points to a part of the
    model, such as a state or a constant, the third is always True: nothing need be compared.
    """
    form = (Verdict.SHAPE, Verdict.STACKED, Verdict.TYPE, Verdict.ZERO_SHAPE)
    cause = "" if comparison.cause is None else comparison.cause.signature
    differs_in_form = any(item.verdict in form for item in comparison.outputs if not item.equal)
    is_located = comparison.cause is not None and comparison.cause.kind in LOCATED
    return cause, differs_in_form, is_located or bool(comparison.compared)


def _size(pair: Pair) -> str:
    counts = [operations(model) for model in pair.models]
    return f"{counts[0]} and {counts[1]} operations"


def _reads_others(signature: str) -> bool:
    """Return whether a cause concerns which values a loop uses, not how they are computed.

    For example, the loop reads, carries or returns another value than in the first model, or its
    trip count or condition differs. `signature` is the text of the cause (`Cause.signature`).
    """
    kinds = ("input ", "state ", "wire ", "trip count ", "condition ", "initial condition ")
    if signature.startswith(kinds):
        return True
    # If the two descriptions of an output differ only in names, the output returns another value.
    # One format joins the parts and the other stacks them, so "joins" and "stacks" are equal.
    signature = signature.replace(" stacks ", " joins ")
    second, _, first = signature.partition("; in the first model")
    return signature.startswith("output ") and second.rstrip().endswith(first.strip())
