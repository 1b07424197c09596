"""IRL118: two layers have the same name."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.places import at_layer
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class DuplicateName(
    Rule,
    code="IRL118",
    severity=Severity.WARNING,
    title="two layers have the same name",
    legacy=True,
):
    """Two layers of the same net have the same name.

    What it does:
        Compares the names inside the root and inside each body. A Result may have the name of the
        layer that feeds it, because both refer to the same tensor.
    Why is this bad:
        OpenVINO reads the file, since it connects layers by id. But messages, profiles and users
        refer to layers by name, and the name is ambiguous.
    Bad example:
        <layer id="3" name="sum" type="Add" .../> <layer id="4" name="sum" type="Add" .../>
    Good example:
        <layer id="3" name="sum" type="Add" .../> <layer id="4" name="sum_1" type="Add" .../>
    Fix:
        Rename one of them.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per layer with a name that an earlier layer has."""
        for index in context.nets:
            layers = index.net.layers
            if len({layer.name for layer in layers}) == len(layers):
                continue
            first: dict[tuple[str, bool], Layer] = {}
            for layer in layers:
                if layer.name is None:
                    continue
                other = first.setdefault((layer.name, _gives_namesake(index, layer)), layer)
                if other is layer:
                    continue
                yield self.found(
                    at_layer(layer),
                    f"the name {layer.name!r} is already taken by layer {other.id}",
                    expected="a name of its own in this net",
                    found=f"{layer.name!r} in lines {other.line} and {layer.line}",
                    fix="rename one of the two",
                )

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Yield a repair that renames each layer whose name an earlier layer has.

        The repair is not safe if the layer is an input or output of the model.
        """
        for index in context.nets:
            layers = index.net.layers
            taken = {layer.name for layer in layers}
            first: dict[tuple[str, bool], Layer] = {}
            for layer in layers:
                if layer.name is None:
                    continue
                key = (layer.name, _gives_namesake(index, layer))
                if first.setdefault(key, layer) is layer or layer.id is None:
                    continue
                number = 1
                while f"{layer.name}_{number}" in taken:
                    number += 1
                name = f"{layer.name}_{number}"
                taken.add(name)
                is_border = index is context.root and layer.type in ("Parameter", "Result")
                place = at_layer(layer)
                yield self.repair(
                    place,
                    f"renamed to {name!r}",
                    SetAttribute(place.element, "name", name),
                    effect="renames an input or output of the model" if is_border else "",
                )


def _gives_namesake(index: NetIndex, layer: Layer) -> bool:
    source = index.source(layer) if layer.type == "Result" else None
    return source is not None and source[0].name == layer.name
