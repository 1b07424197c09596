"""ONX203: body reuses a name of an outer graph."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.onnx.outline import OutlineGraph
from irloop.validation.onnx_context import OnnxContext, at_graph
from irloop.validation.rule import OnnxRule


class ShadowedName(
    OnnxRule, code="ONX203", severity=Severity.WARNING, title="body reuses a name of an outer graph"
):
    """A value in a body has the name of a value in an outer graph.

    What it does:
        Compares the names that each body defines (inputs, initializers, outputs of nodes) with
        those of the outer graphs.
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
        """One finding per name."""
        for graph in context.graphs:
            outer = _visible(graph)
            if not outer:
                continue
            own = [*graph.inputs, *graph.initializers]
            own += [name for node in graph.nodes for name in node.outputs]
            for name in sorted({name for name in own if name and name in outer}):
                yield self.found(
                    at_graph(graph),
                    f"the name {name!r} already names a value of the outer graph",
                    expected="a name that no outer graph uses",
                    found=f"{name!r} in both",
                    fix="rename the value of the body",
                )


def _visible(graph: OutlineGraph) -> set[str]:
    """Names in outer graphs that a body can see: those defined before the node that owns it."""
    names: set[str] = set()
    owner = graph.parent
    while owner is not None:
        around = owner.graph
        names.update(around.inputs, around.initializers)
        for node in around.nodes:
            if node is owner:
                break
            names.update(name for name in node.outputs if name)
        owner = around.parent
    return names
