"""Runs most iterations of a loop body without allocating new arrays for results.

Arrays for the results are allocated once, and each iteration writes into them again. A step
qualifies if its kernel can write into a given array, if its result has the same shape and element
type in every iteration, and if nothing reads the result after the iteration.

The types in a file may be wrong. So one iteration first runs in the ordinary way, and the arrays
are allocated with the shapes of its results. Views of such arrays, for instance the parts of a
Split, are made once as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.dialects.onnx import slicing as onnx_slicing
from irloop.dialects.openvino import slicing as openvino_slicing
from irloop.execution.failure import StepError, failure_of
from irloop.execution.program import CONTEXT, Step
from irloop.execution.straight import MOST_STEPS, Cycle, Stretch, stretch
from irloop.graph.model import Node
from irloop.graph.op import Kernel
from irloop.kernels.writers import Writer, writer_of

__all__ = ["Buffered", "buffered"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Maximum number of bytes of a Split for which one call for all parts is faster than one call per
#: part.
ONE_CALL = 1 << 16

_SPLITS = (
    onnx_slicing.Split,
    onnx_slicing.Split13,
    onnx_slicing.Split18,
    openvino_slicing.Split,
    openvino_slicing.VariadicSplit,
)


@dataclass(frozen=True, slots=True)
class Buffered:
    """The steps of a body, and the slots whose values live in arrays that are allocated once.

    A slot is the number of a value in the body. `keep` are the slots that steps fill and that are
    read after an iteration. `written` are the slots whose steps write into such an array, and
    `viewed` are the slots that hold views of these arrays. `last` maps each written slot to the
    index of the last step that reads it or a view of it.

    `stable` are the slots that have the same shape and element type in all iterations, provided
    that the first iteration changes neither of the two for the states in `carries`, which holds the
    (parameter, result) slots of each state.
    """

    steps: tuple[Step, ...]
    keep: frozenset[int]
    written: frozenset[int]
    viewed: frozenset[int]
    last: dict[int, int]
    stable: frozenset[int]
    carries: tuple[tuple[int, int], ...]

    def prepare(self, slots: list[Any], cycle: Cycle) -> Stretch | None:
        """Run the first iteration, and return a function that runs the remaining iterations.

        `slots` lists the values of the body by slot number. It must contain the operands of the
        first iteration. The results of this iteration are stored in those slots that `keep` lists.
        `cycle` describes what the loop does before and after each iteration.

        The result is None if the iteration changes the type or shape of a state. The caller must
        then run the remaining iterations without preallocated arrays.

        Raises:
            StepError: when a step fails; the error names the node of the step.
        """
        seen = slots + [None] * (1 + max(slot for step in self.steps for slot in step.outs))
        for step in self.steps:
            _compute(step, seen)
        for slot in self.keep:
            slots[slot] = seen[slot]
        for before, after in self.carries:
            if _kind(seen[before]) != _kind(seen[after]):
                return None
        arrays = self._arrays(seen)
        pieces: list[tuple[Kernel, tuple[int, ...], tuple[int, ...], Node]] = []
        for step in self.steps:
            first = step.outs[0]
            if first in self.viewed and first in arrays:
                continue
            fn = _writer(step, seen) if first in self.written and first in arrays else None
            pieces.append((fn or step.fn, step.ins, step.outs, step.node))
        return stretch(pieces, self.keep, arrays, self.written & arrays.keys(), cycle)

    def _arrays(self, seen: Sequence[Any]) -> dict[int, Array]:
        """Allocate arrays for the slots `written`, and make views for the slots `viewed`.

        Returns the arrays and views, keyed by slot. `seen` holds the value of each slot from an
        earlier iteration, which shows the shape and element type. Two slots may share an array
        if they are not needed at the same time. A slot is left out if its value in `seen` is not an
        array, if its kernel cannot write into an array, or if it would be a copy instead of a view.
        """
        arrays: dict[int, Array] = {}
        free: dict[object, list[Array]] = {}
        ends: dict[int, list[int]] = {}
        for slot, end in self.last.items():
            ends.setdefault(end, []).append(slot)
        for at, step in enumerate(self.steps):
            first = step.outs[0]
            # Elementwise functions of NumPy may write over an operand, but other kernels may not.
            in_place = isinstance(step.fn, np.ufunc) and step.fn.signature is None
            done = [slot for slot in ends.get(at, ()) if slot != first and slot in arrays]
            if in_place:
                _release(done, arrays, free)
            value = seen[first]
            if first in self.viewed and step.ins[0] in arrays:
                arrays.update(_views(step, seen, arrays[step.ins[0]]))
            elif first in self.written and _is_plain(value) and _writer(step, seen) is not None:
                found = free.get(_layout(value))
                arrays[first] = found.pop() if found else np.empty_like(value)
            if not in_place:
                _release(done, arrays, free)
        return arrays


def buffered(
    steps: Sequence[Step],
    keep: Collection[int],
    fixed: Collection[int],
    carries: Sequence[tuple[int, int]],
    growing: Collection[int],
) -> Buffered | None:
    """Find the steps of a loop body whose results can live in arrays that are allocated once.

    A slot is the number of a value in the body. `keep` holds the slots that are read after an
    iteration, `fixed` the slots whose values are the same in all iterations, and `carries` the
    (parameter, result) slots of the states. `growing` holds the slots of those body results whose
    static types leave the shape open.

    Returns None if the steps do not prove that every slot in `growing` has the same shape in all
    iterations, if no step qualifies, or if there are more than `MOST_STEPS` steps.
    """
    if len(steps) > MOST_STEPS:
        return None
    merged = _one_call_for_parts(steps)
    stable, steady = _stable(merged, fixed, carries)
    if not stable.issuperset(growing):
        return None
    escaping = _escaping(merged, keep, fixed, stable)
    written: set[int] = set()
    viewed: set[int] = set()
    owner: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, step in enumerate(merged):
        for slot in step.ins:
            if slot in owner:
                last[owner[slot]] = number
        first = step.outs[0]
        if _is_view(step, fixed) and step.ins[0] in owner:
            viewed.update(step.outs)
            owner.update(dict.fromkeys(step.outs, owner[step.ins[0]]))
        elif first in stable and first not in escaping and _writes(step):
            written.add(first)
            owner[first] = first
            last[first] = number
    if not written:
        return None
    return Buffered(
        tuple(merged),
        frozenset(keep) & {slot for step in merged for slot in step.outs},
        frozenset(written),
        frozenset(viewed),
        last,
        frozenset(stable),
        tuple((before, after) for before, after in carries if before in steady),
    )


def _stable(
    steps: Sequence[Step], fixed: Collection[int], carries: Sequence[tuple[int, int]]
) -> tuple[set[int], set[int]]:
    """Find the slots whose shape and element type are the same in every iteration.

    `fixed` holds the slots whose values are the same in all iterations. `carries` holds a pair for
    each state: the slot of the state, and the slot of its next value. A state is stable only if its
    next value is stable; its initial value is assumed to have the right shape.

    Returns all stable slots, and those of them that belong to states.
    """
    made = {slot for step in steps for slot in step.outs}
    states = {before for before, _ in carries}
    entering = {slot for step in steps for slot in step.ins} - made - states - {CONTEXT}
    entering.update(after for _, after in carries if after not in made and after not in states)
    steady = set(states)
    while True:
        stable = entering | steady
        for step in steps:
            known = _writes(step) or _is_view(step, fixed) or step.node.op.elementwise
            if known and stable.issuperset(step.ins):
                stable.update(step.outs)
        lost = {before for before, after in carries if before in steady and after not in stable}
        if not lost:
            return stable, steady
        steady -= lost


def _escaping(
    steps: Sequence[Step], keep: Collection[int], fixed: Collection[int], stable: set[int]
) -> set[int]:
    """Return the slots whose value, or a view of it, may be needed after the iteration.

    Their memory must not be reused in the next iteration.
    """
    escaping = set(keep)
    for step in reversed(steps):
        if _writes(step):
            continue
        is_local = stable.issuperset(step.outs) and escaping.isdisjoint(step.outs)
        if not (_is_view(step, fixed) and is_local):
            escaping.update(step.ins)
    return escaping


def _one_call_for_parts(steps: Sequence[Step]) -> list[Step]:
    """Rewrite steps so that a function is called once before a small Split, not on each part.

    The Split then splits the result of the function. This is done for an elementwise function that
    is applied to at least two parts, if these make up at least half of the tensor. The results for
    the other parts are not read. Returns the new list of steps.
    """
    rewritten = list(steps)
    free = 1 + max((slot for step in steps for slot in (*step.ins, *step.outs)), default=0)
    for split in steps:
        if not isinstance(split.node.op, _SPLITS) or not 0 < (split.size or 0) <= ONE_CALL:
            continue
        for group in _same_function(rewritten, split):
            if 2 * sum(step.size or 0 for step in group) < (split.size or 0):
                continue
            of_part = {step.ins[0]: step.outs[0] for step in group}
            joint, free = free, free + 1
            parts = []
            for slot in split.outs:
                parts.append(of_part.get(slot, free))
                free += slot not in of_part
            first = group[0]
            at = rewritten.index(split) + 1
            rewritten[at:at] = [
                first._replace(ins=split.ins[:1], outs=(joint,), size=split.size),
                split._replace(ins=(joint, *split.ins[1:]), outs=tuple(parts)),
            ]
            rewritten = [step for step in rewritten if step not in group]
    return rewritten


def _same_function(steps: Iterable[Step], split: Step) -> list[list[Step]]:
    """Group the steps that apply the same function to different outputs of the step `split`.

    Each group has at least two steps.
    """
    groups: dict[int, dict[int, Step]] = {}
    for step in steps:
        reads_a_part = len(step.ins) == 1 and step.ins[0] in split.outs
        if reads_a_part and _writes(step) and step.node.op.elementwise:
            groups.setdefault(id(step.fn), {}).setdefault(step.ins[0], step)
    return [list(group.values()) for group in groups.values() if len(group) > 1]


def _writes(step: Step) -> bool:
    return len(step.outs) == 1 and CONTEXT not in step.ins and writer_of(step.fn) is not None


def _is_view(step: Step, fixed: Collection[int]) -> bool:
    op = step.node.op
    if not op.reshapes and not isinstance(op, _SPLITS):
        return False
    return CONTEXT not in step.ins and all(slot in fixed for slot in step.ins[1:])


def _compute(step: Step, slots: list[Any]) -> None:
    """Call the function of one step and store its results.

    The code that `straight` generates does the same.
    """
    try:
        result = step.fn(*[slots[slot] for slot in step.ins])
        results = (result,) if len(step.outs) == 1 else result
        for slot, value in zip(step.outs, results, strict=False):
            slots[slot] = value
    except StepError:
        raise
    except Exception as error:
        raise failure_of(step.node, error) from error


def _kind(value: Any) -> object:
    """The shape and the element type of a tensor; for any other value, its Python class."""
    if isinstance(value, np.ndarray | np.generic):
        return value.shape, value.dtype
    return type(value)


def _layout(value: Array) -> object:
    return value.shape, value.dtype, value.strides


def _release(
    slots: Iterable[int], arrays: dict[int, Array], free: dict[object, list[Array]]
) -> None:
    for slot in slots:
        free.setdefault(_layout(arrays[slot]), []).append(arrays[slot])


def _is_plain(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.dtype.hasobject


def _views(step: Step, seen: Sequence[Any], source: Array) -> dict[int, Array]:
    """Run a step on `source`, and return its results by slot if all are views of `source`.

    `source` replaces the first input of the step; the other inputs are taken from `seen`, which
    holds a value for each slot. The returned dict is empty if any result is not a view.
    """
    made = step.fn(source, *[seen[slot] for slot in step.ins[1:]])
    results = made if isinstance(made, tuple) else (made,)
    views = dict(zip(step.outs, results, strict=False))
    known = len(views) == len(step.outs) and all(
        isinstance(value, np.ndarray) and np.may_share_memory(value, source)
        for value in views.values()
    )
    return views if known else {}


def _writer(step: Step, seen: Sequence[Any]) -> Writer | None:
    choose = writer_of(step.fn)
    return choose and choose(*[seen[slot] for slot in step.ins])
