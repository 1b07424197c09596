"""The limits of one run: iterations of each loop, memory and seconds."""

from __future__ import annotations

from dataclasses import InitVar, dataclass

__all__ = ["Limits"]

#: Marks an argument that was not given; None means no limit.
_UNSET = -1


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one run; None means no limit. Reaching a limit raises `LimitError`.

    `max_iterations` limits each execution of each loop separately. `max_memory` limits the bytes
    that the run allocates, without constants and inputs. `max_seconds` is checked between
    operations: a single operation is not interrupted.

    `iterations`, `memory_bytes` and `seconds` are earlier names of the same arguments. Scripts
    that use them still run.
    """

    max_iterations: int | None = 10_000_000
    max_memory: int | None = 8 * 2**30
    max_seconds: float | None = 3600.0
    iterations: InitVar[int | None] = _UNSET
    memory_bytes: InitVar[int | None] = _UNSET
    seconds: InitVar[float | None] = _UNSET

    def __post_init__(
        self, iterations: int | None, memory_bytes: int | None, seconds: float | None
    ) -> None:
        earlier = {
            "max_iterations": iterations,
            "max_memory": memory_bytes,
            "max_seconds": seconds,
        }
        for name, value in earlier.items():
            if value != _UNSET:
                object.__setattr__(self, name, value)
