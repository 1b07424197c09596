"""Records where errors were found, and decides which findings these errors silence.

A rule names other rules in `requires`. If one of these has found an error at the same place, the
findings of the rule there are meaningless and not reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from irloop.diagnostics import Location
from irloop.validation.rule import FILE, LAYER, NET, OWNER, Rule

__all__ = ["Errors"]


class Errors:
    """The codes of the errors found in each layer, in each net and in the whole file.

    Layers and nets are keyed by their element paths; the key of the file is an empty path.
    """

    def __init__(self) -> None:
        self._codes: dict[str, set[str]] = {}

    def __bool__(self) -> bool:
        return bool(self._codes)

    def add(self, code: str, place: Location) -> None:
        """Record an error at `place`."""
        for key in ("", _net_key(place), _layer_key(place)):
            self._codes.setdefault(key, set()).add(code)

    def at(self, element: str) -> set[str]:
        """Return the codes of the errors in the layer with the element path `element`."""
        return self._codes.get(element, set())

    def silence(self, rule: type[Rule], place: Location) -> bool:
        """Return whether findings of `rule` at `place` are meaningless because of an error.

        This is so if a rule that `rule` requires has found an error in the same layer, owner, net
        or file; the scope of `rule` determines which of these counts.
        """
        if not self._codes or not rule.requires:
            return False
        codes = self._codes.get(_KEYS[rule.scope](place), ())
        return any(code.startswith(rule.requires) for code in codes if code != rule.code)


def _owner_key(place: Location) -> str:
    """Return the element path of the layer that owns the body around a location.

    All locations in the same body have the same key.
    """
    return _net_key(place).rpartition("/")[0]


def _layer_key(place: Location) -> str:
    """Return the path of the innermost layer element that contains a location.

    For the location of an edge, and outside of layers, this is the path of the location itself.
    """
    element = place.element
    if "layer[" not in element:
        return element
    steps = list(re.finditer(r"layer\[@id=[^\]]*\]", element))
    if not steps or "/edges/" in element[steps[-1].end() :]:
        return element
    return element[: steps[-1].end()]


def _net_key(place: Location) -> str:
    """Return the key of the net to which a location belongs.

    This is the innermost net around the layer or edge of the location.
    """
    element = place.element
    cut = max(element.rfind("/layers/"), element.rfind("/edges/"))
    return f"{element if cut < 0 else element[:cut]} net"


_KEYS: dict[str, Callable[[Location], str]] = {
    LAYER: _layer_key,
    OWNER: _owner_key,
    NET: _net_key,
    FILE: lambda _: "",
}
