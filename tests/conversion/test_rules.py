"""Conversion rules are found, but imported only for the operations of a model."""

from __future__ import annotations

import subprocess
import sys

import pytest

from irloop.conversion.framework.rules import EXPORTS, IMPORTS, Rules
from irloop.dialects import onnx
from irloop.graph.op import Op


@pytest.mark.parametrize("rules", [EXPORTS, IMPORTS])
def test_every_rule_is_found_by_its_operation(rules: Rules) -> None:
    assert rules.all()
    assert all(rules.find(cls) is not None for cls in rules.all())


def test_rules_of_other_families_are_not_imported() -> None:
    code = (
        "import sys; from irloop.conversion.framework.rules import IMPORTS;"
        "from irloop.dialects import onnx;"
        "assert onnx.TopK11 in IMPORTS;"
        "print(*(n for n in sys.modules if n.startswith('irloop.conversion.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "irloop.conversion.tensors.search" in loaded
    assert "irloop.conversion.neural.convolution" not in loaded
    assert "irloop.conversion.detection.nms" not in loaded


def test_an_operation_without_a_rule_has_none() -> None:
    class Alone(Op):
        """An operation without a rule."""

    assert Alone not in EXPORTS
    assert IMPORTS.find(Alone) is None


def test_two_rules_for_one_operation_are_refused() -> None:
    rules = Rules({})
    rules.add(onnx.Relu, print)
    with pytest.raises(TypeError, match="two rules for Relu"):
        rules.add(onnx.Relu, print)


def test_the_reason_for_a_missing_counterpart_is_known_without_its_rule() -> None:
    code = (
        "from irloop.conversion.framework.rules import EXPORTS;"
        "from irloop.dialects import openvino; print(EXPORTS.reason_of(openvino.StringTensorPack))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip()
