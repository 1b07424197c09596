"""The rewritten copy of a model that shows whether a fault of the engine explains a difference."""

from __future__ import annotations

import pytest

import irloop
from irloop.comparison.compare import compare
from irloop.comparison.twin import safe_twin
from irloop.faults.catalogue import faults, faults_of
from irloop.faults.fault import Effect, Fault
from tests.archives import unpacked

#: The repair cuts outputs of Loops with a constant count only; others are cut where a loop of ONNX
#: becomes one of IR.
STAYS = {"OVN113"}

WRONG = [
    fault
    for fault in faults_of("openvino")
    if fault.effect in (Effect.WRONG, Effect.STALE)
    and fault.code not in STAYS
    and (fault.passes or fault.avoided_by or fault.repair is not Fault.repair)
]


@pytest.mark.parametrize("fault", WRONG, ids=[fault.code for fault in WRONG])
def test_the_copy_avoids_every_fault_that_conversion_avoids(fault: type[Fault]) -> None:
    made = safe_twin(fault.smallest_model(), "openvino")
    assert made is not None
    assert fault in made[1]


@pytest.mark.parametrize("converted", [False, True])
@pytest.mark.parametrize("code", ["OVN152", "OVN166", "OVN172"])
def test_check_names_the_fault_of_a_single_operation(code: str, converted: bool) -> None:
    """OpenVINO is wrong on the first model, and right on the second, which avoids the fault."""
    pytest.importorskip("openvino", reason="only the engine shows its fault")
    fault = faults()[code]
    made = safe_twin(fault.smallest_model(), "openvino")
    assert made is not None
    found = compare(fault.smallest_model(), made[0], converted=converted)
    assert found.outcome == ("equal" if converted else "different")
    assert f"({code})" in str(found)


def test_another_engine_has_no_copy_and_a_copy_has_no_faults() -> None:
    model = faults()["OVN152"].smallest_model()
    assert safe_twin(model, "onnxruntime") is None
    made = safe_twin(model, "openvino")
    assert made is not None
    again = safe_twin(made[0], "openvino")
    assert again is not None
    assert not again[1]


@pytest.mark.parametrize("converted", [False, True])
def test_check_says_that_the_engine_computes_only_the_file_wrongly(converted: bool) -> None:
    """OpenVINO keeps the first of two Parameters that have one input of a Loop (IRL505)."""
    pytest.importorskip("openvino", reason="only the engine shows its fault")
    file = unpacked("harmful") / "found/seeds/16_one_input_two_parameters/m.xml"
    found = irloop.compare(file, irloop.convert(file)[0], converted=converted)
    assert found.outcome == ("equal" if converted else "different")
    assert "computes the file wrongly" in str(found)
