"""The base class of the layers of IR versions 2 to 7.

    class Power(LegacyLayer, type="Power", inputs=1):
        power: float = 1.0
        scale: float = 1.0
        shift: float = 0.0

        def build(self, s: Steps, x: Value) -> Value: ...

The fields are the attributes of `<data>`, with their defaults. `since` and `until` are the versions
of IR that have the layer. `weights` gives the shapes of the blobs, which no file states. `build`
writes the layer in operations of today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

from irloop.formats.openvino.attributes import AttributeProblem, codec_of
from irloop.formats.openvino.document import Extra, Layer
from irloop.graph.op import Op, Registry
from irloop.graph.types import ElementType

__all__ = [
    "LEGACY",
    "Dims",
    "Dims2",
    "LayerFault",
    "LegacyLayer",
    "axis_of",
    "other_rank",
    "precision_of",
    "product",
]

LEGACY = Registry(ignore_case=True)

#: The element types by the `precision` of a layer, a port or a blob.
PRECISIONS = {
    "FP32": ElementType.F32,
    "FP16": ElementType.F16,
    "I8": ElementType.I8,
    "U8": ElementType.U8,
    "I16": ElementType.I16,
    "U16": ElementType.U16,
    "I32": ElementType.I32,
    "I64": ElementType.I64,
    "U64": ElementType.U64,
    "BOOL": ElementType.BOOLEAN,
}

Dims = tuple[int, ...]
#: The dimensions of all inputs, or of all outputs.
Dims2 = Sequence[Dims]


class LayerFault(ValueError):  # noqa: N818 (does not leave: the reader places it)
    """Raised for a layer that contradicts itself, or that irloop refuses.

    `code` is the code of the finding; `what` completes the sentence "the layer ...". `blob` is the
    element with the fault, if it is one of the layer's blobs, and `attribute` the attribute.
    """

    def __init__(
        self,
        what: str,
        *,
        code: str = "IRL404",
        expected: str = "",
        found: str = "",
        cause: str = "",
        fix: str = "",
        blob: Extra | None = None,
        attribute: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.code = code
        self.expected = expected
        self.found = found
        self.cause = cause
        self.fix = fix
        self.blob = blob
        self.attribute = attribute


#: The engine of 2020 read the integers of attributes in 32 bits.
LARGEST = 2**32 - 1


class LegacyLayer(Op):
    """The base of the layers of versions 2 to 7.

    `aliases` maps the name of an attribute to the names it has in other versions. A tuple of names
    stands for a list whose entries are separate attributes, as in ``kernel-y`` and ``kernel-x``.
    """

    registry: ClassVar[Registry | None] = LEGACY
    aliases: ClassVar[Mapping[str, tuple[str | tuple[str, ...], ...]]] = {}
    #: The blobs that the layer cannot do without.
    needed: ClassVar[tuple[str, ...]] = ()
    #: How many of the inputs count; the others repeat what the output declares. None if all count.
    counted: ClassVar[int | None] = None
    #: The layer has at least one output.
    has_outputs: ClassVar[bool] = True
    #: Why irloop refuses the layer, or "".
    refusal: ClassVar[str] = ""
    #: The layer computes floats; integers among its inputs are converted first.
    is_real: ClassVar[bool] = True
    #: Writes the layer in operations of today: takes the steps and the inputs, and returns the
    #: output or outputs.
    build: ClassVar[Callable[..., Any]]

    @classmethod
    def read(cls, data: Mapping[str, str]) -> LegacyLayer:
        """Read the layer from the attributes of its `data`.

        Attributes that the class does not have are ignored, as the engine of then did.

        Raises:
            LayerFault: for an invalid text, a number out of range or a missing mandatory attribute.
        """
        texts = {name.lower(): text for name, text in data.items()}
        for name, others in cls.aliases.items():
            alias = None if name in texts else _of_alias(texts, others)
            if alias is not None:
                texts[name] = alias
        try:
            op, _ = codec_of(cls).read(texts)
        except AttributeProblem as problem:
            raise _unreadable(problem, texts) from None
        for name, expected, alias in op.out_of_range():
            raise LayerFault(
                f"has {name} out of range",
                code="IRL405",
                expected=expected,
                found=alias,
                attribute=name,
            )
        assert isinstance(op, LegacyLayer)
        for name, number in op.integers():
            if abs(number) > LARGEST:
                raise LayerFault(
                    f"has a number in {name} that the engine could not read",
                    code="IRL405",
                    expected="an integer of 32 bits",
                    found=str(number),
                    attribute=name,
                )
        return op

    @classmethod
    def takes(cls, count: int) -> bool:
        """Return whether the layer may have this number of inputs."""
        least, most = cls.arity
        return count >= least and (most is None or count <= most)

    def integers(self) -> Iterator[tuple[str, int]]:
        """Yield each integer of the attributes with the name of its attribute."""
        for field in fields(self):
            value = getattr(self, field.name)
            for number in value if isinstance(value, tuple) else (value,):
                if isinstance(number, int):
                    yield field.name, number

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        """The shape of each blob that the layer may have, by its tag.

        Raises:
            LayerFault: when the attributes and the ports contradict each other.
        """
        return {}

    def sizes(self, inputs: Dims2, outputs: Dims2) -> Dims2 | None:
        """The dimensions of the outputs as they follow from inputs of f32; None if unknown.

        If the file declares these dimensions (`outputs`), all of them 1 or more, and the blobs fit,
        then the layer has no fault: `validate` does not build it. So a layer whose faults only
        `build` finds returns None.

        Raises:
            LayerFault: when the inputs contradict the layer.
        """
        return None

    def fault_of_then(self, layer: Layer) -> str:
        """Say what the engine of 2020 computed other than documents say for `layer`; or "".

        The text completes the sentence "the layer ...".
        """
        return ""


def _unreadable(problem: AttributeProblem, texts: Mapping[str, str]) -> LayerFault:
    """The fault of an attribute that is missing, or that cannot be read."""
    name = problem.name
    if name not in texts:
        return LayerFault(
            f"has no {name}",
            code="IRL103",
            expected=f"an attribute {name}",
            found="none",
            fix=f"add {name} to its data",
            attribute=name,
        )
    return LayerFault(
        f"has an attribute {name} that {problem.what}",
        code="IRL115",
        expected=problem.expected,
        found=repr(texts[name]),
        fix=f"write {problem.expected}",
        attribute=name,
    )


def _of_alias(texts: Mapping[str, str], others: Sequence[str | tuple[str, ...]]) -> str | None:
    for other in others:
        if isinstance(other, str):
            if other in texts:
                return texts[other]
        elif any(name in texts for name in other):
            # The engine of then took 0 for a missing pad, and 1 for a missing stride or dilation.
            missing = "0" if other[0].startswith("pad") else "1"
            return ",".join(texts.get(name, missing) for name in other)
    return None


def other_rank(dims: Dims, declared: Dims) -> LayerFault:
    """The fault of a layer whose output must have the rank of its input."""
    return LayerFault(
        "declares an output of another rank than its input",
        code="IRL401",
        expected=f"{len(dims)} dimensions, as in {list(dims)}",
        found=str(list(declared)),
    )


def precision_of(text: str | None, what: str) -> ElementType:
    """The element type of a `precision` of these versions; `what` has it, in "the layer ...".

    Raises:
        LayerFault: for any other text.
    """
    element = PRECISIONS.get(text or "")
    if element is None:
        raise LayerFault(
            f"{what} of an unknown precision",
            code="IRL111",
            expected="FP32, FP16, I32 or another precision",
            found=repr(text),
        )
    return element


def product(dims: Sequence[int]) -> int:
    """The number of elements of a shape."""
    total = 1
    for dim in dims:
        total *= dim
    return total


def axis_of(axis: int, dims: Dims) -> int:
    """An axis of a shape, counted from the front.

    Raises:
        LayerFault: when the shape has no such axis.
    """
    if not -len(dims) <= axis < len(dims):
        raise LayerFault(
            "names an axis that its input does not have",
            code="IRL405",
            expected=f"an axis below {len(dims)}",
            found=str(axis),
        )
    return axis % len(dims)
