"""Turns the variables of a model into inputs and outputs."""

from __future__ import annotations

import re

from irloop.dialects.openvino import state
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Result
from irloop.graph.walk import all_nodes
from irloop.passes.base import ModelPass
from irloop.passes.session import Session

__all__ = ["ASSIGNS", "READS", "StatefulToStateless"]

READS = (state.ReadValue, state.ReadValue6)
ASSIGNS = (state.Assign, state.Assign6)


#: The name of a variable of a decoder's cache: MakeStateful joins the names of its input and its
#: output, for example "past_key_values.0.key" and "present.0.key".
JOINED = re.compile(r"(?P<input>\w+(?P<which>\.\d+\.\w+?))(?P<output>present(?P=which))")


class StatefulToStateless(ModelPass):
    """Turns ReadValue into an input and Assign into an output, named after the variable.

    Given::

        v = ReadValue(h, "loop/s")    v' = v + x    Assign(v', "loop/s")

    Result::

        input "loop/s"    v' = loop/s + x    output "loop/s/next"

    This is the reverse of OpenVINO's MakeStateful and LowLatency2: the application passes the
    states from one inference to the next, and provides the initial values, which are no longer
    computed. The new inputs follow the existing inputs, and the new outputs follow the existing
    outputs, both in the order of the assignments. If MakeStateful joined the name of a variable
    from two names, as in "past_key_values.0.keypresent.0.key", the input and the output get these
    names back. A variable that is read or set in the body of a loop or branch is not replaced.
    """

    name = "stateful_to_stateless"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        graph = model.graph
        rewriter = Session(model).rewriter(graph)
        inside = {_id(node) for node in all_nodes(graph) if node.graph is not graph}
        nodes = [
            node
            for node in graph.nodes
            if isinstance(node.op, READS + ASSIGNS)
            and _id(node) not in inside
            and not self.transformation_callback(node)
        ]
        reads = [node for node in nodes if isinstance(node.op, READS)]
        assigns = [node for node in nodes if isinstance(node.op, ASSIGNS)]
        order = {_id(node): at for at, node in enumerate(assigns)}
        inputs: dict[str, Value] = {}
        for node in sorted(reads, key=lambda node: order.get(_id(node), len(order))):
            value, (name, _) = node.output, _names(_id(node))
            if name not in inputs:
                inputs[name] = graph.add_parameter(name, value.type, (name,), node.location)
            rewriter.replace_value(value, inputs[name], keep_names=False)
            rewriter.erase(node)
        for node in assigns:
            source, (_, name) = node.inputs[0], _names(_id(node))
            assert source is not None
            for value in node.outputs:
                rewriter.replace_value(value, source)
            # If the value has no tensor name but is an output of the model, that output is named
            # after the layer of its Result.
            names = source.names or tuple(
                user.name for user, _ in source.uses if isinstance(user.op, Result)
            )
            source.names = (*names, name)
            graph.add_result(source, name, node.location)
            rewriter.erase(node)
        return rewriter.modified


def _names(variable: str) -> tuple[str, str]:
    """Return the names of the input and of the output that replace a variable.

    If MakeStateful joined the name of the variable from two names, these are returned. Otherwise,
    the input gets the name of the variable, and the output the same name with "/next" appended.
    """
    found = JOINED.fullmatch(variable)
    return (found["input"], found["output"]) if found else (variable, f"{variable}/next")


def _id(node: Node) -> str:
    return str(getattr(node.op, "variable_id", ""))
