"""Conversion of prior boxes to ONNX, with stored OpenVINO results and random attributes with sizes
as inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.openvino import prior_box as ov
from irloop.graph.op import Op
from tests.drawn.operations import Draw, check_operation, everything

OPCONF_TYPES = "PriorBox PriorBoxClustered"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


def sized(draw: Draw) -> Op:
    whole, fixed = draw.chance(0.6), draw.chance(0.3)
    sides = (16.0, 40.0) if whole else (0.2, 0.4)
    kind: type[ov.SizedPriors] = draw.choice([ov.PriorBox, ov.PriorBox8])
    return kind(
        min_size=sides[: draw.choice([1, 2])] if not fixed else (),
        max_size=draw.choice([(), (60.0,)]) if not fixed else (),
        aspect_ratio=draw.choice([(), (2.0,), (2.0, 3.0)]),
        density=(2.0, 1.0) if fixed else (),
        fixed_ratio=draw.choice([(), (1.0, 2.0)]) if fixed else (),
        fixed_size=(32.0, 64.0) if fixed else (),
        flip=draw.chance(0.5),
        clip=draw.chance(0.3),
        step=draw.choice([0.0, 16.0]) if whole else draw.choice([0.0, 0.05]),
        offset=draw.choice([0.5, 0.25]),
        variance=draw.choice([(), (0.2,), (0.1, 0.1, 0.2, 0.2)]),
        scale_all_sizes=whole,
    )


def clustered(draw: Draw) -> Op:
    return ov.PriorBoxClustered(
        width=(10.0, 33.0, 20.0),
        height=(12.0, 8.0, 40.0),
        clip=draw.chance(0.5),
        step=draw.choice([0.0, 16.0]),
        step_w=draw.choice([0.0, 8.0]),
        step_h=draw.choice([0.0, 12.0]),
        offset=draw.choice([0.0, 0.5]),
        variance=draw.choice([(), (0.2,), (0.1, 0.1, 0.2, 0.2)]),
    )


def all_made(op: Op) -> bool:
    """True if all declared boxes are computed; the CPU plugin leaves others uninitialised."""
    from irloop.kernels.prior_box import count_of, element_boxes

    if not isinstance(op, ov.SizedPriors):
        return True
    return count_of(op.priors()) <= len(element_boxes(op.priors()))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", [sized, clustered])
def test_priors_of_sizes_that_are_inputs(kind: Callable[[Draw], Op], seed: int) -> None:
    element = (np.int32, np.int64)[seed % 2]
    sizes = [np.array([3, 4], element), np.array([60, 90], element)]
    constants = ((), (1,), ())[seed % 3]
    op = kind(Draw(seed))
    engine = everything if seed % 4 == 0 and all_made(op) else None
    opset = (11, 17, 21)[seed % 3]
    check_operation(op, sizes, opset=opset, constants=constants, openvino=engine)
