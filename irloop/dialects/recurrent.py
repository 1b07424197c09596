"""Activations and shape checks shared by the recurrent operations of both dialects."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects import inference
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, Dim, Shape

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "by_position",
    "check_weights",
    "directions_of",
    "in_order",
    "known",
]

#: The name of an activation in lower case, its alpha and its beta.
Activation = tuple[str, float, float]

#: The number of parameters of each activation and their defaults, as in the ONNX operators of these
#: names.
ACTIVATIONS: dict[str, tuple[int, float, float]] = {
    "sigmoid": (0, 0.0, 0.0),
    "tanh": (0, 0.0, 0.0),
    "relu": (0, 0.0, 0.0),
    "softsign": (0, 0.0, 0.0),
    "softplus": (0, 0.0, 0.0),
    "affine": (2, 1.0, 0.0),
    "leakyrelu": (1, 0.01, 0.0),
    "thresholdedrelu": (1, 1.0, 0.0),
    "scaledtanh": (2, 1.0, 1.0),
    "hardsigmoid": (2, 0.2, 0.5),
    "elu": (1, 1.0, 0.0),
}


def known(name: str) -> tuple[int, float, float]:
    """The number of parameters, default alpha and default beta of an activation.

    Its name may be in any letter case.

    Raises:
        ValueError: for an unknown activation.
    """
    activation = ACTIVATIONS.get(name.lower())
    if activation is None:
        raise ValueError(f"activation {name!r} is not one of {', '.join(sorted(ACTIVATIONS))}")
    return activation


def by_position(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> tuple[Activation, ...]:
    """The activations with their alphas and betas, as OpenVINO assigns them.

    Entry k of each list belongs to activation k. Missing alphas and betas get the defaults of their
    activation.

    Raises:
        ValueError: for an unknown activation.
    """
    result = []
    for index, name in enumerate(names):
        _, alpha, beta = known(name)
        result.append(
            (
                name.lower(),
                alphas[index] if index < len(alphas) else alpha,
                betas[index] if index < len(betas) else beta,
            )
        )
    return tuple(result)


def in_order(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> tuple[Activation, ...]:
    """Pair each activation with its alpha and its beta, in the order that ONNX defines.

    Only an activation that has an alpha takes the next entry of `alphas`, and the same holds for
    `betas`. For the names Tanh, Affine, the first alpha and the first beta belong to Affine,
    because Tanh has neither. If a list is too short, the activation keeps its default.

    Raises:
        ValueError: for an unknown activation.
    """
    first, second = iter(alphas), iter(betas)
    result = []
    for name in names:
        count, alpha, beta = known(name)
        if count > 0:
            alpha = next(first, alpha)
        if count > 1:
            beta = next(second, beta)
        result.append((name.lower(), alpha, beta))
    return tuple(result)


def directions_of(args: Arguments, direction: str) -> int:
    """The number of directions that a `direction` means.

    Raises:
        InferenceError: for an unknown direction.
    """
    count = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(direction.lower())
    if count is None:
        raise args.error(
            "direction is unknown", "forward, reverse or bidirectional", direction, kind="range"
        )
    return count


def dims_of(args: Arguments, position: int, rank: int, name: str) -> tuple[Dim, ...]:
    """Return the dimensions of the input at `position`, and check that its rank is `rank`.

    All dimensions are unknown if the input is omitted or its rank is unknown. `name` is the name of
    the input in the error message.

    Raises:
        InferenceError: when its rank is a different one.
    """
    if not args.has(position):
        return (UNKNOWN_DIM,) * rank
    shape = args.shape(position)
    if shape.dims is None:
        return (UNKNOWN_DIM,) * rank
    if len(shape.dims) != rank:
        raise args.error(f"{name} has a wrong rank", f"rank {rank}", str(shape))
    return shape.dims


def agree(args: Arguments, name: str, dims: Sequence[Dim], wanted: Sequence[Dim]) -> None:
    """Check that the known dimensions in `dims` and `wanted` are equal.

    Raises:
        InferenceError: when two of them differ.
    """
    for left, right in zip(dims, wanted, strict=True):
        if isinstance(left, int) and isinstance(right, int) and left != right:
            raise args.error(
                f"{name} has a wrong shape", str(Shape(tuple(wanted))), str(Shape(tuple(dims)))
            )


def first_known(*dims: Dim) -> Dim:
    """The first known dimension of several that are equal; otherwise the first that has a name."""
    numbers = [dim for dim in dims if isinstance(dim, int)]
    return next((dim for dim in (*numbers, *dims) if dim != UNKNOWN_DIM), UNKNOWN_DIM)


def times(count: int, dim: Dim) -> Dim:
    """`count` times a dimension; unknown if the dimension is unknown."""
    return count * dim if isinstance(dim, int) else UNKNOWN_DIM


def check_weights(
    args: Arguments,
    weights: int,
    gates: int,
    bias_gates: int,
    inputs: Dim,
    size: Dim,
    directions: int | None,
) -> Dim:
    """Check the element types and shapes of W, R and B, and return the state size.

    Args:
        args: the inputs of the node.
        weights: the position of W among the inputs; R and B follow it.
        gates: the number of gates in W and R, such as 4 for an LSTM.
        bias_gates: the number of gates in B, which can be larger.
        inputs: the size of an input element X.
        size: the state size, if it is known already.
        directions: the size of the leading axis of the weights; None for a cell, which has no such
            axis.

    Raises:
        InferenceError: when one of them has a wrong element type or shape.
    """
    lead = () if directions is None else (directions,)
    rank = 2 + len(lead)
    w = dims_of(args, weights, rank, "W")
    r = dims_of(args, weights + 1, rank, "R")
    b = dims_of(args, weights + 2, rank - 1, "B")
    size = first_known(size, r[-1])
    if not isinstance(size, int) and isinstance(r[-2], int):
        size = r[-2] // gates
    agree(args, "W", w, (*lead, times(gates, size), inputs))
    agree(args, "R", r, (*lead, times(gates, size), size))
    agree(args, "B", b, (*lead, times(bias_gates, size)))
    inference.same_element(args, 0, weights, weights + 1, weights + 2)
    return size
