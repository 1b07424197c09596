"""Runs the steps of a body as one function of straight-line code.

The source of the function consists of fixed words and numbers of slots and steps; no text of a
model gets into it. Values that only later steps read are local variables, which are read fastest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Any

from irloop.execution.failure import StepError, failure_of
from irloop.graph.model import Node
from irloop.graph.op import Kernel

__all__ = ["MOST_STEPS", "straight"]

#: Longer bodies take long to compile, and calls are a small part of their time.
MOST_STEPS = 400

#: A step: its function, the slots that it reads and fills, its node.
Piece = tuple[Kernel, Sequence[int], Sequence[int], Node]

_NAME = "<steps>"


def straight(pieces: Sequence[Piece], keep: Collection[int]) -> Callable[[list[Any]], None]:
    """One function that runs the steps over slots, and fills those of the slots `keep`.

    Raises (when called):
        StepError: of the step that fails.
    """
    lines = ["def compute(slots):"]
    nodes: dict[int, Node] = {}
    made: set[int] = set()
    for at, (_, ins, outs, node) in enumerate(pieces):
        values = ", ".join(f"s{slot}" if slot in made else f"slots[{slot}]" for slot in ins)
        # More values than outputs are dropped.
        targets = ", ".join(f"s{slot}" for slot in outs) + (", *_" if len(outs) > 1 else "")
        lines.append(f" {targets} = f{at}({values})")
        nodes[len(lines)] = node
        made.update(outs)
    lines += [f" slots[{slot}] = s{slot}" for slot in sorted(made & set(keep))]
    lines.append(" return None")
    functions: dict[str, Any] = {f"f{at}": piece[0] for at, piece in enumerate(pieces)}
    exec(compile("\n".join(lines), _NAME, "exec"), functions)  # noqa: S102  (see the module)
    inner = functions["compute"]

    def compute(slots: list[Any]) -> None:
        try:
            inner(slots)
        except StepError:
            raise
        except Exception as error:
            # As in `run`: an exception of a kernel is an error of its node.
            raise failure_of(nodes[_line(error.__traceback__)], error) from error

    return compute


def _line(trace: TracebackType | None) -> int:
    """The line of the straight code in which an exception passed."""
    while trace is not None and trace.tb_frame.f_code.co_filename != _NAME:
        trace = trace.tb_next
    return trace.tb_lineno if trace is not None else 2
