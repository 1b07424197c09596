"""IRL406: wrong number of inputs."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.validation.context import Context
from irloop.validation.recurrent import has_joined_weights
from irloop.validation.rule import Rule


class NumberOfInputs(
    Rule,
    code="IRL406",
    severity=Severity.ERROR,
    title="wrong number of inputs",
    requires=("IRL106", "IRL109", "IRL110", "IRL203", "IRL204", "IRL206", "IRL807"),
):
    """A layer has more or fewer connected inputs than its operation takes.

    What it does:
        Counts the edges into each layer that a Result depends on and compares their number with the
        operation's.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file. They count edges; declared ports without an edge
        do not count.
    Bad example:
        an Add with one edge
    Good example:
        an Add with two edges
    Fix:
        Add the missing edge, or remove the superfluous one.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """Yield a finding for each used layer that has too many or too few connected inputs."""
        for index in context.nets:
            for layer in index.net.layers:
                if layer.type in ("Const", "Parameter"):
                    continue
                least, most = context.arity(layer)
                count = len(index.incoming.get(layer.id or "", ()))
                if count >= least and (most is None or count <= most):
                    continue
                if not index.is_used(layer):
                    continue
                if _has_broken_edge(index, layer) or has_joined_weights(context, index, layer):
                    continue
                yield self.from_problem(problems.number_of_inputs(layer, count, least, most))


def _has_broken_edge(index: NetIndex, layer: Layer) -> bool:
    """Return whether IRL203 or IRL206 reports an edge into the layer.

    They report an edge that names a port which does not exist, or several edges to one port.
    """
    edges = index.edges_into(layer)
    ports = {port.id for port in layer.inputs}
    names = [edge.to_port for edge in edges]
    return len(set(names)) < len(names) or not ports.issuperset(names)
