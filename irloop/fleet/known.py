"""The steps that earlier sweeps have finished, as a sorted array of eight-byte keys.

Each key identifies one step of one model file.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from irloop.fleet.places import fetching_from, place_of

__all__ = ["Known"]


class Known:
    """A set of 64-bit keys, each of which identifies a finished step of a model.

    `verdicts.done_key` computes the keys.
    """

    _LOADED: ClassVar[dict[str, Known]] = {}
    _LOCK: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, keys: Iterable[int]) -> None:
        self._keys: np.ndarray[Any, np.dtype[np.uint64]] = np.unique(np.fromiter(keys, np.uint64))

    def __len__(self) -> int:
        return len(self._keys)

    def has(self, key: int) -> bool:
        """Return whether the set contains the key."""
        at = int(np.searchsorted(self._keys, np.uint64(key)))
        return at < len(self._keys) and int(self._keys[at]) == key

    def to_bytes(self) -> bytes:
        """The set as the content of a file."""
        buffer = io.BytesIO()
        np.save(buffer, self._keys, allow_pickle=False)
        return buffer.getvalue()

    @classmethod
    def at(cls, address: str) -> Known:
        """Read the set of keys that is stored in the file at `address`.

        An empty `address` gives the empty set. The last set is kept, so that a process reads a file
        only once.

        Raises:
            UsageError: when the file cannot be read.
        """
        with cls._LOCK:
            if address not in cls._LOADED:
                known = cls(())
                if address:
                    place = place_of(address)
                    with fetching_from(address), place.fs.open(place.path, "rb") as file:
                        known._keys = np.load(io.BytesIO(file.read()), allow_pickle=False)
                # A worker serves one sweep at a time, so older sets are not needed.
                cls._LOADED.clear()
                cls._LOADED[address] = known
            return cls._LOADED[address]
