"""The boundary of the API: only irloop's own exceptions leave it.

The decorator `guarded` turns every other exception of a public function into an exception of
irloop.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from irloop.budget import Budget, Expired, out_of_time
from irloop.errors import InternalError, IrloopError, LimitError, UsageError

__all__ = ["guarded", "several"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Item = TypeVar("Item")


def guarded(step: str) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorate an API function so that it raises only `IrloopError`; `step` describes its work."""

    def wrap(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def call(*args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
            try:
                # Each call gets its own budget, because iterators of several calls may run in turn.
                with Budget().entered():
                    return function(*args, **keywords)
            except (IrloopError, BrokenPipeError):
                # A BrokenPipeError means that the reader of a tracer's output has closed the pipe,
                # which is not a failure of irloop.
                raise
            except Expired as error:
                raise out_of_time(step) from error
            except MemoryError as error:
                raise LimitError(
                    f"memory ran out while {step}",
                    code="LIM001",
                    found=str(error),
                    fix="allow more memory, or look for sizes that are not intended",
                ) from error
            except RecursionError as error:
                raise LimitError(
                    f"the model is nested too deeply for {step}", code="LIM003"
                ) from error
            except OSError as error:
                place = os.fsdecode(error.filename) if error.filename else "a file"
                reason = error.strerror or str(error)
                raise UsageError(f"{place}, while {step}: {reason}") from error
            except TypeError as error:
                # Arguments that do not match the signature are the caller's error, as for any
                # function.
                if error.__traceback__ is None or error.__traceback__.tb_next is None:
                    raise
                raise _failure(step, error, function, args, keywords) from error
            except Exception as error:
                raise _failure(step, error, function, args, keywords) from error

        return call

    return wrap


def _failure(
    step: str,
    error: Exception,
    function: Callable[..., object],
    args: tuple[object, ...],
    keywords: dict[str, object],
) -> IrloopError:
    """Return the error to raise in place of `error`, which `function` raised.

    It is a UsageError if an argument does not have the annotated type, and an InternalError that
    names `step` otherwise. Arguments are checked only after a failure, so a successful call takes
    no longer.
    """
    import inspect

    parameters = inspect.signature(function)
    for name, value in parameters.bind(*args, **keywords).arguments.items():
        annotation = str(parameters.parameters[name].annotation)
        if not any(_is_of(value, part) for part in _alternatives(annotation)):
            return UsageError(
                f"the argument {name} has the wrong type",
                expected=annotation.replace("Path", "str | os.PathLike"),
                found=f"{type(value).__name__}: {value!r:.60}",
            )
    return InternalError(step, error)


def _alternatives(annotation: str) -> list[str]:
    """The parts of ``A | B[C | D]``: ``A`` and ``B[C | D]``."""
    parts, depth = [""], 0
    for char in annotation:
        depth += (char == "[") - (char == "]")
        if char == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _is_of(value: object, annotation: str) -> bool:
    """Return whether a value fits the annotation of an argument, such as "Sequence[str]".

    The result is also true for annotations that this function does not know.
    """
    head, _, inner = annotation.rstrip("]").partition("[")
    if head in ("int", "float"):
        number = hasattr(value, "__index__") or (head == "float" and hasattr(value, "__float__"))
        return number and not isinstance(value, str | bytes)
    if head in ("Model", "Limits"):
        return any(cls.__name__ == head for cls in type(value).__mro__)
    kinds: dict[str, tuple[type, ...]] = {
        "None": (type(None),),
        "str": (str,),
        "Literal": (str,),
        "Path": (str, os.PathLike),
        "Mapping": (Mapping,),
        "Sequence": (Sequence,),
        "Iterable": (Iterable,),
    }
    if head not in kinds:
        return True
    if head in ("Sequence", "Iterable"):
        if isinstance(value, str | bytes):
            return False
        if inner == "str" and isinstance(value, Sequence):
            return all(isinstance(item, str) for item in value)
    return isinstance(value, kinds[head])


def several(name: str, items: Iterable[Item]) -> tuple[Item, ...]:
    """The items of the argument `name`, which must be a list or another iterable.

    A string is refused, because its characters would be used as items.

    Raises:
        UsageError: for a string, or anything else that is not iterable.
    """
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise UsageError(
            f"{name} is one value where a list is needed",
            expected="a list, a tuple or another iterable",
            found=repr(items),
            fix=f"write {name}=[{items!r}]",
        )
    return tuple(items)
