"""Makes inputs that a model can run with and that exercise its loops and branches.

The inputs have the declared element types and shapes. Indices are inside their axis, trip counts
are 0, 1, 2 and more, conditions are true and false. The same seed gives the same inputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from irloop import budget
from irloop.comparison.roles import Role, roles
from irloop.comparison.sizes import RANK, Sizes, image_axes, key_of
from irloop.errors import UsageError
from irloop.execution.session import bound
from irloop.graph.model import Model
from irloop.graph.record import Record
from irloop.graph.types import (
    Dim,
    DynamicDim,
    ElementType,
    OptionalType,
    SequenceType,
    TensorType,
    ValueType,
)

__all__ = [
    "TRIPS",
    "Trial",
    "made_trials",
    "other_trials",
    "positive_trials",
    "with_arrays",
]

Array = np.ndarray[Any, np.dtype[Any]]

#: Trip counts to run with, the largest first, because the first trial shows whether the model runs
#: at all.
TRIPS = (5, 2, 1, 0)

#: Ranges of integer inputs whose role is unknown, in the order in which they are tried. The narrow
#: ranges suit inputs that are in fact sizes or shapes.
INTEGERS = ((-8, 9), (1, 4), (0, 1))

#: Maximum rank of an input: NumPy supports no more dimensions.
MOST_DIMS = 64

#: Maximum number of elements of an input.
MOST_ELEMENTS = 1 << 30

#: Bytes per element while an input is made; inputs are made one after the other.
BYTES_TO_MAKE = 24

#: Bytes per element once the input is made.
BYTES_TO_KEEP = 8

#: Number of elements that are made per step of the budget.
ELEMENTS_A_STEP = 1000

#: The spread of floating-point inputs; some loops stop early only with large values.
SPREADS = (1.0, 20.0)


class Trial(Record):
    """One set of inputs, in the order of the first model, with a description.

    `idle` is true if loops run zero iterations on purpose, so that states rightly keep their
    initial values. If `reset` is true, variables are reset; otherwise they keep their values from
    the previous trial. `refused` is the reason why irloop's own executor did not run the trial; no
    other engine runs it then.
    """

    label: str
    arrays: tuple[Any, ...]
    idle: bool = False
    reset: bool = True
    refused: str = ""


def made_trials(
    model: Model,
    sizes: Sizes,
    *,
    seeds: Sequence[int],
    trips: Sequence[int],
    integers: tuple[int, int] = INTEGERS[0],
    sign: int = 0,
    twin: Model | None = None,
) -> list[Trial]:
    """Make trials for a model whose unknown dimensions have `sizes` (see `sizes_of`).

    There is a trial for each of the `seeds` of random inputs, combined with each of the trip counts
    `trips` if an input is a trip count. `integers` is the range of the elements of integer inputs
    whose role is not known. Floats are positive if `sign` is 1, and of any sign if it is 0. `twin`
    is another model that runs with the same inputs.
    """
    input_roles = roles(model, twin)
    types = [value.type for value in model.graph.inputs]
    plans = _plans(input_roles, types, seeds, trips, integers)
    return _trials(types, input_roles, sizes, (_signed(plan, sign) for plan in plans))


def other_trials(model: Model, sizes: Sizes, seed: int, twin: Model | None = None) -> list[Trial]:
    """Make trials with unusual input values, which may reach other parts of the model.

    Some trials choose boolean inputs that serve as conditions at random. Others use only positive
    or only negative floats, much larger or smaller floats, or integers from other ranges. Kinds
    that no input of the model can take are left out. `twin` is another model that runs with the
    same inputs.
    """
    known_roles = roles(model, twin)
    types = [value.type for value in model.graph.inputs]
    plan = _Plan(f"seed {seed}", seed, TRIPS[0], True, 1.0, INTEGERS[0])
    chances = (
        [
            replace(plan, label=f"seed {seed + at}, any conditions", seed=seed + at, condition=None)
            for at in (1, 2, 3)
        ]
        if any(role.condition for role in known_roles)
        else []
    )
    signs = [
        replace(
            plan,
            label=f"seed {seed}, {word} numbers, {spread:g} times as large",
            spread=spread,
            sign=sign,
        )
        for spread in (1.0, 20.0)
        for sign, word in ((1, "positive"), (-1, "negative"))
    ]
    spreads = [
        replace(plan, label=f"seed {seed}, numbers {spread:g} times as large", spread=spread)
        for spread in (0.0, 0.05, 300.0)
    ]
    other_integers = [
        replace(plan, label=f"seed {seed}, integers from {low} to {high - 1}", integers=(low, high))
        for low, high in (*INTEGERS[1:], (-100, 0), (5, 100))
    ]
    floats = _has_floats(types)
    integers = any(isinstance(item, TensorType) and item.element.is_integer for item in types)
    plans = [
        *chances,
        *(signs if floats else ()),
        *(spreads if floats else ()),
        *(other_integers if integers else ()),
    ]
    return _trials(types, known_roles, sizes, plans)


def positive_trials(
    model: Model, sizes: Sizes, seeds: Sequence[int], twin: Model | None = None
) -> list[Trial]:
    """Make a trial with only positive numbers for each seed; none if the model takes no floats.

    `twin` is another model that runs with the same inputs.
    """
    input_roles = roles(model, twin)
    types = [value.type for value in model.graph.inputs]
    plans = [
        _signed(_Plan(f"seed {seed}", seed, TRIPS[0], True, 1.0, INTEGERS[0]), 1) for seed in seeds
    ]
    return _trials(types, input_roles, sizes, plans if _has_floats(types) else ())


def _trials(
    types: Sequence[ValueType], found: Sequence[Role], sizes: Sizes, plans: Iterable[_Plan]
) -> list[Trial]:
    return [
        Trial(
            plan.label,
            tuple(_arrays(types, found, sizes, plan)),
            idle=plan.trip <= 0 or plan.condition is False,
        )
        for plan in plans
    ]


def with_arrays(model: Model, inputs: Any) -> list[Trial]:
    """Make a trial of each set of arrays that the user gives.

    `inputs` is one set, or a list of sets. A set is a mapping by name or a sequence by position; in
    a list of sets, such a sequence must be a tuple.

    Raises:
        UsageError: when an input is missing.
    """
    sets = inputs if _is_several(inputs) else [inputs]
    trials = []
    for number, given in enumerate(sets):
        label = "given inputs" if len(sets) == 1 else f"given inputs {number}"
        trials.append(Trial(label, tuple(bound(model.graph, _positional(model, given)))))
    return trials


def _is_several(inputs: Any) -> bool:
    return (
        isinstance(inputs, list)
        and bool(inputs)
        and all(isinstance(item, Mapping | tuple) for item in inputs)
    )


def _positional(model: Model, arrays: Any) -> list[Any]:
    if not isinstance(arrays, Mapping):
        return list(arrays)
    ordered = []
    for at, node in enumerate(model.graph.parameters):
        names = (node.name, *node.outputs[0].names, f"in{at}", f"arr_{at}")
        name = next((name for name in names if name in arrays), None)
        if name is None:
            raise UsageError(
                f"no array for input {node.name!r}",
                expected=" or ".join(dict.fromkeys(names)),
                found=", ".join(arrays),
            )
        ordered.append(arrays[name])
    return ordered


class _Plan(Record):
    """Settings from which the inputs of one trial are generated.

    Conditions are random if `condition` is None, and numbers have random signs if `sign` is 0.
    """

    label: str
    seed: int
    trip: int
    condition: bool | None
    spread: float
    integers: tuple[int, int]
    sign: int = 0


def _signed(plan: _Plan, sign: int) -> _Plan:
    return replace(plan, label=f"{plan.label}, positive numbers", sign=1) if sign else plan


def _plans(
    input_roles: Sequence[Role],
    types: Sequence[ValueType],
    seeds: Sequence[int],
    trips: Sequence[int],
    integers: tuple[int, int],
) -> Iterator[_Plan]:
    counts = tuple(trips) if any(role.trip for role in input_roles) else (max(trips, default=1),)
    pairs = zip(input_roles, types, strict=True)
    has_condition = any(
        role.condition and isinstance(type, TensorType) and type.element is ElementType.BOOLEAN
        for role, type in pairs
    )
    conditions = (True, False) if has_condition else (True,)
    for seed in seeds:
        for condition in conditions:
            # With a false condition no loop runs, so a single trip count is enough.
            for trip in counts if condition else counts[:1]:
                label = _label(seed, trip, counts, condition, conditions)
                yield _Plan(label, seed, trip, condition, 1.0, integers)
    for spread in SPREADS[1:] if _has_floats(types) and seeds else ():
        label = f"seed {seeds[0]}, numbers {spread:g} times as large"
        yield _Plan(label, seeds[0], counts[0], True, spread, integers)


def _has_floats(types: Sequence[ValueType]) -> bool:
    return any(isinstance(item, TensorType) and item.element.is_float for item in types)


def _label(
    seed: int, trip: int, trips: Sequence[int], condition: bool, conditions: Sequence[bool]
) -> str:
    parts = [f"seed {seed}"]
    if len(trips) > 1:
        parts.append(f"trip count {trip}")
    if len(conditions) > 1:
        parts.append(f"condition {str(condition).lower()}")
    return ", ".join(parts)


def _arrays(
    types: Sequence[ValueType],
    input_roles: Sequence[Role],
    sizes: Sizes,
    plan: _Plan,
) -> Iterator[Any]:
    random = np.random.default_rng(plan.seed)
    counts = [_elements(type, sizes, at) for at, type in enumerate(types)]
    largest = max(counts, default=0)
    budget.reserve(largest * BYTES_TO_MAKE + sum(counts) * BYTES_TO_KEEP, "making inputs")
    budget.spend(sum(counts) // ELEMENTS_A_STEP, "making inputs")
    for at, (type, role) in enumerate(zip(types, input_roles, strict=True)):
        value = _value(type, role, sizes, at, plan, random)
        # Arithmetic on arrays of rank 0 results in NumPy scalars, which engines refuse.
        yield np.asarray(value) if isinstance(value, np.generic) else value


def _elements(type: ValueType, sizes: Sizes, position: int) -> int:
    """Estimate the work of generating the input at `position`, as a number of elements.

    A sequence counts as three of its items, an element of a string tensor as 16 elements.
    """
    if isinstance(type, OptionalType):
        return _elements(type.item, sizes, position)
    if isinstance(type, SequenceType):
        return 3 * _elements(type.item, sizes, position)
    # A string is a Python object, made from a generated number.
    weight = 16 if type.element is ElementType.STRING else 1
    # NumPy refuses a shape with huge dimensions even if another dimension is 0.
    return weight * math.prod(max(size, 1) for size in _shape(type, sizes, position))


def _value(
    type: ValueType,
    role: Role,
    sizes: Sizes,
    position: int,
    plan: _Plan,
    random: np.random.Generator,
) -> Any:
    if isinstance(type, OptionalType):
        return _value(type.item, role, sizes, position, plan, random)
    if isinstance(type, SequenceType):
        return [_value(type.item, role, sizes, position, plan, random) for _ in range(3)]
    shape = _shape(type, sizes, position)
    element = ElementType.F32 if type.element is ElementType.DYNAMIC else type.element
    if role.mask and (element is ElementType.BOOLEAN or element.is_integer):
        return _mask(shape, plan).astype(element.numpy())
    if element is ElementType.BOOLEAN:
        told = role.condition and plan.condition is not None
        return np.full(shape, plan.condition) if told else random.random(shape) < 0.5
    if element is ElementType.STRING:
        words: Array = random.integers(0, 100, shape).astype(str).astype(object)
        return words
    if role.trip:
        return np.full(shape, plan.trip, element.numpy())
    if role.axes is not None or role.new_shape or role.image is not None:
        return _chosen(role, shape, random, as_sizes=element.is_integer).astype(element.numpy())
    if role.portion and element.is_float:
        return random.random(shape).astype(np.float32).astype(element.numpy())
    if element.is_integer:
        return _integers(element, role, shape, sizes, plan, random)
    if role.size:
        return random.integers(1, 3, shape).astype(element.numpy())
    numbers = random.standard_normal(shape) * plan.spread
    numbers = plan.sign * np.abs(numbers) if plan.sign else numbers
    if element in (ElementType.C64, ElementType.C128):
        return (numbers + 1j * random.standard_normal(shape)).astype(element.numpy())
    if element is ElementType.NF4:
        return random.integers(0, 16, shape).astype(np.uint8)
    return numbers.astype(np.float32).astype(element.numpy())


def _mask(shape: tuple[int, ...], plan: _Plan) -> Array:
    """Return an attention mask of ones.

    If the seed is odd, the second half of the last axis is 0, so that these elements are masked
    out.
    """
    mask = np.ones(shape, np.int64)
    if plan.seed % 2 and shape:
        mask[..., (shape[-1] + 1) // 2 :] = 0
    return mask


def _chosen(
    role: Role, shape: tuple[int, ...], random: np.random.Generator, *, as_sizes: bool
) -> Array:
    """Draw axes, a new shape, or the sizes or factors of a resized image.

    An image keeps all but its last two axes, as some engines require. If `as_sizes`, its sizes are
    drawn, else factors.
    """
    count = math.prod(shape)
    if role.new_shape:
        return np.array([-1] + [1] * (count - 1), np.int64)[:count].reshape(shape)
    if role.axes is not None:
        order = random.permutation(np.array(role.axes))
        return np.sort(np.resize(order, count)).reshape(shape)
    dims = [dim or 2 for dim in role.image or ()][-count:] if count else []
    dims = [2] * (count - len(dims)) + dims
    factors = random.choice([1.0, 1.5, 2.0], count)
    kept = max(0, count - 2) if count > 2 else 0
    factors[:kept] = 1.0
    sizes = np.floor(factors * np.array(dims, np.float64))
    return (sizes if as_sizes else factors).reshape(shape)


def _integers(
    element: ElementType,
    role: Role,
    shape: tuple[int, ...],
    sizes: Sizes,
    plan: _Plan,
    random: np.random.Generator,
) -> Array:
    if role.parts and len(shape) == 1:
        return _parts(role.bound or 0, shape[0]).astype(element.numpy())
    smallest = min((size for dim, size in sizes.items() if dim != RANK), default=2)
    if role.length:
        low, high = 1, (role.bound or smallest) + 1
    elif role.index:
        low, high = 0, role.bound or smallest
        if plan.integers != INTEGERS[0]:
            # The first range failed, perhaps because the model adds a number to the indices.
            high = min(high, plan.integers[1])
    elif role.start:
        low, high = 0, 2 if (role.bound or smallest) > 2 else 1
    elif role.end:
        bound = role.bound or smallest
        low, high = min(2, bound), bound + 1
    elif role.size:
        low, high = 1, 3
    else:
        low, high = plan.integers
        low = max(low, 0) if str(element).startswith("u") else low
    top = 2**element.bits - 1 if str(element).startswith("u") else 2 ** (element.bits - 1) - 1
    high = max(low + 1, min(high, top + 1))
    low = max(low, -top - 1)
    return random.integers(low, high, shape).astype(element.numpy())


def _parts(total: int, count: int) -> Array:
    """Return `count` positive lengths: all are 1 except the first, which makes their sum `total`.

    If `total` is less than `count`, all lengths are 1.
    """
    lengths = np.ones(count, np.int64)
    lengths[:1] = max(1, total - count + 1)
    return lengths


def _shape(type: TensorType, sizes: Sizes, at: int) -> tuple[int, ...]:
    """Choose the shape to generate for input number `at`: unknown dimensions get their `sizes`.

    Raises:
        UsageError: when the input would have too many dimensions or elements.
    """
    rank = sizes.get(RANK, 1)
    dims: tuple[Dim, ...] = type.shape.dims or ()
    if type.shape.dims is None:
        dims = (DynamicDim(),) * rank
    image = image_axes(type)
    shape = tuple(
        dim if isinstance(dim, int) else sizes.get((at, axis), sizes[key_of(dim, axis in image)])
        for axis, dim in enumerate(dims)
    )
    if len(shape) > MOST_DIMS or math.prod(shape) > MOST_ELEMENTS:
        raise UsageError(
            "an input is too large to be generated",
            expected=f"at most {MOST_ELEMENTS} elements in at most {MOST_DIMS} dimensions",
            found=f"{math.prod(shape)} elements in {len(shape)} dimensions",
            fix="give the input another shape, or provide values for the inputs",
        )
    return shape
