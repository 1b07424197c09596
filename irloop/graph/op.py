"""The base class of operations, which are frozen dataclasses with attributes as fields.

    class Concat(OpenVinoOp, type="Concat", since=1, inputs=(1, None)):
        axis: int

        def infer(self, args: Arguments) -> list[ValueType]: ...
        def kernel(self, n_outputs: int = 1) -> Kernel: ...

Defining the class registers it with its dialect; the schema, the documentation, the reader, the
writer and the coverage page are derived from it. To change an attribute, make a changed copy:
``replace(op, axis=1)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from irloop.graph.meanings import Meaning
from irloop.graph.record import Record, attribute
from irloop.graph.tensor import Tensor
from irloop.graph.types import UNKNOWN_TYPE, Dim, ValueType

if TYPE_CHECKING:
    import numpy as np

    from irloop.graph.arguments import Arguments

    Array = np.ndarray[Any, np.dtype[Any]]

#: A kernel takes arrays (None for an omitted input), and returns one array or a tuple of arrays.
Kernel = Callable[..., Any]

__all__ = [
    "Constant",
    "Kernel",
    "Op",
    "Parameter",
    "Registry",
    "Result",
    "UnknownOp",
    "attribute",
]


class Registry:
    """The operation classes of one dialect, found by type and by the opset that introduced them."""

    def __init__(self, *, ignore_case: bool = False) -> None:
        self._ignore_case = ignore_case
        self._classes: dict[tuple[str, str], list[type[Op]]] = {}
        self._load: Callable[[str | None, str], None] | None = None
        #: The results of `find`, which is called for every node of a model.
        self._found: dict[tuple[str, str, int], type[Op]] = {}

    def load_by(self, load: Callable[[str | None, str], None]) -> None:
        """Register `load`, which is called as `load(type, domain)` before a type is looked up.

        `load` must import the module with the class of this type. If the type is None, it must
        import every class of every domain.
        """
        self._load = load

    def _loaded(self, type_name: str | None, domain: str = "") -> None:
        if self._load is not None:
            self._load(type_name, domain)

    def _key(self, domain: str, type_name: str) -> tuple[str, str]:
        return domain, type_name.lower() if self._ignore_case else type_name

    def add(self, cls: type[Op]) -> None:
        """Register a class; called when it is defined.

        Raises:
            TypeError: when two classes claim the same type and version.
        """
        key = self._key(cls.domain, cls.type)
        versions = self._classes.get(key, [])
        if any(other.since == cls.since for other in versions):
            raise TypeError(f"two classes for {cls.type} since {cls.since}")
        # Another thread may be reading the list, so it is replaced and never changed.
        self._classes[key] = sorted([*versions, cls], key=lambda item: item.since)
        self._found.clear()

    def find(self, type_name: str, opset: int, domain: str = "") -> type[Op] | None:
        """The class for `type_name` in `opset`, or None."""
        key = (*self._key(domain, type_name), opset)
        newest = self._found.get(key)
        if newest is None:
            newest = self._newest(type_name, opset, domain)
            if newest is not None:
                self._found[key] = newest
        return newest

    def _newest(self, type_name: str, opset: int, domain: str) -> type[Op] | None:
        self._loaded(type_name, domain)
        newest = None
        for cls in self._classes.get(self._key(domain, type_name), ()):
            if cls.since > opset:
                break
            newest = cls
        if newest is not None and newest.until is not None and opset > newest.until:
            return None
        return newest

    def versions(self, type_name: str, domain: str = "") -> tuple[type[Op], ...]:
        """All classes of one type, oldest first."""
        self._loaded(type_name, domain)
        return tuple(self._classes.get(self._key(domain, type_name), ()))

    def all(self) -> tuple[type[Op], ...]:
        """All operation classes of the dialect, sorted by domain, type and version."""
        self._loaded(None)
        return self.registered()

    def registered(self) -> tuple[type[Op], ...]:
        """The classes whose modules have been imported, sorted by domain, type and version."""
        # Use a copy, because another thread may import a family meanwhile.
        classes = [cls for versions in list(self._classes.values()) for cls in versions]
        return tuple(sorted(classes, key=lambda cls: (cls.domain, cls.type, cls.since)))


class Op(Record):
    """The base of every operation; subclasses are frozen dataclasses.

    Class keywords: `type` is the name of the operation in the file. `since` is the opset that
    introduced the operation with the meaning that this class describes, and `until` is the last
    opset in which it has this meaning (None if the newest opset still has it). `inputs` is the
    smallest and the largest number of inputs (a largest number of None means no limit), and
    `outputs` is the number of outputs (None means that it varies). A class whose result is not a
    function of its inputs (random, state) sets `pure = False`.
    """

    type: ClassVar[str] = ""
    since: ClassVar[int] = 1
    until: ClassVar[int | None] = None
    domain: ClassVar[str] = ""
    arity: ClassVar[tuple[int, int | None]] = (0, None)
    n_outputs: ClassVar[int | None] = 1
    pure: ClassVar[bool] = True
    #: The elements of an input determine the size of the output, which may be far larger than all
    #: inputs together. The outputs of other operations are bounded by the product of the input
    #: sizes.
    expands: ClassVar[bool] = False
    #: Names and element types of the inputs and outputs, as ``data: any, axis?: i64 -> any``, for
    #: people to read (`irloop ops`). The inputs of operations of OpenVINO and of ONNX Runtime are
    #: checked against it.
    operands: ClassVar[str] = ""
    #: The shapes of the inputs, as ``N ? H W, R 4, R``: see `irloop.dialects.operand_shapes`.
    shapes: ClassVar[str] = ""
    #: Both operands may be swapped; patterns try both orders.
    commutative: ClassVar[bool] = False
    #: Positions of inputs that may be left out although later ones are given and required.
    omissible: ClassVar[frozenset[int]] = frozenset()
    #: The output has the shape of the operands, broadcast, and each of its elements depends on the
    #: elements at the same position only.
    elementwise: ClassVar[bool] = False
    #: How the time and memory of the kernel depend on sizes. "linear": on the numbers of elements
    #: of inputs and outputs. "parts": on the number of elements of the outputs alone. "product": as
    #: linear, but each output element takes as many steps as the last axis of input 0 has elements.
    #: Elementwise operations are linear. "" means unknown; such an operation is not folded.
    cost: ClassVar[Literal["", "linear", "parts", "product"]] = ""
    #: True if strings among the inputs do not get longer. This holds for every operation of cost
    #: "parts".
    moves_text: ClassVar[bool] = False
    #: The output has the elements of the first operand, in their order, in another shape.
    reshapes: ClassVar[bool] = False
    #: The output depends on the shape of its input, not on the elements.
    reads_shape_only: ClassVar[bool] = False
    #: For an elementwise operation that compares two values: the comparison, as a Python operator.
    comparator: ClassVar[Callable[[Any, Any], bool] | None] = None
    #: The labels of the bodies that a node of this operation owns.
    body_labels: ClassVar[tuple[str, ...]] = ()
    #: The meanings of inputs for which not every value is valid.
    meanings: ClassVar[tuple[Meaning, ...]] = ()
    #: The number of inputs before the inputs that are passed to bodies: trip count, condition,
    #: sequence lengths.
    leading_inputs: ClassVar[int] = 0
    registry: ClassVar[Registry | None] = None

    def __init_subclass__(
        cls,
        *,
        type: str | None = None,
        since: int = 1,
        until: int | None = None,
        domain: str | None = None,
        inputs: tuple[int, int | None] | int | None = None,
        outputs: int | None = 1,
        **keywords: Any,
    ) -> None:
        super().__init_subclass__(**keywords)
        if domain is not None:
            cls.domain = domain
        if inputs is not None:
            cls.arity = (inputs, inputs) if isinstance(inputs, int) else inputs
        if type is None:
            return
        cls.type = type
        cls.since = since
        cls.until = until
        cls.n_outputs = outputs
        if cls.registry is not None:
            cls.registry.add(cls)

    @classmethod
    def _type_names(cls) -> dict[str, Any]:
        return {"Tensor": Tensor}

    def check(self, args: Arguments) -> None:
        """Check the attributes and the element types of the inputs, before `infer` is called.

        Raises:
            InferenceError: when an attribute or an element type is not allowed.
        """
        for name, expected, found in self.out_of_range():
            raise args.error(f"{name} is out of range", expected, found, kind="range")

    def out_of_range(self) -> Iterator[tuple[str, str, str]]:
        """Yield each attribute with a number that is out of range: its name, the range, the number.

        The name is that in files.
        """
        for key, name, least, most in _bounds(type(self)):
            value = getattr(self, key)
            if value == self._defaults.get(key):
                continue  # A default out of the bounds means that the attribute is not there.
            for number in value if isinstance(value, tuple) else (value,):
                # NaN is neither in range nor out of it, and no engine accepts it here.
                if number is None or (number >= least and number <= most):
                    continue
                expected = f"{least} or more" if most == math.inf else f"{least} to {most}"
                yield name, expected, str(number)

    def infer(self, args: Arguments) -> list[ValueType]:
        """Infer the types of the outputs from the types and the constant values of the inputs.

        Raises:
            InferenceError: when the inputs contradict the operation's specification.
        """
        return [UNKNOWN_TYPE] * args.n_outputs

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        """The elements of an integer vector (or scalar) output as far as they are known.

        Only operations with which models compute shapes need this, such as ShapeOf, Gather and
        Concat.
        """
        return None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        """The NumPy function of this operation with its attributes.

        The function takes one array per input (None where an optional one is omitted) and
        returns one array, or a tuple when there are several outputs.

        Raises:
            NotImplementedError: when this operation cannot be run by irloop.
        """
        raise NotImplementedError(self.label)

    def kernel_of_constants(self, n_outputs: int = 1) -> Kernel:
        """Return the kernel that computes this operation if all its inputs are constants.

        Engines compute such an operation in advance. Few classes override this method: those for
        which engines then give another result than at run time. For example, OpenVINO rounds the
        quotient of integer constants down, but truncates quotients at run time.

        Raises:
            NotImplementedError: when this operation cannot be run by irloop.
        """
        return self.kernel(n_outputs)

    @classmethod
    def can_run(cls) -> bool:
        """Return whether the class has a kernel (control flow is run by the executor)."""
        return cls.kernel is not Op.kernel

    @property
    def label(self) -> str:
        """The type and version, such as ``Loop-5``."""
        return f"{self.type}-{self.since}"


#: For each class, the fields whose numbers are bounded: field, name in files, least, most.
_BOUNDS: dict[type[Op], list[tuple[str, str, float, float]]] = {}


def _bounds(cls: type[Op]) -> list[tuple[str, str, float, float]]:
    if cls in _BOUNDS:
        return _BOUNDS[cls]
    bounded = []
    for described in fields(cls):
        least, most = described.metadata.get("least"), described.metadata.get("most")
        if least is not None or most is not None:
            bounds = -math.inf if least is None else least, math.inf if most is None else most
            bounded.append((described.name, described.metadata["name"] or described.name, *bounds))
    _BOUNDS[cls] = bounded
    return bounded


class Parameter(Op, type="Parameter", inputs=0):
    """An input of a graph or body; its only output is the value."""


class Result(Op, type="Result", inputs=1, outputs=0):
    """An output of a graph or body; its only input is the value."""


class Constant(Op, type="Const", inputs=0):
    """A constant."""

    tensor: Tensor

    def __init__(self, tensor: Tensor) -> None:
        # Faster than the general method. A large model has thousands of constants.
        self.__dict__["tensor"] = tensor

    def infer(self, args: Arguments) -> list[ValueType]:
        return [self.tensor.type]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return self.tensor.numpy


class UnknownOp(Op):
    """An operation without a class, which can be read, validated and written, but not run.

    `version` is the version as text. Both `version` and `attributes` are kept as they were in the
    file.
    """

    name: str
    version: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    op_domain: str = ""

    @property
    def label(self) -> str:
        domain = f"{self.op_domain}." if self.op_domain else ""
        return f"{domain}{self.name}-{self.version.removeprefix('opset')}"
