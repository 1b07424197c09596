"""Explains differences in the results of an engine that are not faults of the conversion.

Reasons are tried in this order: rounding, measured against a run in double precision; the int8
kernels of OpenVINO and of ONNX Runtime; state left over from the previous inference; faults of the
engine, which a rewritten copy of the model avoids; optimisations of ONNX Runtime; 64-bit integers
in OpenVINO; and a model that itself amplifies rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from irloop.comparison.distance import are_floats, are_integers, are_steps, distance, error_of
from irloop.comparison.inputs import Trial
from irloop.comparison.judge import Judge
from irloop.comparison.lanes import NUMPY, Lane, Lanes, Side
from irloop.comparison.long_integers import first_long_integer
from irloop.comparison.runs import Run, limits_of, run_outside, written
from irloop.comparison.twin import safe_twin
from irloop.diagnostics import one_line
from irloop.dialects.classes import classes_of
from irloop.dialects.contrib.base import ContribOp
from irloop.errors import IrloopError
from irloop.execution.session import Session
from irloop.files import scratch
from irloop.graph.record import Record
from irloop.graph.walk import all_nodes

__all__ = ["Explainer", "Reason"]

#: A larger error, relative to the largest value, is never explained by rounding.
ROUNDING = 0.02

#: An error measured against double precision is explained by rounding if it is at most this many
#: times as large as that of another engine.
TIMES = 4.0

#: An error of int8 kernels in the converted model is harmless up to this, relative to the largest
#: value. Larger errors occur: on a processor without VNNI, where sums of products of 8-bit weights
#: saturate, the error of OpenVINO was up to a quarter. Errors in the first model are always
#: harmless.
INT8 = 0.05

#: The option that turns off OpenVINO's int8 kernels (measured); INFERENCE_PRECISION_HINT f32 does
#: not.
F32_KERNELS = {"LP_TRANSFORMS_MODE": "NO"}

#: The option with which ONNX Runtime does not saturate sums of products of u8 and i8.
EXACT_SUMS = {"session.x64quantprecision": "1"}

#: The option with which ONNX Runtime runs the graph as it is written.
AS_WRITTEN = {"optimization": "none"}

#: A quantised output may be one step off in at most this fraction of its elements, or in one
#: element.
STEPS = 0.02

#: How many sets of inputs that differ in their last bits show whether a model amplifies rounding.
NUDGES = 4

_QUANTIZED = classes_of(
    "ConvInteger",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "FakeQuantize",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "QuantizeLinear",
)

Array = np.ndarray[Any, np.dtype[Any]]


class Reason(Record):
    """The reason why one output differs. If it is `harmless`, the conversion is not at fault.

    It proves nothing if the values are `unstable`: they depend on rounding.
    """

    words: str
    harmless: bool = True
    unstable: bool = False


@dataclass(slots=True)
class Explainer:
    """Finds reasons for differences, and keeps the results of the extra runs that it makes.

    A trial is one set of inputs; `trials` holds those of the first and those of the second model. A
    lane is one model in one engine; `runs` maps each lane to its results, one for each trial. If
    the second model was `converted` from the first, faults of the first model's engine are
    harmless.
    """

    sides: tuple[Side, Side]
    lanes: Lanes
    judge: Judge
    trials: tuple[Sequence[Trial], Sequence[Trial]]
    runs: Mapping[Lane, Sequence[Run]]
    seconds: float
    converted: bool = False
    _sessions: dict[tuple[str, int], Session | None] = field(default_factory=dict)
    _exact: dict[tuple[str | int, int, int], list[Any] | None] = field(default_factory=dict)
    _others: dict[tuple[Lane, str], list[Run]] = field(default_factory=dict)
    _twins: dict[Lane, tuple[list[Run], str]] = field(default_factory=dict)
    _long_integers: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)
    _reasons: dict[tuple[Lane, int, int], Reason | None] = field(default_factory=dict)

    def reason(self, lane: Lane, number: int, place: int, wanted: Any) -> Reason | None:
        """Return the reason why an output differs from `wanted`; None if none is found.

        The output is the one at position `place` in the trial with the number `number`, as computed
        in `lane`.
        """
        key = (lane, number, place)
        if key not in self._reasons:
            self._reasons[key] = self._search_reason(lane, number, place, wanted)
        return self._reasons[key]

    def _search_reason(self, lane: Lane, number: int, place: int, wanted: Any) -> Reason | None:
        actual = self.judge.ordered(lane, self.runs[lane][number])[place]
        looks = [self._rounding, self._one_step]
        if lane.engine != NUMPY:
            looks += [
                self._int8,
                self._saturated,
                self._alone,
                self._twin,
                self._optimized,
                self._long,
            ]
        for look in (*looks, self._amplified):
            reason = look(lane, number, place, wanted, actual)
            if reason is not None:
                return reason
        return None

    def _rounding(
        self, lane: Lane, number: int, place: int, wanted: Any, made: Any
    ) -> Reason | None:
        if not are_floats(wanted, made) or self.judge.tolerance.is_given:
            return None
        if not self.trials[0][number].reset:
            # The model's variables hold values of the previous trial.
            return None
        exact = self._in_numpy("double", number)
        if exact is None:
            return None
        own = error_of(made, exact[place])
        if own is None or own > ROUNDING:
            return None
        if lane.side == 1 and self._is_other_even_in_double(number, place, exact[place], own):
            return None
        best, who = 0.0, ""
        for other, values in self._rivals(lane, number, place):
            error = error_of(values, exact[place])
            if error is not None and best < error <= ROUNDING:
                best, who = error, other
        if not best or own > TIMES * best:
            return None
        return Reason(
            f"rounding: {own:.2g} of the largest value away from double precision, {who} {best:.2g}"
        )

    def _is_other_even_in_double(self, number: int, place: int, exact: Any, own: float) -> bool:
        """Return whether the second model itself is wrong at output `place`, beyond rounding.

        In the trial `number`, an engine computed this output of the second model with the error
        `own`; `exact` is the expected output. The model itself is wrong if its error is of similar
        size when it is computed in double precision.
        """
        second = self._in_numpy("double", number, 1)
        error = None if second is None else error_of(second[self.judge.places[place]], exact)
        return error is not None and error * TIMES > own

    def _one_step(
        self, lane: Lane, number: int, place: int, wanted: Any, computed: Any
    ) -> Reason | None:
        """Explain a difference of at most one quantisation step in few elements as rounding.

        Returns None if the model is not quantised, or if the difference is larger or more frequent.
        The result in double precision must also be within one step of both outputs.

        `wanted` and `computed` are the expected and the actual values of output `place` in trial
        `number`.
        """
        if self.judge.tolerance.is_given or not self._is_quantized():
            return None
        if not are_steps(wanted, computed):
            return None
        exact = self._in_numpy("double", number)
        if exact is None or not are_steps(exact[place], computed):
            return None
        if not are_steps(wanted, exact[place]):
            return None
        count = int(np.count_nonzero(wanted != computed))
        if count > max(1, STEPS * wanted.size):
            return None
        return Reason(f"rounding: one quantisation step in {count} of {wanted.size} elements")

    def _is_quantized(self) -> bool:
        graphs = [side.model.graph for side in self.sides]
        nodes = (node for graph in graphs for node in all_nodes(graph))
        return any(isinstance(node.op, (*_QUANTIZED, ContribOp)) for node in nodes)

    def _rivals(self, lane: Lane, number: int, place: int) -> list[tuple[str, Any]]:
        """Collect the values of output `place` in trial `number` from sources other than `lane`.

        They come from the other engines, and from NumPy in the declared precision. Each value comes
        with a phrase that names its origin. If these values are far from the result in double
        precision, the output is hard to compute.
        """
        values = [
            (f"the {other.model} model in {other.engine.name} is", self.judge.ordered(other, run))
            for other, runs in self.runs.items()
            if other != lane and (run := runs[number]).outputs is not None
        ]
        plain = self._in_numpy("as declared", number)
        if plain is not None:
            values.append(("numpy in the declared precision is", plain))
        return [(name, outputs[place]) for name, outputs in values]

    def _in_numpy(self, how: str | int, number: int, side: int = 0) -> list[Any] | None:
        """Run a model in NumPy with the inputs of trial `number`; return its outputs.

        None if the run fails. `how` is the precision: "double" or "as declared"; a number means as
        declared, with inputs that differ in their last bits. `side` selects the model.
        """
        key = (how, number, side)
        model = ("as declared" if isinstance(how, int) else how, side)
        if key not in self._exact:
            trial = self.trials[side][number]
            if isinstance(how, int):
                trial = replace(trial, arrays=_nudged(trial.arrays, how))
            try:
                if model not in self._sessions:
                    double = how == "double"
                    made = Session(self.sides[side].model, widen=False, double=double)
                    self._sessions[model] = made
                session = self._sessions[model]
                if session is not None:
                    session.reset()
                done = (
                    None
                    if session is None
                    else session.run(trial.arrays, limits=limits_of(self.seconds))
                )
                self._exact[key] = None if done is None else list(done.values())
            except IrloopError:
                self._sessions.setdefault(model, None)
                self._exact[key] = None
        return self._exact[key]

    def _int8(self, lane: Lane, number: int, place: int, wanted: Any, made: Any) -> Reason | None:
        if lane.engine.name != "openvino" or not are_floats(wanted, made):
            return None
        if not self._is_quantized():
            return None
        run = self._again(lane, "f32 kernels", F32_KERNELS)[number]
        if run.outputs is None:
            return None
        plain = self.judge.ordered(lane, run)[place]
        error = error_of(made, plain)
        if error is None or not self.judge.agree(wanted, plain):
            return None
        apart = float(np.abs(made.astype(np.float64) - plain.astype(np.float64)).max())
        return Reason(
            f"OpenVINO's int8 kernels differ by {apart:.2g} from its own f32, which agrees "
            "(LP_TRANSFORMS_MODE: NO)",
            harmless=self._is_source(lane) or error <= INT8,
        )

    def _saturated(
        self, lane: Lane, number: int, place: int, wanted: Any, computed: Any
    ) -> Reason | None:
        """Return a reason if exact integer sums in ONNX Runtime remove a difference.

        On x64 processors without VNNI, the default kernels of ONNX Runtime add two products of u8
        and i8 in i16, where the sum saturates. The difference is that of output `place` in trial
        `number`: `wanted` is the expected value, `computed` the value that the engine of `lane`
        computed. For other engines, and for models without quantisation, the result is None.
        """
        if lane.engine.name != "onnxruntime" or not self._is_quantized():
            return None
        run = self._again(lane, "exact sums", EXACT_SUMS)[number]
        if run.outputs is None:
            return None
        plain = self.judge.ordered(lane, run)[place]
        if not self.judge.agree(wanted, plain) or np.array_equal(computed, plain):
            return None
        error = error_of(computed, plain)
        same = self.sides[0].model.dialect == self.sides[1].model.dialect
        small = error is not None and error <= INT8
        return Reason(
            "ONNX Runtime's int8 kernels add products of u8 and i8 in pairs that saturate at i16 on"
            " this processor; with exact sums it agrees (session.x64quantprecision: 1)",
            harmless=self._is_source(lane) or same or small,
        )

    def _optimized(
        self, lane: Lane, number: int, place: int, wanted: Any, made: Any
    ) -> Reason | None:
        """Return a reason if ONNX Runtime agrees once it does not optimise the graph.

        In trial `number`, `made` is output `place` as `lane` computed it, and `wanted` the
        expected value.
        """
        if lane.engine.name != "onnxruntime":
            return None
        run = self._again(lane, "as written", AS_WRITTEN)[number]
        if run.outputs is None:
            return None
        plain = self.judge.ordered(lane, run)[place]
        rest, apart = distance(wanted, plain), distance(plain, made)
        if not self.judge.agree(wanted, plain) and (rest > ROUNDING or rest * TIMES > apart):
            return None
        return Reason(
            f"ONNX Runtime differs by {apart:.2g} of the largest value from "
            "itself without graph optimisations, where it agrees (ORT_DISABLE_ALL)",
            harmless=self._is_source(lane),
        )

    def _long(self, lane: Lane, number: int, place: int, wanted: Any, made: Any) -> Reason | None:
        """Return a reason if OpenVINO differs in integers and the model computes long ones.

        No option of OpenVINO's CPU computes them in 64 bits, so the reason is not proved by a run.
        """
        if lane.engine.name != "openvino" or not are_integers(wanted, made):
            return None
        key = lane.side, number
        if key not in self._long_integers:
            model, arrays = self.sides[lane.side].model, self.trials[lane.side][number].arrays
            self._long_integers[key] = first_long_integer(model, arrays, limits_of(self.seconds))
        path, reached = self._long_integers[key]
        if not path:
            return None
        return Reason(
            f"{one_line(path)} computes {reached}, and OpenVINO's CPU computes i64 in 32 bits",
            harmless=self._is_source(lane),
        )

    def _alone(self, lane: Lane, number: int, place: int, wanted: Any, found: Any) -> Reason | None:
        """Find out whether an output is wrong because of state that an earlier inference left.

        Runs the trial alone. Returns the reason if the output then agrees with `wanted`, the
        expected result, else None. `number` is the position of the trial, `place` that of the
        output. `found`, the differing result, is not used.
        """
        if number == 0 or not self.trials[0][number].reset:
            return None
        key = (lane, f"alone {number}")
        if key not in self._others:
            file = self.lanes.file(lane.side, self.sides[lane.side])
            if isinstance(file, IrloopError):
                return None
            with self.lanes.process(lane.engine, file) as process:
                trials = [self.trials[lane.side][number]]
                self._others[key] = run_outside(process, trials, self.seconds)
        (run,) = self._others[key]
        if run.outputs is None:
            return None
        if not self.judge.agree(wanted, self.judge.ordered(lane, run)[place]):
            return None
        return Reason(
            f"{lane.engine} returns the right value in the first inference of a compiled model, "
            "but here a value that an earlier inference left",
            harmless=self._is_source(lane),
        )

    def _is_source(self, lane: Lane) -> bool:
        """Return whether `lane` runs the model from which the other one was converted."""
        return self.converted and lane.side == 0

    def _twin(self, lane: Lane, number: int, place: int, wanted: Any, found: Any) -> Reason | None:
        """Return a reason if avoiding the engine's known faults removes a difference.

        The engine of `lane` runs a copy of the model that is rewritten to avoid these faults. The
        result is a reason if output `place` of the copy in trial `number` agrees with the expected
        value `wanted`. Otherwise it is None, also if there is no such copy, or if the copy does not
        run.

        A converted model is not examined: the result is None.
        """
        if self.converted and lane.side == 1:
            return None
        if lane not in self._twins:
            self._twins[lane] = self._run_twin(lane)
        runs, why = self._twins[lane]
        if not runs or runs[number].outputs is None:
            return None
        if not self.judge.agree(wanted, self.judge.ordered(lane, runs[number])[place]):
            return None
        return Reason(why, harmless=self._is_source(lane))

    def _run_twin(self, lane: Lane) -> tuple[list[Run], str]:
        """Run all trials with a copy of the model in which the faults of the engine are rewritten.

        Returns the runs, and what is wrong with the engine if they are right. Both are empty if
        there is no such copy, or if it would be the file that the engine ran.
        """
        side = self.sides[lane.side]
        with scratch() as folder:
            try:
                twin, faults = safe_twin(side.model, lane.engine.name) or (None, ())
                if twin is None or not (faults or side.file):
                    return [], ""
                file = written(twin, Path(folder))
            except IrloopError:
                return [], ""
            with self.lanes.process(lane.engine, file) as process:
                runs = run_outside(process, self.trials[lane.side], self.seconds)
        if not faults:
            return runs, (
                f"{lane.engine} computes the file wrongly: it returns the right value for the same "
                "model as irloop writes it"
            )
        codes = ", ".join(fault.code for fault in faults)
        return runs, (
            f"a known fault of {lane.engine} ({codes}): it returns the right value if the model is "
            "rewritten to avoid the fault"
        )

    def _amplified(
        self, lane: Lane, number: int, place: int, wanted: Any, made: Any
    ) -> Reason | None:
        """Return a reason if rounding alone changes output `place` of both models much.

        `made` may differ from `wanted` a few times as much as rounding changes the output in trial
        `number`, or as it likes if that is more than `ROUNDING`.
        """
        if self.judge.tolerance.is_given or not self.trials[0][number].reset:
            return None
        places = place, self.judge.places[place]
        spreads = [self._spread(number, side, at) for side, at in enumerate(places)]
        # Whether a code of a quantised value is rounded up or down is a matter of chance, and so is
        # how much this changes.
        spread = max(spreads) if self._is_quantized() and all(spreads) else min(spreads)
        apart = distance(wanted, made)
        if not spread or not (spread > ROUNDING or spread * TIMES >= apart):
            return None
        return Reason(
            f"the model itself amplifies rounding: it differs by {spread:.2g} of the largest value "
            f"if inputs change in their last bits, and here by {apart:.2g}",
            unstable=apart > ROUNDING,
        )

    def _spread(self, number: int, side: int, place: int) -> float:
        """Return how much rounding changes output `place` of a model in trial `number`.

        The output in the declared precision is compared with that in double precision, and with
        those for inputs that differ in their last bits. The result is relative to the largest value
        (see `distance`), and 0 where all of them agree.
        """
        plain = self._in_numpy("as declared", number, side)
        if plain is None:
            return 0.0
        spread = 0.0
        for how in ("double", *range(NUDGES)):
            other = self._in_numpy(how, number, side)
            if other is not None and not self.judge.agree(plain[place], other[place]):
                spread = max(spread, distance(plain[place], other[place]))
        return spread

    def _again(self, lane: Lane, how: str, options: dict[str, str]) -> list[Run]:
        """Run all trials of `lane` again, in a new process whose engine has other `options`.

        A lane is one of the two models in one engine. `how` is a name for the options, under which
        the runs are cached: one run per trial.
        """
        key = (lane, how)
        if key not in self._others:
            file = self.lanes.file(lane.side, self.sides[lane.side])
            if isinstance(file, IrloopError):
                return [Run() for _ in self.trials[lane.side]]
            with self.lanes.process(lane.engine, file, options) as process:
                self._others[key] = run_outside(process, self.trials[lane.side], self.seconds)
        return self._others[key]


def _nudged(arrays: Sequence[Any], seed: int) -> tuple[Any, ...]:
    """Return inputs of which each f32 or f64 number is the next one above or below, by chance.

    A zero becomes a number as small as an error of rounding numbers near 1.
    """
    random = np.random.default_rng(seed)
    made: list[Any] = []
    for array in arrays:
        if isinstance(array, np.ndarray) and array.dtype in (np.float32, np.float64):
            step = np.finfo(array.dtype).eps * np.where(array == 0, 1, np.abs(array))
            sign = random.choice([-1.0, 1.0], array.shape)
            made.append((array + sign * step).astype(array.dtype))
        else:
            made.append(array)
    return tuple(made)
