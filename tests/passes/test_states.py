"""Loops that keep their states between runs, and variables that become inputs and outputs."""

from __future__ import annotations

import numpy as np
import pytest

from irloop.execution.session import Session, run
from irloop.graph.model import Model
from irloop.graph.types import Shape, TensorType
from irloop.graph.verify import verify
from irloop.graph.walk import all_nodes
from irloop.passes import Manager
from irloop.passes.common import LowLatency, SequenceToTensorIterator, StatefulToStateless
from tests.passes.test_recurrent_passes import F32, KINDS, B, N, T, model


def stateful(kind: str, keep_loops: bool) -> Model:
    """A sequence whose states are variables, for one step at a time."""
    made, _ = model(kind, "forward", [T] * B)
    x = made.graph.parameters[0].output
    x.type = TensorType(F32, Shape.of(B, 1, N))
    passes = [SequenceToTensorIterator(), LowLatency(keep_loops=keep_loops)]
    Manager(passes, check=True).run_passes(made)
    verify(made.graph)
    return made


@pytest.mark.parametrize("keep_loops", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_one_after_the_other_give_the_sequence(kind: str, keep_loops: bool) -> None:
    whole, (x, *states) = model(kind, "forward", [T] * B)
    wanted = next(iter(run(whole, [x, *states]).values()))
    made = stateful(kind, keep_loops)
    types = [node.op.type for node in all_nodes(made.graph)]
    assert types.count("ReadValue") == types.count("Assign") == len(states)
    assert ("TensorIterator" in types) is keep_loops
    session = Session(made)
    steps = [next(iter(session.run([x[:, at : at + 1], *states]).values())) for at in range(T)]
    np.testing.assert_allclose(np.concatenate(steps, 2), wanted, rtol=1e-5, atol=1e-6)
    assert not Manager([LowLatency()]).run_passes(made)


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_handed_on(kind: str) -> None:
    whole, (x, *states) = model(kind, "forward", [T] * B)
    wanted = next(iter(run(whole, [x, *states]).values()))
    made = stateful(kind, keep_loops=False)
    count = len(states)
    Manager([StatefulToStateless()], check=True).run_passes(made)
    verify(made.graph)
    names = [node.name for node in made.graph.parameters[1 + count :]]
    outputs = [node.name for node in made.graph.results[-count:]]
    assert outputs == [f"{name}/next" for name in names]
    held = [state[:, 0] for state in states]
    steps = []
    for at in range(T):
        found = list(run(made, [x[:, at : at + 1], *states, *held]).values())
        steps.append(found[0])
        held = found[-count:]
    np.testing.assert_allclose(np.concatenate(steps, 2), wanted, rtol=1e-5, atol=1e-6)
