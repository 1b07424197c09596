"""Prior boxes: kernels and inference against OpenVINO's values."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.prior_box import PriorBox
from irloop.errors import InferenceError
from irloop.graph.types import ElementType
from irloop.kernels.prior_box import Priors, element_boxes

OPCONF_TYPES = "PriorBox PriorBoxClustered"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


@pytest.mark.parametrize(
    "changed",
    [
        {"aspect_ratio": (0.0,)},
        {"aspect_ratio": (-2.0,)},
        {"density": (0.5,), "fixed_size": (4.0,)},
    ],
    ids=str,
)
def test_ratios_and_densities_are_positive(changed: dict[str, Any]) -> None:
    m = IrModel()
    sizes = [m.input(name, 2, element=ElementType.I64) for name in ("layer", "image")]
    with pytest.raises(InferenceError, match=r"not positive|below 1"):
        irloop.infer(m.done(m(PriorBox(min_size=(4.0,), offset=0.5, **changed), *sizes)))


def test_a_negative_size_has_no_root() -> None:
    priors = Priors(min_size=(4.0,), max_size=(-9.0,))
    assert [math.isnan(box[2]) for box in element_boxes(priors)] == [False, True]
