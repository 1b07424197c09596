"""Turns the variables of a model into inputs and outputs."""

from __future__ import annotations

from irloop.dialects.openvino import state
from irloop.graph.model import Model, Node
from irloop.graph.walk import all_nodes
from irloop.passes.base import ModelPass
from irloop.passes.session import Session

__all__ = ["StatefulToStateless"]

READS = (state.ReadValue, state.ReadValue6)
ASSIGNS = (state.Assign, state.Assign6)


class StatefulToStateless(ModelPass):
    """Turns ReadValue into an input and Assign into an output, named after the variable.

    Given::

        v = ReadValue(h, "loop/s")    v' = v + x    Assign(v', "loop/s")

    Result::

        input "loop/s"    v' = loop/s + x    output "loop/s/next"

    This is the reverse of OpenVINO's MakeStateful and LowLatency2: the application passes the
    states from one inference to the next, and provides the initial values, which are no longer
    computed. A variable that is read or set in the body of a loop or branch is left alone.
    """

    name = "stateful_to_stateless"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        graph = model.graph
        rewriter = Session(model).rewriter(graph)
        inside = {_id(node) for node in all_nodes(graph) if node.graph is not graph}
        for node in graph.nodes:
            if not isinstance(node.op, READS + ASSIGNS) or self.transformation_callback(node):
                continue
            name = _id(node)
            if name in inside:
                continue
            if isinstance(node.op, READS):
                known = next((item for item in graph.parameters if item.name == name), None)
                value = node.output
                made = (
                    graph.add_parameter(name, value.type, (name,), node.location)
                    if known is None
                    else known.output
                )
                rewriter.replace_value(value, made, keep_names=False)
                rewriter.erase(node)
                continue
            source = node.inputs[0]
            assert source is not None
            for value in node.outputs:
                rewriter.replace_value(value, source)
            graph.add_result(source, f"{name}/next", node.location)
            rewriter.erase(node)
        return rewriter.modified


def _id(node: Node) -> str:
    return str(getattr(node.op, "variable_id", ""))
