"""Lists, for each format, the passes that keep the engine from its faults; faults define them all.

A model may have the right meaning and still have a form that its engine computes wrongly or
refuses: for example a slice without readers, a constant condition, or a Concat that Abs overwrites.
Conversion ends with these passes.

`transform` runs them after the passes that the user selected, to repair the nodes that those passes
made. Nodes that had such a form before are left unchanged, because the user did not ask to change
them. The exceptions are forms for which the engine returns uninitialised memory
(`Fault.repairs_always`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from graphlib import TopologicalSorter
from types import ModuleType
from typing import TypeVar

from irloop.analysis.constant_loops import constant_loops
from irloop.faults.catalogue import DIALECTS, REPAIRS, avoided_faults, faults_of
from irloop.faults.fault import Fault
from irloop.faults.repair import Known, Repair
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node
from irloop.graph.op import Op
from irloop.graph.walk import all_nodes, kinds_of
from irloop.passes.base import Pass, PassConfig
from irloop.passes.common.dead_code import DeadCode
from irloop.passes.graph_rewrite import GraphRewrite, NodePass
from irloop.passes.manager import Manager
from irloop.passes.node_writer import NodeWriter

__all__ = ["Tidied", "repairs", "repairs_after", "repairs_of_source", "repairs_of_target"]

T = TypeVar("T")


def repairs(dialect: str, target: str | None = None) -> list[Pass]:
    """Return the passes that end a conversion: they write forms that the engine runs correctly.

    `dialect` selects the engine: ONNX Runtime for "onnx", OpenVINO for "openvino". A `target` such
    as "openvino-2024.6" leaves out what this version needs not.

    Raises:
        UsageError: when the target was not measured.
    """
    made: list[Pass] = []
    for fault in _in_order(avoided_faults(target or DIALECTS[dialect])):
        if not isinstance(fault, Repair) or not fault.leaves_dead_code:
            made.append(fault)
        elif made and isinstance(made[-1], DeadCode | Tidied):
            made.append(Tidied(fault))
        else:
            # What the translation and other repairs left unread goes, too.
            made += [fault, DeadCode()]
    return made


class Tidied(Pass):
    """A pass on a model without dead code and, if it changed the model, the removal of new one.

    The passes that follow would otherwise rewrite values that nothing reads.
    """

    def __init__(self, inner: Pass) -> None:
        self.name = inner.name  # type: ignore[misc]
        self.inner = inner

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return self.inner.concerns(kinds)

    def run(self, model: Model, config: PassConfig) -> bool:
        if not self.inner.run(model, config):
            return False
        DeadCode().run(model, config)
        return True


def repairs_of_source(dialect: str, target: str | None = None) -> list[Pass]:
    """Return the passes that begin a conversion to `dialect`, on the source model (see `repairs`).

    Raises:
        UsageError: when the target was not measured.
    """
    passes = _in_order(avoided_faults(target or DIALECTS[dialect]))
    return [item for one in passes if isinstance(one, Repair) for item in one.on_source()]


def repairs_after(model: Model, inference: Inference, config: PassConfig) -> Manager:
    """Prepare passes that repair the nodes that other passes add and the engine would run wrongly.

    Call this function before the other passes, and run the returned manager after them. The engine
    is that of the model's dialect. Nodes that it would run wrongly already at the time of the call
    are left as they are, except those with a fault that `repairs_always`. `inference` holds the
    types of the model. Passes that `config` disables do not run.
    """
    nodes = (*model.graph.parameters, *all_nodes(model.graph))
    known = Known(inference, constant_loops(model.graph))
    own = config.copy()

    def leave(name: str, had: Callable[[Node], bool]) -> None:
        """Keep a pass from nodes for which `had` is true now.

        The callback knows a node by its name and type, and sees no other changes of the node.
        """
        left = {(node.name, node.op.type) for node in nodes if had(node)}
        own.set_callback(lambda node: (node.name, node.op.type) in left, name)

    passes = _in_order(avoided_faults(DIALECTS[model.dialect]))
    for transformation in passes:
        if isinstance(transformation, Repair):
            leave(transformation.name, partial(transformation.had, known=known))
            continue
        for fault in transformation.faults:
            if not fault.repairs_always:
                leave(fault.name, partial(_has, fault))
    return Manager(passes, name="repair", config=own)


def _has(fault: Fault, node: Node) -> bool:
    return isinstance(node.op, fault.operations) and fault.is_repaired(node)


def repairs_of_target(target: str) -> list[Pass]:
    """Return the passes that avoid the faults which only older releases have (`Fault.on_target`).

    They end the adaptation of a model to a target, and change nothing when they run again.

    Raises:
        UsageError: when the target was not measured.
    """
    return list(_in_order([item for item in faults_of(target) if item.on_target]))


def _in_order(known: Sequence[type[Fault]]) -> list[Repair | OperationForms]:
    """The passes that avoid the given faults of an engine, in the order that `after` demands."""
    names = dict.fromkeys(name for item in known for name in item.avoided_by)
    modules = {name: REPAIRS.load(name) for name in names}
    passes: dict[str, Repair | OperationForms] = {
        name: _pass_of(module) for name, module in modules.items() if module is not None
    }
    passes[OperationForms.name] = OperationForms(known)
    return _sorted(passes, {name: item.after for name, item in passes.items()})


def _pass_of(module: ModuleType) -> Repair:
    """Make the pass of a module of `irloop.faults.repairs`."""
    found = vars(module)
    (kind,) = (found[name] for name in found["__all__"] if _is_repair(found[name]))
    made = kind()
    assert isinstance(made, Repair)
    return made


def _is_repair(item: object) -> bool:
    return isinstance(item, type) and issubclass(item, Repair)


def _sorted(items: Mapping[str, T], after: Mapping[str, Iterable[str]]) -> list[T]:
    """Sort items so that each comes after those that `after` names, else in their given order.

    Names of `after` that are not in `items` are ignored: these faults are retired.
    """
    sorter = TopologicalSorter({name: [n for n in after[name] if n in items] for name in items})
    sorter.prepare()
    places = {name: place for place, name in enumerate(items)}
    ready: list[str] = []
    made: list[T] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=places.__getitem__)
        name = ready.pop(0)
        made.append(items[name])
        sorter.done(name)
    return made


class OperationForms(GraphRewrite):
    """Repairs single nodes, in one walk over the graph.

    First it searches for a node to repair. If there is none, the walk is skipped, and with it type
    inference, which takes longer than this search in a large model.
    """

    name = "operation_forms"
    after: tuple[str, ...] = ("scan_axes",)

    def __init__(self, known: Iterable[type[Fault]]) -> None:
        super().__init__([])
        found = {item.code: item() for item in known if item.repair is not Fault.repair}
        self.faults = _sorted(found, {code: item.after for code, item in found.items()})

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return any(self._tests(kinds).values())

    def run(self, model: Model, config: PassConfig) -> bool:
        self.matches.clear()
        tests = self._tests(kinds_of(model.graph))
        if not any(test(node) for node in all_nodes(model.graph) for test in tests[type(node.op)]):
            return False
        self.matchers = [_OneNode(fault) for fault in self.faults]
        return super().run(model, config)

    def _tests(self, kinds: Set[type[Op]]) -> dict[type[Op], list[Callable[[Node], bool]]]:
        """Collect, for each operation class of a model, the tests that find the nodes to repair."""
        tests: dict[type[Op], list[Callable[[Node], bool]]] = {kind: [] for kind in kinds}
        for fault in self.faults:
            if not any(issubclass(kind, fault.beside) for kind in kinds):
                continue
            for kind in kinds:
                if issubclass(kind, fault.operations):
                    tests[kind].append(fault.is_repaired)
        return tests


class _OneNode(NodePass):
    """Repairs the nodes of a model that have one fault; the pass has the name of the fault."""

    def __init__(self, fault: Fault) -> None:
        self.name = fault.name  # type: ignore[misc]
        self.operations = fault.operations
        self._fault = fault

    def applies(self, node: Node) -> bool:
        return self._fault.is_repaired(node)

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        self._fault.repair(node, w)
