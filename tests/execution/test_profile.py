"""Profiles: calls of every node and iteration, times that add up, and the trace for viewers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.execution import profile as profile_module

MODELS = Path(__file__).parents[1] / "fixtures" / "models"

#: The state is halved until its largest element is below 1: four iterations.
X = np.array([[10, -3]], np.float32)


@pytest.fixture
def halving() -> irloop.RunProfile:
    profile = irloop.RunProfile()
    irloop.run(MODELS / "halving" / "model.xml", [X], profile=profile)
    return profile


def test_every_node_is_counted_in_every_iteration(halving: irloop.RunProfile) -> None:
    inside = [item for item in halving.nodes() if "/body/" in item.name]
    assert inside
    assert {item.calls for item in inside} <= {1, 4}
    assert max(item.calls for item in inside) == 4
    (loop,) = [item for item in halving.nodes() if item.operation.startswith("Loop")]
    assert loop.calls == 1
    assert sum(item.calls for item in halving.operations()) == sum(
        item.calls for item in halving.nodes()
    )


def test_a_loop_has_its_own_time_and_the_time_of_its_body(halving: irloop.RunProfile) -> None:
    nodes = halving.nodes()
    outermost = [item for item in nodes if "/body/" not in item.name]
    assert all(0 <= item.own <= item.total for item in nodes)
    assert sum(item.own for item in nodes) == pytest.approx(sum(item.total for item in outermost))
    assert [item.own for item in nodes] == sorted((item.own for item in nodes), reverse=True)


def test_the_results_are_those_without_a_profile() -> None:
    for name in ("halving", "recurrent"):
        model = irloop.read_model(MODELS / name / "model.xml")
        given = irloop.random_inputs(model, seed=3)
        plain = irloop.run(model, given)
        measured = irloop.run(model, given, profile=irloop.RunProfile())
        for output, wanted in plain.items():
            np.testing.assert_allclose(measured[output], wanted, rtol=1e-6)


def test_the_trace_has_every_call_with_its_iteration(
    halving: irloop.RunProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = json.loads(halving.chrome_trace())
    events = trace["traceEvents"]
    assert len(events) == trace["otherData"]["calls"]
    assert {event["ph"] for event in events} == {"X"}
    repeated = [event for event in events if event["args"]["iterations"] == [3]]
    assert repeated
    assert all("/body/" in event["name"] for event in repeated)
    monkeypatch.setattr(profile_module, "MOST_EVENTS", 3)
    short = irloop.RunProfile()
    irloop.run(MODELS / "halving" / "model.xml", [X], profile=short)
    trace = json.loads(short.chrome_trace())
    assert len(trace["traceEvents"]) == 3
    assert trace["otherData"]["calls_left_out"] == trace["otherData"]["calls"] - 3


def test_the_table_sums_up_what_it_leaves_out(halving: irloop.RunProfile) -> None:
    calls = sum(item.calls for item in halving.nodes())
    by_operation, by_node = halving.table(rows=2).split("\n\n")
    for part, title in ((by_operation, "operation"), (by_node, "node")):
        head, *lines = part.splitlines()
        assert head.split()[-1] == title
        assert len(lines) == 3
        assert lines[-1].endswith(" more")
        counted = [int(line.split()[3]) for line in lines[:2]] + [int(lines[2].split()[2])]
        assert sum(counted) == calls
