"""Each dialect has one vocabulary: the verbs that emit its operations are defined in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from irloop.dialects.writing.onnx_writer import OnnxWriter
from irloop.dialects.writing.openvino_writer import OpenVinoWriter

ROOT = Path(__file__).resolve().parents[1]
HOME = "irloop/dialects/writing/"

#: The verbs of both dialects: the public methods of the vocabularies.
VERBS = {
    name
    for cls in (OnnxWriter, OpenVinoWriter)
    for name in dir(cls)
    if not name.startswith("_") and callable(getattr(cls, name))
}
#: What each writer defines, because it determines how a node is made.
MAKING = {"constant", "constant_of", "emit", "i64", "iteration_numbers", "refuse", "tensor"}
#: More verbs than this make a class a vocabulary, whatever it takes and returns.
FEW = 3
#: Operators, which would be second verbs.
OPERATORS = {
    f"__{prefix}{name}__"
    for prefix in ("", "r")
    for name in ("add", "sub", "mul", "truediv", "floordiv", "matmul", "lt", "gt")
}
#: The operations of ONNX whose verbs are not named like them.
RENAMED = {"Sub", "Mul", "Div", "Where", "Cast", "Not", "Max", "Min", "Shape"}
#: In a builder of loops a slice is an input of the body, not an operation.
OTHERS = ("irloop/building/",)


def _values(annotation: ast.expr | None) -> bool:
    return annotation is not None and "Value" in ast.unparse(annotation).split(" | ")


def _emitting(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield the functions that are named as a verb, take a value, and return a value."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name.rstrip("_") not in VERBS - MAKING:
            continue
        takes = any(_values(argument.annotation) for argument in node.args.args)
        if takes and _values(node.returns):
            yield node


def test_the_verbs_are_found_where_they_are_defined() -> None:
    found = {
        node.name
        for path in (ROOT / HOME).glob("*.py")
        for node in _emitting(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert {"add", "gather", "reshape", "select", "slice", "softmax"} <= found


def test_no_other_place_defines_a_verb() -> None:
    other = [
        f"{file}:{node.lineno} defines {node.name}"
        for path in sorted(ROOT.glob("irloop/**/*.py"))
        if not (file := path.relative_to(ROOT).as_posix()).startswith((HOME, *OTHERS))
        for node in _emitting(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not other, "\n".join(other)


def _vocabularies(tree: ast.AST) -> Iterator[tuple[ast.ClassDef, set[str]]]:
    """Yield the classes that have operators or more than a few verbs, with their names."""
    for cls in ast.walk(tree):
        if not isinstance(cls, ast.ClassDef):
            continue
        methods = {node.name for node in cls.body if isinstance(node, ast.FunctionDef)}
        operators, verbs = methods & OPERATORS, methods & (VERBS - MAKING)
        if operators or len(verbs) > FEW:
            yield cls, operators | verbs


def test_no_other_class_is_a_vocabulary() -> None:
    other = [
        f"{file}:{cls.lineno} {cls.name} defines {', '.join(sorted(names))}"
        for path in sorted(ROOT.glob("irloop/**/*.py"))
        if not (file := path.relative_to(ROOT).as_posix()).startswith(HOME)
        for cls, names in _vocabularies(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not other, "\n".join(other)


def test_decompositions_name_no_operation_that_has_a_verb() -> None:
    named = RENAMED | {"".join(map(str.title, verb.split("_"))) for verb in VERBS}
    other = [
        f"{path.name}:{node.lineno} emits {node.args[0].value}"
        for path in sorted(ROOT.glob("irloop/dialects/contrib/*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("op", "ops")
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value in named
    ]
    assert not other, "\n".join(other)
