"""Compares two models: runs both with the same inputs in several trials."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irloop.comparison.engine_differences import Explainer
from irloop.comparison.exercised import exercised, not_exercised
from irloop.comparison.inputs import TRIPS, Trial, with_arrays
from irloop.comparison.judge import Judge
from irloop.comparison.lanes import AUTO, NUMPY, Engines, Lane, Lanes, Side, lanes_of
from irloop.comparison.matching import converted, input_positions, output_positions, refined
from irloop.comparison.measure import Tolerance
from irloop.comparison.outcome import DIFFERENT, INCONCLUSIVE
from irloop.comparison.report import Comparison, EngineReport, Evidence, OutputReport, TrialReport
from irloop.comparison.runs import FEWER, ITERATIONS, Run, run_inside
from irloop.comparison.sequence_outputs import with_tensors
from irloop.comparison.sizes import require_dimensions
from irloop.comparison.tally import Tally
from irloop.comparison.trials import tried
from irloop.comparison.verdict import outputs_of_loops
from irloop.engines.catalogue import Engine
from irloop.engines.watch import MEMORY
from irloop.errors import IrloopError, UsageError
from irloop.execution.session import output_names
from irloop.formats import model_files
from irloop.formats.detect import detect_for_engines
from irloop.graph.builder import element_of
from irloop.graph.clone import clone_model
from irloop.graph.inference import Inference
from irloop.graph.input_types import has_input, set_input_shapes, set_input_types
from irloop.graph.model import Model
from irloop.graph.types import ElementType, Shape, TensorType, ValueType
from irloop.opening import is_onnx_text
from irloop.progress import counted

if TYPE_CHECKING:
    from irloop.comparison.causes.evidence import Cause
    from irloop.comparison.divergence import Divergence

__all__ = ["Comparison", "EngineReport", "OutputReport", "TrialReport", "compare", "read_side"]

#: At most so many names of inputs or outputs are listed if two models have other numbers of them.
NAMED = 8

#: The time limit of a run in an engine, in seconds, if irloop's own executor finished none: the
#: model may be endless.
SECONDS_ALONE = 20.0

#: Maximum number of trials with different outputs that are searched for a cause.
EXPLAINED = 3

Path = str | os.PathLike[str]


def compare(
    first: Model | Path,
    second: Model | Path,
    *,
    inputs: Any = None,
    engines: Engines = AUTO,
    engine_a: str | None = None,
    engine_b: str | None = None,
    seeds: Sequence[int] = (0, 1),
    trips: Sequence[int] = TRIPS,
    sizes: Mapping[str, int] | None = None,
    shapes: Mapping[str, Shape | Sequence[int | None]] | None = None,
    types: Mapping[str, str] | None = None,
    tolerance: Tolerance | None = None,
    seconds: float = 60.0,
    max_memory: int | None = MEMORY,
    max_iterations: int | None = None,
    converted: bool = False,
) -> Comparison:
    """Run two models with the same inputs and report what differs.

    Args:
        first: a model or its path; the inputs have its element types and shapes.
        second: the other model or its path; the formats may differ.
        inputs: arrays by name or by position, or a list of such sets; generated if None.
        engines: "auto", or names (see `lanes.lanes_of`).
        engine_a: the engine of the first model only; numpy if only engine_b is given.
        engine_b: the engine of the second model only; numpy if only engine_a is given.
        seeds: a set of inputs is generated for each seed.
        trips: the values for inputs that are trip counts.
        sizes: sizes of unknown dimensions, by their name ("?" for dimensions without a name).
        shapes: shapes of inputs by name, for each model that has such an input.
        types: element types of inputs by name, for inputs whose type is dynamic.
        tolerance: the difference up to which values count as equal; by default it depends on the
            element type.
        seconds: the time that one run of one model may take.
        max_memory: the bytes that the process of an engine may hold; None means no limit.
        max_iterations: how often each loop may run in irloop's executor; None means `ITERATIONS`.
        converted: the second model was made from the first: faults of the first model's engine are
            notes then.

    Raises:
        UsageError: for an engine that is missing or cannot run such a model, or inputs that do not
            match the model.
        ReadError: when a file is not the model it claims to be.
    """
    dialects = (_dialect(first), _dialect(second))
    lanes, missing = lanes_of(engines, (engine_a, engine_b), dialects)
    with Lanes(lanes, max_memory) as processes:
        sides = with_tensors((_side(first), _side(second)))
        sides = _with_input_types(sides, shapes or {}, types or {}, converted=converted)
        work = _Work(sides, lanes, missing, processes, tolerance or Tolerance(), seconds)
        work.iterations = max_iterations or ITERATIONS
        work.is_converted = converted
        require_dimensions(sizes, [side.model for side in sides])
        problems = list(_structure(sides))
        if problems:
            return work.refused(problems)
        if inputs is None:
            model = refined(sides[0].model, sides[1].model)
            trials, own = tried(
                model,
                sides[0].model,
                seeds=seeds,
                trips=trips,
                sizes=sizes,
                seconds=seconds,
                iterations=work.iterations,
                widen=work.widen,
                affordable=lambda: processes.load(0, sides[0]),
                twin=sides[1].model,
            )
        else:
            trials = with_arrays(sides[0].model, inputs)
            own = run_inside(
                sides[0].model,
                trials,
                seconds,
                iterations=work.iterations,
                widen=work.widen,
                affordable=lambda: processes.load(0, sides[0]),
            )
        return work.compared(trials, own)


def _with_refusals(
    trials: Sequence[Trial], own: Sequence[Run], *, refused: bool, late: bool
) -> list[Trial]:
    """Return the trials; those that no engine is to run get the reason in `refused`.

    `own` holds the results of irloop's own executor, one for each trial. If `refused`, these are
    the trials that it refused; if `late`, those that a limit ended, because they may be endless.
    """
    pairs = zip(trials, own, strict=True)
    return [
        replace(trial, refused=run.reason)
        if (refused and run.refused) or (late and run.late and not run.refused)
        else trial
        for trial, run in pairs
    ]


def read_side(source: Model | Path) -> Model:
    """Return the model itself, or read it from its path.

    Raises:
        ReadError: when the file is not the model it claims to be.
    """
    if isinstance(source, Model):
        return source
    return model_files.read(source)


def _dialect(given: Model | Path) -> str:
    return given.dialect if isinstance(given, Model) else detect_for_engines(given)


def _side(source: Model | Path) -> Side:
    if isinstance(source, Model):
        return Side(source, None)
    return Side(read_side(source), None if is_onnx_text(source) else os.fspath(source))


def _with_input_types(
    sides: tuple[Side, Side],
    shapes: Mapping[str, Shape | Sequence[int | None]],
    types: Mapping[str, str],
    *,
    converted: bool,
) -> tuple[Side, Side]:
    """Set `shapes` and `types` of inputs, by name, in copies of the models of both sides.

    A model that was `converted` with these shapes may have fixed dimensions where they have none.
    """
    left, right = (side.model for side in sides)
    for name in (*shapes, *types):
        if not has_input(left, name) and not has_input(right, name):
            names = ", ".join(node.name for node in left.graph.parameters)
            raise UsageError(f"no input is called {name!r}", expected=f"one of the inputs {names}")
    first = _told_side(sides[0], shapes, types)
    return first, _told_side(sides[1], shapes, types, keeps_fixed=converted)


def _told_side(
    side: Side,
    shapes: Mapping[str, Shape | Sequence[int | None]],
    types: Mapping[str, str],
    *,
    keeps_fixed: bool = False,
) -> Side:
    own_shapes = {name: item for name, item in shapes.items() if has_input(side.model, name)}
    own_types = {name: item for name, item in types.items() if has_input(side.model, name)}
    if not own_shapes and not own_types:
        return side
    model = clone_model(side.model)
    set_input_types(model, own_types)
    set_input_shapes(model, own_shapes, keeps_fixed=keeps_fixed)
    Inference(tolerant=True).run(model.graph)
    # An engine may be unable to run a file with unknown element types. It gets the model with the
    # given types instead.
    pairs = zip(side.model.graph.inputs, model.graph.inputs, strict=True)
    keeps_types = all(element_of(old) is element_of(new) for old, new in pairs)
    return Side(model, side.file if keeps_types else None)


def _structure(sides: tuple[Side, Side]) -> Iterator[str]:
    first, second = (side.model.graph for side in sides)
    for what, left, right in (
        ("inputs", first.parameters, second.parameters),
        ("outputs", first.results, second.results),
    ):
        if len(left) != len(right):
            yield f"{len(left)} {what} against {len(right)}"
            return
    for node, position in zip(first.parameters, input_positions(first, second), strict=True):
        if position is None:
            continue
        mine, other = node.outputs[0].type, second.input(position).type
        if not _accept_the_same(mine, other):
            yield f"input {node.name!r} is {mine} in the first model and {other} in the second"


def _accept_the_same(mine: ValueType, other: ValueType) -> bool:
    """Return whether two inputs can take the same arrays: numbers of one kind, of one shape."""
    if not isinstance(mine, TensorType) or not isinstance(other, TensorType):
        return True
    elements = mine.element, other.element
    is_known = ElementType.DYNAMIC not in elements
    if is_known and len({(item.is_float, item.is_integer) for item in elements}) > 1:
        return False
    return mine.shape.refine(other.shape) is not None


def _named(sides: tuple[Side, Side]) -> Iterator[str]:
    """Yield a text with the names of the inputs and of the outputs of each model."""
    for word, side in zip(("first", "second"), sides, strict=True):
        graph = side.model.graph
        inputs = _listed(len(graph.parameters), "input", [node.name for node in graph.parameters])
        outputs = _listed(len(graph.results), "output", output_names(graph))
        yield f"the {word} model has {inputs} and {outputs}"


def _listed(count: int, what: str, names: Sequence[str]) -> str:
    """Describe inputs or outputs by their number and the first of their names."""
    words = f"{count} {what}{'' if count == 1 else 's'}"
    known = [name for name in names if name]
    more = ", ..." if len(known) > NAMED else ""
    return f"{words} ({', '.join(known[:NAMED])}{more})" if known else words


class _Work:
    """One comparison: the models, the engines and the result."""

    def __init__(
        self,
        sides: tuple[Side, Side],
        lanes: Sequence[Lane],
        missing: Sequence[Engine],
        processes: Lanes,
        tolerance: Tolerance,
        seconds: float,
    ) -> None:
        self._sides = sides
        self._lanes = lanes
        self._missing = tuple(engine.name for engine in missing)
        self._processes = processes
        self._tolerance = tolerance
        self._seconds = seconds
        #: How often each loop may run in irloop's executor.
        self.iterations = ITERATIONS
        #: True if the second model was made from the first.
        self.is_converted = False
        first, second = (side.model for side in sides)
        #: True if the formats differ: rounding half precision after each operation would hide
        #: smaller differences.
        self.widen = True if first.dialect != second.dialect else None
        self._engines = (self._engine(0), self._engine(1))

    def _engine(self, side: int) -> str:
        return next((lane.engine.name for lane in self._lanes if lane.side == side), "")

    def refused(self, problems: Sequence[str]) -> Comparison:
        """Make the report for two models whose inputs or outputs do not correspond."""
        notes = tuple(_named(self._sides))
        return Comparison(DIFFERENT, self._engines, (), (), None, tuple(problems), (), notes=notes)

    def compared(self, trials: Sequence[Trial], own: Sequence[Run]) -> Comparison:
        """Compare the results of all trials in all engines, and make the report.

        `own` are the first model's results in irloop's executor.
        """
        first, second = (side.model for side in self._sides)
        is_judge = Lane(0, NUMPY) in self._lanes
        # If a limit ended all runs of the executor, the engines try them.
        ended = not any(run.outputs is not None for run in own) and any(run.late for run in own)
        # Engines that are named without irloop's executor have limits of their own.
        trials = _with_refusals(trials, own, refused=is_judge, late=not ended)
        if not is_judge and all(run.refused for run in own):
            self._processes.load(0, self._sides[0])
        seconds = min(self._seconds, SECONDS_ALONE) if ended else self._seconds
        futures = self._processes.start(0, trials, seconds)
        others = self._for_second_model(trials)
        runs: dict[Lane, Sequence[Run]] = {}
        if Lane(0, NUMPY) in self._lanes:
            runs[Lane(0, NUMPY)] = own
        if Lane(1, NUMPY) in self._lanes:
            # irloop's own executor comes first, because an engine gets only the trials that the
            # executor did not refuse.
            runs[Lane(1, NUMPY)] = run_inside(
                second,
                others,
                self._seconds,
                iterations=self.iterations,
                widen=self.widen,
                affordable=lambda: self._processes.load(1, self._sides[1]),
            )
            mine = runs[Lane(1, NUMPY)]
            others = _with_refusals(others, mine, refused=True, late=not ended)
        elif not all(trial.refused for trial in others):
            self._processes.load(1, self._sides[1])
        futures |= self._processes.start(1, others, seconds)
        waiting = counted("engines", futures.items(), len(futures))
        runs |= {lane: future.result() for lane, future in waiting}
        problems = [text for lane in runs for text in self._miscounted(lane, runs[lane])]
        if problems:
            return self.refused(problems)
        places = output_positions(first.graph, second.graph)
        order = tuple(at for at in places if at is not None)
        looped = outputs_of_loops(first.graph), outputs_of_loops(second.graph)
        judge = Judge(
            self._tolerance,
            (output_names(first.graph), output_names(second.graph)),
            order,
            tuple(item or looped[1][at] for item, at in zip(looped[0], order, strict=True)),
        )
        explainer = Explainer(
            self._sides,
            self._processes,
            judge,
            (trials, others),
            runs,
            self._seconds,
            self.is_converted,
        )
        tally = Tally(judge, explainer, runs, trials, seconds=seconds)
        tally.count()
        divergence, cause = None, None
        shown = None
        if tally.failed:
            numbers = tally.failed[:EXPLAINED]
            numbers += [] if tally.stopped is None else [tally.stopped]
            pairs = [(trials[at].arrays, others[at].arrays) for at in numbers]
            best, cause = self._best_cause(pairs)
            shown = numbers[best]
            divergence = self._divergence(pairs[best])
        else:
            traced = tally.stopped
            if traced is None and not tally.has_compared and tally.outcome() == INCONCLUSIVE:
                traced = 0 if tally.limited is None and trials else tally.limited
            if traced is not None:
                arrays = trials[traced].arrays, others[traced].arrays
                # If a limit ended this trial, trace fewer iterations, so that the trace does not
                # reach the same limit.
                most = self.iterations // FEWER if own[traced].late else None
                cause = self._cause(arrays, most)
        # If there is no report, `problems` already contains the first reason why a trial was
        # skipped, so leave it out here.
        skipped = list(tally.skipped())[0 if tally.reports else 1 :]
        return Comparison(
            tally.outcome(),
            self._engines,
            tally.outputs(),
            tuple(tally.reports),
            divergence,
            tuple(tally.problems()),
            (*not_exercised(first, own), *skipped),
            tuple(exercised(first, own)),
            tuple(tally.not_compared()),
            tuple(tally.engines()),
            self._missing,
            tuple(tally.notes()),
            cause,
            tally.unrun(),
            self._evidence(tally, trials, others, own, shown),
        )

    def _miscounted(self, lane: Lane, runs: Sequence[Run]) -> Iterator[str]:
        """Yield a text if an engine returns another number of outputs than the model has.

        Then the engine runs another model than the one that irloop has read.
        """
        names = output_names(self._sides[lane.side].model.graph)
        for run in runs:
            if run.outputs is None or len(run.outputs) == len(names):
                continue
            yield (
                f"the {lane.model} model has {_listed(len(names), 'output', names)}, but "
                f"{lane.engine} returns {_listed(len(run.outputs), 'output', run.names)}"
            )
            return

    def _evidence(
        self,
        tally: Tally,
        trials: Sequence[Trial],
        others: Sequence[Trial],
        own: Sequence[Run],
        shown: int | None,
    ) -> Evidence | None:
        """Collect the evidence from one trial: the two models, the inputs, and the tolerance.

        The trial is the first that exists of these three:

        - the trial at position `shown`, which shows the difference;
        - the first trial in which the second model failed;
        - the first trial for which irloop's executor returned outputs, according to `own`.

        Returns None if none of them exists. `trials` and `others` hold the inputs of the first and
        of the second model.
        """
        ran = next((at for at, run in enumerate(own) if run.outputs is not None), None)
        number = next((at for at in (shown, tally.stopped, ran) if at is not None), None)
        if number is None:
            return None
        return Evidence(
            trials[number].label,
            (self._sides[0].model, self._sides[1].model),
            (trials[number].arrays, others[number].arrays),
            self._tolerance,
            self._seconds,
            self.widen,
        )

    def _for_second_model(self, trials: Sequence[Trial]) -> list[Trial]:
        """Convert the trials of the first model to trials of the second.

        Each array moves to the position of the corresponding input of the second model. An integer
        array also gets the integer type of that input.
        """
        first, second = (side.model.graph for side in self._sides)
        places = input_positions(first, second)
        parameters = second.inputs
        others = []
        for trial in trials:
            arrays: list[Any] = [None] * len(parameters)
            for at, value in zip(places, trial.arrays, strict=False):
                if at is not None:
                    arrays[at] = converted(value, parameters[at].type)
            others.append(replace(trial, arrays=tuple(arrays), idle=False))
        return others

    def _divergence(self, arrays: tuple[Sequence[Any], Sequence[Any]]) -> Divergence | None:
        from irloop.comparison.divergence import (
            find_divergence,
        )  # needed only for models that differ

        first, second = (side.model for side in self._sides)
        try:
            return find_divergence(
                first, second, arrays, self._tolerance, seconds=self._seconds, widen=self.widen
            )
        except IrloopError:
            # Only irloop's own executor can be traced. Without it only the outputs are compared.
            return None

    def _best_cause(
        self, pairs: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    ) -> tuple[int, Cause | None]:
        """Return the most telling cause of a difference, and the position of its pair of inputs.

        Each pair holds the inputs of the first and of the second model. The first cause that is not
        just a difference of shapes wins. All pairs are tried, because a loop may run zero
        iterations with the inputs of one pair, and more with those of a later pair. If no pair
        shows such a cause, returns 0 and the result for the first pair: a cause or None.
        """
        causes = []
        for index, arrays in enumerate(pairs):
            causes.append(self._cause(arrays))
            if causes[-1] is not None and causes[-1].kind != "shape":
                return index, causes[-1]
        return 0, causes[0]

    def _cause(
        self, arrays: tuple[Sequence[Any], Sequence[Any]], iterations: int | None = None
    ) -> Cause | None:
        from irloop.comparison.causes.cause import find_cause  # needed only for models that differ

        first, second = (side.model for side in self._sides)
        try:
            return find_cause(
                first,
                second,
                arrays,
                self._tolerance,
                seconds=self._seconds,
                widen=self.widen,
                iterations=iterations,
            )
        except IrloopError:
            # The executor cannot trace one of the models, so no cause is known.
            return None
