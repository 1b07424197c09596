"""IRL110: Const is spelled differently."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino import problems
from irloop.formats.openvino.edits import SetAttribute
from irloop.formats.openvino.places import at_layer
from irloop.validation.context import Context
from irloop.validation.repair_plan import Repair
from irloop.validation.rule import Rule


class ConstantMisspelt(
    Rule, code="IRL110", severity=Severity.ERROR, title="Const is spelled differently"
):
    """The type of a constant is spelled `Constant`, `const` or in any other way but `Const`.

    What it does:
        Looks for layers whose type is Constant in any letter case, or Const in another letter case.
    Why is this bad:
        OpenVINO reads weights only for layers of type `Const`. For a layer of type `Constant`,
        OpenVINO 2026.4 builds an operation without data, and the process dies (SIGSEGV) when it
        compiles the model. For `const`, OpenVINO refuses to read the file.
    Bad example:
        <layer id="1" name="one" type="Constant" version="opset1">
    Good example:
        <layer id="1" name="one" type="Const" version="opset1">
    Fix:
        Write type="Const".
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per constant layer whose type is not spelled Const."""
        for _, layer in context.layers("const", "constant"):
            problem = problems.misspelt_type(layer)
            if problem is not None:
                yield self.from_problem(problem)

    def repairs(self, context: Context) -> Iterator[Repair]:
        """Correct the type of each misspelt constant to Const."""
        for _, layer in context.layers("const", "constant"):
            if problems.misspelt_type(layer) is not None:
                place = at_layer(layer)
                edit = SetAttribute(place.element, "type", "Const")
                yield self.repair(place, f'type="Const" instead of "{layer.type}"', edit)
