"""ONX105: attributes do not match the operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.dialects.attributes import attributes_of
from irloop.dialects.onnx import ONNX
from irloop.formats.onnx.outline import OutlineNode
from irloop.formats.onnx.signature import Signature
from irloop.validation.onnx_context import OnnxContext, at_node
from irloop.validation.rule import OnnxRule

#: Operations for which ONNX Runtime refuses booleans other than 0 and 1.
_STRICT = frozenset({"CumProd", "CumSum", "Mod"})
#: Attributes of convolutions and poolings with a number for each spatial axis, or for each end.
_OF_WINDOWS = frozenset(
    {"dilations", "kernel_shape", "output_padding", "output_shape", "pads", "strides"}
)


class Attributes(
    OnnxRule,
    code="ONX105",
    severity=Severity.ERROR,
    title="attributes do not match the operation",
):
    """A node lacks a mandatory attribute, or has one that is unknown, of a wrong kind or repeated.

    What it does:
        Compares the attributes of each standard node with those of its operation. A boolean
        attribute should be 1 or 0, because runtimes do not agree on what other numbers mean; it is
        a warning if ONNX Runtime accepts the number. An empty list of strides, pads and the like
        is not the same as none.
    Why is this bad:
        onnx.checker and ONNX Runtime refuse the model ("Unrecognized attribute", "Required
        attribute is missing", "Attribute strides has incorrect size"); OpenVINO ignores unknown
        attributes and those of a wrong kind.
    Bad example:
        Concat without axis, or with axis = 1.0
    Good example:
        Concat with axis = 1
    Fix:
        Correct the attribute; export the model again.
    """

    def check(self, context: OnnxContext) -> Iterator[Diagnostic]:
        """One finding for each missing or wrong attribute of a standard node.

        A mandatory attribute must be present. An attribute is wrong if it is repeated, unknown, of
        a wrong kind, or a boolean other than 0 and 1.
        """
        for node, signature in context.standard_nodes:
            if signature is None:
                continue
            found = {name for name, _ in node.attributes}
            for name, (kind, required) in signature.attributes.items():
                if required and name not in found:
                    yield self._of(node, signature, f"lacks {name!r}", f"{name}: {kind}", "none")
            seen: set[str] = set()
            for name, kind in node.attributes:
                if name in seen:
                    yield self._of(node, signature, f"has {name!r} twice", "it once", "two")
                elif name not in signature.attributes:
                    known = ", ".join(signature.attributes) or "no attributes"
                    yield self._of(
                        node, signature, f"has the unknown attribute {name!r}", known, name
                    )
                elif kind != signature.attributes[name][0]:
                    wanted = signature.attributes[name][0]
                    told = kind or "no kind (the field type is empty)"
                    yield self._of(
                        node,
                        signature,
                        f"has the attribute {name!r} of the wrong kind",
                        wanted,
                        told,
                    )
                elif name in _OF_WINDOWS and node.numbers.get(name) == ():
                    one_each = "a number for each spatial axis, or no such attribute"
                    yield self._of(node, signature, f"has an empty {name!r}", one_each, "[]")
                elif name in node.numbers and name in _flags(node, context):
                    number = node.number(name)
                    if number not in (0, 1):
                        what = f"has {name!r} that is neither 0 nor 1"
                        finding = self._of(node, signature, what, "0 or 1", str(number))
                        is_refused = node.type in _STRICT
                        yield finding if is_refused else replace(finding, severity=Severity.WARNING)
                seen.add(name)

    def _of(
        self, node: OutlineNode, signature: Signature, what: str, expected: str, found: str
    ) -> Diagnostic:
        return self.found(
            at_node(node),
            f"{node.type} {node.label!r} {what}",
            expected=f"{expected} ({signature.label})",
            found=found,
            fix="correct the attributes of the node",
        )


def _flags(node: OutlineNode, context: OnnxContext) -> frozenset[str]:
    """Return the names of the boolean attributes of a node's operation.

    ONNX stores these attributes as integers.
    """
    cls = ONNX.find(node.type, context.opset(node) or 0, node.domain)
    known = {} if cls is None else attributes_of(cls)
    return frozenset(item.name for item in known.values() if item.kind == "bool")
