"""Frozen dataclasses that are cheap to define.

`dataclasses.dataclass` compiles the text of every method that it generates, which takes at least a
quarter of a millisecond for each class. irloop has hundreds of small classes, and a CI pipeline may
start it once per file. Therefore these methods are written once, in a base class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from inspect import get_annotations
from types import SimpleNamespace
from typing import Any, ClassVar, cast, dataclass_transform, get_type_hints

__all__ = ["Record", "attribute"]


def attribute(
    default: Any = MISSING,
    *,
    name: str | None = None,
    words: tuple[str, ...] = (),
    least: int | None = None,
    most: int | None = None,
    entries: tuple[int, int | None] = (0, None),
    needed: bool = False,
    absent: str | None = None,
    written: tuple[Any, ...] = (),
) -> Any:
    """A dataclass field with the properties of an attribute that its type does not express.

    Args:
        default: the value for a file without the attribute. Without a default, the attribute is
            required.
        name: the name in the file, if it differs from the name of the field.
        words: the allowed words, in any letter case.
        least: the smallest valid number; in a list, of each entry.
        most: the largest valid number; in a list, of each entry.
        entries: the smallest and the largest number of entries of a list (None: no limit).
        needed: True if OpenVINO refuses a file without the attribute, although the specification
            gives a default. irloop reads such a file with `default`.
        absent: the value, as text, that irloop assumes for a required attribute if a file lacks it
            nevertheless. It is the value that OpenVINO 2026.4 uses, as measured. None: such a file
            is refused.
        written: the entries to write to a file if the list is empty. For some lists, OpenVINO fails
            on a file that omits the attribute.
    """
    metadata = {
        "name": name,
        "words": words,
        "least": least,
        "most": most,
        "entries": entries,
        "needed": needed,
        "absent": absent,
        "written": written,
    }
    if default is MISSING:
        return field(metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass_transform(frozen_default=True, field_specifiers=(field, attribute))
class Record:
    """The base of frozen dataclasses that are cheap to define.

    `fields`, `replace`, equality, hash and pattern matching work as usual. Equality and hash depend
    on the class and on all fields. There is no `__post_init__`.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[Mapping[str, Any]] = {}
    _factories: ClassVar[Mapping[str, Callable[[], Any]]] = {}

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if len(cls.__bases__) == 1 and hasattr(cls, "__dataclass_fields__"):
            texts = get_annotations(cls).values()
            if all(str(text).startswith("ClassVar") for text in texts):
                return  # A class without annotations has the same fields as its base.
        dataclass(init=False, repr=False, eq=False)(cls)
        own: tuple[Any, ...] = fields(cast("Any", cls))
        cls._fields = tuple(item.name for item in own)
        cls._names = frozenset(cls._fields)
        cls._defaults = {item.name: item.default for item in own if item.default is not MISSING}
        cls._factories = {
            item.name: item.default_factory for item in own if item.default_factory is not MISSING
        }

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self._fields
        # Nearly all calls give all fields, either by position or by name.
        if not named and len(values) == len(names):
            if names:
                self.__dict__.update(zip(names, values, strict=True))
            return
        if not values and named.keys() == self._names:
            self.__dict__.update(named)
            return
        if not values and not named and len(self._defaults) == len(names):
            self.__dict__.update(self._defaults)
            return
        content = {**self._defaults, **dict(zip(names, values, strict=False)), **named}
        for name, factory in self._factories.items():
            if name not in content:
                content[name] = factory()
        twice = values and named and not named.keys().isdisjoint(names[: len(values)])
        if twice or content.keys() != self._names or len(values) > len(names):
            raise self._wrong_call(content, len(values))
        self.__dict__.update(content)

    def _wrong_call(self, found: Mapping[str, Any], positional: int) -> TypeError:
        missing = [name for name in self._fields if name not in found]
        unknown = [name for name in found if name not in self._fields]
        return TypeError(
            f"{self.__class__.__qualname__} has the attributes {', '.join(self._fields) or 'none'}"
            f"; missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
            f"; {positional} given by position"
        )

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.equality_key())

    def equality_key(self) -> tuple[Any, ...]:
        """The class and the values of the fields; equal records have equal keys."""
        fields = self._fields
        if not fields:
            return (self.__class__,)
        return (self.__class__, *map(self.__dict__.__getitem__, fields))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self._fields)
        return f"{self.__class__.__qualname__}({shown})"

    @classmethod
    def has_fields(cls) -> bool:
        """Return whether there is at least one field."""
        return bool(cls._fields)

    @classmethod
    def attribute_types(cls) -> dict[str, Any]:
        """The type of each field by its name, evaluated from the text of its annotation.

        Faster than `typing.get_type_hints`, which also evaluates the class variables of all bases.
        """
        hints: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            texts = get_annotations(base)
            own = {name: text for name, text in texts.items() if name in cls._names}
            if own:
                holder = SimpleNamespace(__annotations__=own)
                names = vars(sys.modules[base.__module__])
                hints |= get_type_hints(holder, globalns=names, localns=cls._type_names())
        return hints

    @classmethod
    def _type_names(cls) -> dict[str, Any]:
        """Names for evaluating annotations, in addition to those that their modules import."""
        return {}
