"""Loops that keep their states between runs, and variables that become inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.execution.session import Session, run
from irloop.formats.onnx.writer import to_proto_model
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
def test_single_steps_in_a_row_equal_the_whole_sequence(kind: str, keep_loops: bool) -> None:
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
def test_stateful_to_stateless_turns_states_into_inputs_and_outputs(kind: str) -> None:
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


CACHE = """
<net name="cache" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,2" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>2</dim></port></output></layer>
{reads}
{sums}
{assigns}
<layer id="9" name="y" type="Result" version="opset1">
<input><port id="0"><dim>1</dim><dim>2</dim></port></input></layer>
</layers><edges>
{edges}
<edge from-layer="4" from-port="2" to-layer="9" to-port="0"/>
</edges></net>
"""


def cache() -> str:
    """Two variables of a decoder's cache, which are read in the reverse order of their Assigns."""
    port = '<port id="{}" precision="FP32"><dim>1</dim><dim>2</dim></port>'
    names = ["past.0.keypresent.0.key", "past.0.valuepresent.0.value"]
    read, add, assign = [], [], []
    edges = []
    for at, name in enumerate(names):
        data = f'<data variable_id="{name}" variable_type="f32" variable_shape="1,2"/>'
        read.append(
            f'<layer id="{2 - at}" name="r{at}" type="ReadValue" version="opset6">{data}'
            f"<input>{port.format(0)}</input><output>{port.format(1)}</output></layer>"
        )
        add.append(
            f'<layer id="{3 + at}" name="s{at}" type="Add" version="opset1">'
            f"<input>{port.format(0)}{port.format(1)}</input>"
            f"<output>{port.format(2)}</output></layer>"
        )
        assign.append(
            f'<layer id="{5 + at}" name="a{at}" type="Assign" version="opset6">{data}'
            f"<input>{port.format(0)}</input><output>{port.format(1)}</output></layer>"
        )
        for source, target in (
            ((0, 0), (2 - at, 0)),
            ((0, 0), (3 + at, 0)),
            ((2 - at, 1), (3 + at, 1)),
            ((3 + at, 2), (5 + at, 0)),
        ):
            edges.append(
                f'<edge from-layer="{source[0]}" from-port="{source[1]}" '
                f'to-layer="{target[0]}" to-port="{target[1]}"/>'
            )
    return CACHE.format(
        reads="\n".join(reversed(read)),
        sums="\n".join(add),
        assigns="\n".join(assign),
        edges="\n".join(edges),
    )


def test_a_cache_becomes_inputs_and_outputs_in_one_order_with_their_own_names(
    tmp_path: Path,
) -> None:
    file = tmp_path / "cache.xml"
    file.write_text(cache())
    made = irloop.read_model(file)
    Manager([StatefulToStateless()], check=True).run_passes(made)
    verify(made.graph)
    converted, _ = irloop.convert(made)
    proto = to_proto_model(converted)
    assert [item.name for item in proto.graph.input] == ["x", "past.0.key", "past.0.value"]
    assert [item.name for item in proto.graph.output] == ["y", "present.0.key", "present.0.value"]
    x, key, value = (np.full((1, 2), number, np.float32) for number in (1, 2, 4))
    found = Session(converted).run({"x": x, "past.0.key": key, "past.0.value": value})
    assert [array.reshape(-1).tolist() for array in found.values()] == [[5, 5], [3, 3], [5, 5]]
