"""Finds the inputs of a model whose sizes or values decide which branch of an If is taken."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.op import Parameter
from irloop.graph.walk import invariant_of

__all__ = ["choosing_inputs", "deciding_inputs", "fixing"]


def deciding_inputs(condition: Value) -> list[Value]:
    """Return the model inputs whose unknown sizes decide `condition`.

    The list is empty if the condition also depends on the elements of an input, or on a slice or a
    state in a loop.
    """
    origins = list(_origins(condition))
    if any(value is None or not only_size for value, only_size in origins):
        return []
    return [value for value, _ in origins if value is not None]


def choosing_inputs(condition: Value) -> list[Value]:
    """Return the model inputs whose elements, not just sizes, decide `condition`."""
    return [
        value for value, only_size in _origins(condition) if value is not None and not only_size
    ]


def _origins(condition: Value) -> Iterator[tuple[Value | None, bool]]:
    """Yield (input, only_size) for each model input on which `condition` depends.

    `only_size` is true if only the sizes of the input matter, not its elements. Sizes that are
    known are not traced further. Instead of an input, None is yielded where the condition depends
    on a slice or a state in a loop.
    """
    pending, seen = [(condition, False)], {(condition, False)}
    while pending:
        value, only_size = pending.pop()
        if only_size and shape_of(value).count() is not None:
            continue
        if not isinstance(value.producer.op, Parameter):
            only_size = only_size or value.producer.op.reads_shape_only
            sources = [item for item in value.producer.inputs if item is not None]
        elif value.producer.owner is None:
            yield value, only_size
            continue
        else:
            outer = invariant_of(value)
            if outer is None:
                yield None, only_size
                continue
            sources = [outer]
        fresh = [(item, only_size) for item in sources if (item, only_size) not in seen]
        seen.update(fresh)
        pending += fresh


def fixing(inputs: list[Value]) -> str:
    """Return the text of an `irloop transform` command that makes `inputs` constant.

    Error messages show this command as a fix. The user replaces each VALUE in it by the value of
    the input. The command also replaces each If whose condition is then constant by the branch that
    runs.
    """
    options = " ".join(f"--pass fix_input={value.producer.name}=VALUE" for value in inputs)
    return f"irloop transform MODEL -o FIXED {options} --pass inline_constant_if"
