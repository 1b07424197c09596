"""Runs the steps of a body as one compiled Python function, once or for many iterations.

The source of this function is generated. It never contains text from a model, only fixed words and
the numbers of slots and steps, so a model cannot inject code. Values that only later steps read are
local variables, because these are the fastest to read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, TracebackType
from typing import Any

from irloop.execution.failure import StepError, failure_of
from irloop.graph.model import Node
from irloop.graph.op import Kernel

__all__ = ["MOST_STEPS", "Cycle", "Stretch", "straight", "stretch"]

#: Maximum number of steps in one compiled function. A larger function takes too long to compile,
#: and calling several smaller ones instead costs little time.
MOST_STEPS = 400

#: A step: its function, the slots that it reads, the slots that it fills, and its node.
Piece = tuple[Kernel, Sequence[int], Sequence[int], Node]

#: Takes the slots, the first iteration, and the iteration before which to stop. Returns the number
#: of the iteration after the last one that ran, and whether the condition ended the loop.
Stretch = Callable[[list[Any], int, int], tuple[int, bool]]

_NAME = "<steps>"


@dataclass(frozen=True, slots=True)
class Cycle:
    """Describes what the loop `node` does before and after each run of its body.

    A slot is the number of a value in the body. Before iteration i, the value of each state's
    result slot moves to its parameter slot (`carries` holds pairs of parameter and result), each
    slot in `feeds` gets item i of its array, and the slot in `counter` gets what its function
    returns for i.

    After iteration i, the value of each slot in `stores` becomes item i of its array, each function
    in `adds` is called with i and the value of its slot, and the loop ends if the value of slot
    `condition` is false. If `condition` is None, the loop does not end early.
    """

    node: Node
    carries: Sequence[tuple[int, int]] = ()
    feeds: Sequence[tuple[int, Any]] = ()
    counter: tuple[int, Callable[[int], Any]] | None = None
    stores: Sequence[tuple[int, Any]] = ()
    adds: Sequence[tuple[int, Callable[[int, Any], None]]] = ()
    condition: int | None = None


def straight(pieces: Sequence[Piece], keep: Collection[int]) -> Callable[[list[Any]], None]:
    """Make a function that runs the steps `pieces` in order on a list of slots.

    The function takes this list. Each step reads its operands from it, but only the values of the
    slots in `keep` are written back to it.

    Raises (when called):
        StepError: when a step fails; the error names the node.
    """
    names: dict[int, str] = {}
    lines = ["def compute(slots):"]
    nodes: dict[int, Node] = {}
    for line, node in _calls(pieces, names, ()):
        lines.append(f" {line}")
        nodes[len(lines)] = node
    lines += [f" slots[{slot}] = {names[slot]}" for slot in sorted(names.keys() & set(keep))]
    lines.append(" return None")
    functions: dict[str, Any] = {f"f{at}": piece[0] for at, piece in enumerate(pieces)}
    exec(_code("\n".join(lines)), functions)  # noqa: S102  (see the module)
    inner = functions["compute"]

    def compute(slots: list[Any]) -> None:
        try:
            inner(slots)
        except StepError:
            raise
        except Exception as error:
            # As in `run`, an exception of a kernel is an error of its node.
            raise failure_of(nodes[_place(error.__traceback__)[0]], error) from error

    return compute


def stretch(
    pieces: Sequence[Piece],
    keep: Collection[int],
    arrays: Mapping[int, Any],
    written: Collection[int],
    cycle: Cycle,
) -> Stretch:
    """Make one function that runs the steps of a body for many iterations.

    Args:
        pieces: the steps, in order.
        keep: the slots whose values are needed after a call.
        arrays: maps a slot to the array that holds its value in every iteration.
        written: the slots whose steps write into the array; such a step gets the array as its last
            argument.
        cycle: what the loop does before and after each iteration.

    After a call, the slots in `keep`, and those that `cycle` fills before an iteration, hold their
    values of the last iteration.

    Raises (when called):
        StepError: when a step fails; the error names the node and the iteration.
    """
    values: dict[str, Any] = {f"f{position}": piece[0] for position, piece in enumerate(pieces)}
    values.update((f"b{slot}", array) for slot, array in arrays.items())
    names = {slot: f"b{slot}" for slot in arrays}
    read = {slot for _, ins, _, _ in pieces for slot in ins} - arrays.keys()
    read.update(after for _, after in cycle.carries)
    between: list[str] = []
    if cycle.carries:
        # All states are updated at once.
        to, of = ([f"s{pair[side]}" for pair in cycle.carries] for side in (0, 1))
        between.append(f"{', '.join(to)} = {', '.join(of)}")
    for position, (slot, source) in enumerate(cycle.feeds):
        values[f"q{position}"] = source
        between.append(f"s{slot} = q{position}[i, ...]")
    if cycle.counter is not None:
        slot, values["number"] = cycle.counter
        between.append(f"s{slot} = number(i)")
    changing = [to for to, _ in cycle.carries] + [slot for slot, _ in cycle.feeds]
    changing += [cycle.counter[0]] if cycle.counter is not None else []
    changing += [slot for _, _, outs, _ in pieces for slot in outs if slot in keep]
    read -= {slot for _, _, outs, _ in pieces for slot in outs if slot not in keep}
    names.update((slot, f"s{slot}") for slot in read.union(changing))
    lines = ["def compute(slots, first, end):"]
    lines += [f" s{slot} = slots[{slot}]" for slot in sorted(read)]
    lines += [" for i in range(first, end):", *(f"  {line}" for line in between)]
    nodes: dict[int, Node] = {}
    for line, node in _calls(pieces, names, written):
        lines.append(f"  {line}")
        nodes[len(lines)] = node
    for position, (slot, array) in enumerate(cycle.stores):
        values[f"t{position}"] = array
        lines.append(f"  t{position}[i] = {names.get(slot) or f'slots[{slot}]'}")
    for position, (slot, add) in enumerate(cycle.adds):
        values[f"g{position}"] = add
        lines.append(f"  g{position}(i, {names.get(slot) or f'slots[{slot}]'})")
    if cycle.condition is not None:
        lines.append(f"  if not {names.get(cycle.condition) or f'slots[{cycle.condition}]'}: break")
        ended = f"not {names.get(cycle.condition) or f'slots[{cycle.condition}]'}"
    else:
        ended = "False"
    lines += [f" slots[{slot}] = s{slot}" for slot in dict.fromkeys(changing)]
    lines.append(f" return i + 1, {ended}")
    exec(_code("\n".join(lines)), values)  # noqa: S102  (see the module)
    inner = values["compute"]

    def compute(slots: list[Any], first: int, end: int) -> tuple[int, bool]:
        try:
            found: tuple[int, bool] = inner(slots, first, end)
            return found
        except StepError as failure:
            index = _place(failure.__traceback__)[1]
            raise failure.inside(cycle.node, index) from failure.__cause__
        except Exception as error:
            line, index = _place(error.__traceback__)
            failed = failure_of(nodes.get(line, cycle.node), error)
            raise failed.inside(cycle.node, index) from error

    return compute


def _calls(
    pieces: Sequence[Piece], names: dict[int, str], written: Collection[int]
) -> Iterator[tuple[str, Node]]:
    """Yield the line of code that runs each step, together with the node of the step.

    The line calls the function of the step and assigns the results to variables. `names` maps slots
    to variables, and gets the new variables. If the output slot of a step is in `written`, the line
    assigns nothing: the step writes into the existing array, its last argument.
    """
    for number, (_, ins, outs, node) in enumerate(pieces):
        values = ", ".join(names.get(slot) or f"slots[{slot}]" for slot in ins)
        if outs[0] in written:
            yield f"f{number}({values}, {names[outs[0]]})", node
            continue
        # If there are more values than outputs, the surplus values are dropped.
        targets = ", ".join(f"s{slot}" for slot in outs) + (", *_" if len(outs) > 1 else "")
        names.update((slot, f"s{slot}") for slot in outs)
        yield f"{targets} = f{number}({values})", node


@lru_cache(maxsize=64)
def _code(source: str) -> CodeType:
    """Compile the source of a function.

    The result is cached, because an inner loop needs it in each execution.
    """
    return compile(source, _NAME, "exec")


def _place(trace: TracebackType | None) -> tuple[int, int]:
    """Find where generated code raised an exception: the line, and the iteration of its loop.

    If the code is not in the traceback, the result is line 2, iteration 0.
    """
    while trace is not None and trace.tb_frame.f_code.co_filename != _NAME:
        trace = trace.tb_next
    if trace is None:
        return 2, 0
    return trace.tb_lineno, trace.tb_frame.f_locals.get("i", 0)
