"""Lists, for each format, the passes that write the forms which the engine runs correctly.

A model may have the right meaning and still have a form that its engine computes wrongly or
refuses: for example a slice without readers, a constant condition, or a Concat that Abs overwrites.
Conversion ends with these passes.

`transform` runs them after the passes that the user selected, to repair the nodes that those passes
made. Nodes that had such a form before are left unchanged, because the user did not ask to change
them. The exceptions are forms for which the engine returns uninitialised memory: they are always
repaired, since a result that was right by chance may become wrong when the model changes elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from irloop.conversion.engine_form import Form, Known, Test
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node
from irloop.graph.op import Op
from irloop.graph.walk import all_nodes, kinds_of
from irloop.passes.base import Pass, PassConfig
from irloop.passes.graph_rewrite import GraphRewrite, MatcherPass
from irloop.passes.manager import Manager

__all__ = ["engine_forms", "repairs_after"]


def engine_forms(dialect: str) -> list[Pass]:
    """Return the passes that end a conversion: they write forms that the engine runs correctly.

    `dialect` selects the engine: ONNX Runtime for "onnx", OpenVINO for "openvino".
    """
    return _grouped(_forms(dialect))


def repairs_after(model: Model, inference: Inference, config: PassConfig) -> Manager:
    """Prepare passes that repair the nodes that other passes add and the engine would run wrongly.

    Call this function before the other passes, and run the returned manager after them. The engine
    is that of the model's dialect. Nodes that it would run wrongly already at the time of the call
    are left as they are, except by passes without a test (see `Form`). `inference` holds the types
    of the model. Passes that `config` disables do not run.
    """
    from irloop.conversion.loops.constant_loops import constant_loops

    forms = [form for form in _forms(model.dialect) if not form.tidies]
    known = Known(inference, constant_loops(model.graph))
    own = config.copy()
    for form in forms:
        if form.test is not None:
            own.set_callback(_had_form(form.test, model, known), type(form.item))
    return Manager(_grouped(forms), name="repair", config=own)


def _forms(dialect: str) -> list[Form]:
    """Return the `Form` objects for the engine of a dialect: ONNX Runtime for onnx, else OpenVINO.

    The modules of the other engine's forms are not imported.
    """
    if dialect == "onnx":
        from irloop.conversion.forms_for_onnxruntime import onnxruntime_forms

        return onnxruntime_forms()
    from irloop.conversion.forms_for_openvino import openvino_forms

    return openvino_forms()


def _had_form(test: Test, model: Model, known: Known) -> Callable[[Node], bool]:
    """Apply `test` to all nodes of `model` now; return a test that repeats these answers.

    The new test recognises a node by its name and operation type, so it does not notice other
    changes of the node.
    """
    nodes = (*model.graph.parameters, *all_nodes(model.graph))
    found = {(node.name, node.op.type) for node in nodes if test(node, known)}
    return lambda node: (node.name, node.op.type) in found


def _grouped(forms: Sequence[Form]) -> list[Pass]:
    """Make the passes of `forms`, in order.

    Adjacent forms whose passes match patterns become one pass, which walks the graph only once.
    """
    made: list[Pass] = []
    for is_matcher, group in groupby(forms, lambda form: form.matches is not None):
        members = list(group)
        made += [_Matchers(members)] if is_matcher else [form.item for form in members]
    return made


class _Matchers(GraphRewrite):
    """Applies the passes of all forms that rewrite single operations, in one walk over the graph.

    First `Form.matches` searches for operations to rewrite. If there are none, the walk is skipped,
    and with it type inference, which takes longer than this search in a large model.
    """

    name = "operation_forms"

    def __init__(self, forms: Sequence[Form]) -> None:
        super().__init__([form.item for form in forms if isinstance(form.item, MatcherPass)])
        self._forms = forms

    def run(self, model: Model, config: PassConfig) -> bool:
        self.matches.clear()
        tests = self._tests(kinds_of(model.graph))
        if not any(tests.values()):
            return False
        found = any(test(node) for node in all_nodes(model.graph) for test in tests[type(node.op)])
        return found and super().run(model, config)

    def _tests(self, kinds: set[type[Op]]) -> dict[type[Op], list[Callable[[Node], bool]]]:
        """Collect, for each operation class, the tests that find the nodes to rewrite.

        `kinds` holds the operation classes that occur in the model. A test is the `Form.matches` of
        a form: it is true for the nodes that the pass of the form rewrites. A form is left out if
        the model has no operation of the types in `Form.beside`, without which its pass is skipped.
        """
        tests: dict[type[Op], list[Callable[[Node], bool]]] = {kind: [] for kind in kinds}
        for form in self._forms:
            possible = any(issubclass(kind, form.beside) for kind in kinds)
            if form.matches is None or not isinstance(form.item, MatcherPass) or not possible:
                continue
            roots = form.item.pattern().root_types
            for kind in kinds:
                if roots is None or issubclass(kind, roots):
                    tests[kind].append(form.matches)
        return tests
