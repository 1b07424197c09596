"""Writes a program in ONNX's text format."""

from __future__ import annotations

from itertools import count

from irloop.conformance.programs.program import (
    Block,
    Choose,
    Compute,
    Program,
    Repeat,
    Statement,
    Walk,
)

__all__ = ["as_onnx"]


def as_onnx(program: Program) -> str:
    """Write a program as ONNX text of opset 17.

    Repetitions become Loops, walks become Scans, and choices become Ifs.
    """
    return f'<ir_version: 8, opset_import: ["": 17]>\n{_Writer().model(program)}'


class _Writer:
    def __init__(self) -> None:
        self._numbers = count()

    def model(self, program: Program) -> str:
        inputs = [f"float[2] {name}" for name in program.vectors]
        inputs += [f"int64 {name}" for name in program.counts]
        inputs += [f"float[{name}_rows, 2] {name}" for name in program.matrices]
        lines, results = self._block(program.block)
        outputs = [
            f"float[{name}_all, 2] {given}" if name in program.stacked else f"float[2] {given}"
            for name, given in zip(program.block.results, results, strict=True)
        ]
        body = "\n".join(lines)
        return f"program ({', '.join(inputs)}) => ({', '.join(outputs)}) {{\n{body}\n}}"

    def _fresh(self, stem: str) -> str:
        return f"{stem}_{next(self._numbers)}"

    def _block(self, block: Block) -> tuple[list[str], list[str]]:
        """Write a block as lines of ONNX text; also return a name for each of its results.

        Each result is a copy of its own, so that results never share a value.
        """
        lines = [line for statement in block.statements for line in self._statement(statement)]
        results = []
        for name in block.results:
            results.append(self._fresh("result"))
            lines.append(f"{results[-1]} = Identity ({name})")
        return lines, results

    def _statement(self, statement: Statement) -> list[str]:
        match statement:
            case Compute(name, operation, operands):
                return [f"{name} = {operation} ({', '.join(operands)})"]
            case Choose():
                return self._choose(statement)
            case Repeat():
                return self._repeat(statement)
            case Walk():
                return self._walk(statement)

    def _choose(self, choice: Choose) -> list[str]:
        total, zero, condition = (self._fresh(stem) for stem in ("sum", "zero", "is"))
        branches = []
        for label, block in (("then_branch", choice.then), ("else_branch", choice.other)):
            lines, results = self._block(block)
            outputs = ", ".join(f"float[2] {name}" for name in results)
            name, body = self._fresh("b"), " ".join(lines)
            branches.append(f"{label} = {name} () => ({outputs}) {{ {body} }}")
        return [
            f"{total} = ReduceSum <keepdims = 0> ({choice.by})",
            f"{zero} = Constant <value_float = 0.0> ()",
            f"{condition} = Greater ({total}, {zero})",
            f"{', '.join(choice.names)} = If ({condition}) <{', '.join(branches)}>",
        ]

    def _repeat(self, loop: Repeat) -> list[str]:
        number, before, after = (self._fresh(stem) for stem in ("i", "goes", "on"))
        inputs = [f"int64 {number}", f"bool {before}"]
        inputs += [f"float[2] {name}" for name, _ in loop.states]
        lines = []
        if loop.number is not None:
            single, two = self._fresh("single"), self._fresh("two")
            lines += [
                f"{single} = Cast <to = 1> ({number})",
                f"{two} = Constant <value_floats = [0.0, 0.0]> ()",
                f"{loop.number} = Add ({single}, {two})",
            ]
        own, results = self._block(loop.body)
        lines += own
        if loop.limit is None:
            lines.append(f"{after} = Identity ({before})")
        else:
            largest, limit = self._fresh("largest"), self._fresh("limit")
            lines += [
                f"{largest} = ReduceMax <keepdims = 0> ({results[0]})",
                f"{limit} = Constant <value_float = {loop.limit}> ()",
                f"{after} = Less ({largest}, {limit})",
            ]
        outputs = [f"bool {after}", *(f"float[2] {name}" for name in results)]
        true = self._fresh("true")
        starts = ", ".join(initial for _, initial in loop.states)
        trip = '""' if loop.count is None else loop.count
        head = f"body = {self._fresh('b')} ({', '.join(inputs)}) => ({', '.join(outputs)})"
        names, body = ", ".join(loop.names), " ".join(lines)
        return [
            f"{true} = Constant <value = bool {{1}}> ()",
            f"{names} = Loop <{head} {{ {body} }}> ({trip}, {true}, {starts})",
        ]

    def _walk(self, loop: Walk) -> list[str]:
        inputs = [f"float[2] {name}" for name, _ in loop.states] + [f"float[2] {loop.row}"]
        lines, results = self._block(loop.body)
        outputs = [f"float[2] {name}" for name in results]
        operands = ", ".join([*(initial for _, initial in loop.states), loop.rows])
        head = f"body = {self._fresh('b')} ({', '.join(inputs)}) => ({', '.join(outputs)})"
        axes = f"num_scan_inputs = 1, scan_input_directions = [{int(loop.backwards)}]"
        names, body = ", ".join(loop.names), " ".join(lines)
        return [f"{names} = Scan <{axes}, {head} {{ {body} }}> ({operands})"]
