"""ONX203: body reuses a name of an outer graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineGraph
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class ShadowedName(
    OnnxRule, code="ONX203", severity=Severity.ERROR, title="body reuses a name of an outer graph"
):
    """A value in a body has the name of a value in an outer graph.

    What it does:
        Compares the names that each body defines (inputs, initializers, outputs of nodes) with
        those of the outer graphs. For inputs and initializers the finding is a warning.
    Why is this bad:
        The specification prohibits it. ONNX Runtime refuses node outputs that shadow a name ("not
        in SSA form") and accepts body inputs that do; engines that look up values by name confuse
        them.
    Bad example:
        an outer value x, and x = Add(...) in a Loop body
    Good example:
        an outer value x, and x_next = Add(...) in the body
    Fix:
        Rename the value in the body.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """Yield a finding for each name in a body that an outer graph has defined before."""
        outer = _Outer()
        for graph in context.graphs:
            if graph.parent is None:
                continue
            made = {name for node in graph.nodes for name in node.outputs}
            own = {*graph.inputs, *graph.initializers, *made}
            for name in sorted(name for name in own if name and outer.sees(graph, name)):
                finding = self.found(
                    at_graph(graph),
                    f"the name {name!r} already names a value of the outer graph",
                    expected="a name that no outer graph uses",
                    found=f"{name!r} in both",
                    fix="rename the value of the body",
                )
                yield finding if name in made else replace(finding, severity=Severity.WARNING)


class _Outer:
    """Tells whether a name in a body is already defined in an outer graph.

    A definition counts only if it comes before the node to which the body belongs. The names and
    nodes of each outer graph are indexed once, however many bodies it has.
    """

    def __init__(self) -> None:
        self._defined: dict[int, dict[str, int]] = {}
        self._places: dict[int, int] = {}

    def sees(self, graph: OutlineGraph, name: str) -> bool:
        """Return whether a graph around the body `graph` defines `name` earlier.

        In that graph, the definition must precede the node that contains the body.
        """
        owner = graph.parent
        while owner is not None:
            first = self._names_of(owner.graph).get(name)
            if first is not None and first < self._places[id(owner)]:
                return True
            owner = owner.graph.parent
        return False

    def _names_of(self, graph: OutlineGraph) -> dict[str, int]:
        """Map each name in `graph` to the position of the node that first defines it.

        The position of inputs and initializers is -1.
        """
        places = self._defined.get(id(graph))
        if places is None:
            places = self._defined[id(graph)] = dict.fromkeys(graph.inputs, -1)
            places.update(dict.fromkeys(graph.initializers, -1))
            for place, node in enumerate(graph.nodes):
                self._places[id(node)] = place
                for name in node.outputs:
                    places.setdefault(name, place)
        return places
