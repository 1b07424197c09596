"""What reading the root and all bodies of one IR has in common: ops, declared types, errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irloop.diagnostics import Location
from irloop.dialects.openvino import OPENVINO
from irloop.dialects.openvino.opsets import opset_of
from irloop.errors import ReadError
from irloop.formats.openvino.attributes import AttributeProblem, codec_of
from irloop.formats.openvino.numbers import dim_integer
from irloop.formats.openvino.texts import element_of_precision, parse_dim, parse_shape
from irloop.formats.openvino.weights import Weights
from irloop.formats.openvino.xml import Document, Layer
from irloop.graph.op import Op, UnknownOp
from irloop.graph.types import UNKNOWN_SHAPE, Shape, TensorType

__all__ = ["Shared"]

#: Spellings that are one of these for a reader, and nothing or a crash to OpenVINO.
_EXACT = {"const": "Const", "constant": "Const", "parameter": "Parameter", "result": "Result"}
_NOTHING: Mapping[str, Any] = {}


class Shared:
    """What is shared by the root and all bodies."""

    def __init__(self, document: Document, weights: Weights, *, has_info: bool) -> None:
        self.file = document.file
        self.weights = weights
        #: Version 11: layers and ports have runtime information.
        self.has_info = has_info
        #: One op object for all layers with the same type, version and attributes.
        self.ops: dict[Any, tuple[Op, Mapping[str, Any]]] = {}
        self.types: dict[tuple[str | None, tuple[str, ...]], TensorType] = {}
        self.is_static = _is_static(document)

    def error(
        self,
        layer: Layer,
        message: str,
        code: str,
        *,
        line: int | None = None,
        expected: str = "",
        found: str = "",
        cause: str = "",
        fix: str = "",
    ) -> ReadError:
        """An error that names a layer; raise it."""
        return ReadError(
            f"{layer.type} {layer.path!r} (layer {layer.id}): {message}",
            location=Location(
                self.file, line or layer.line, layer.path, layer.id, layer.element_path
            ),
            code=code,
            expected=expected,
            found=found,
            cause=cause,
            fix=fix,
        )

    def problem(self, layer: Layer, problem: AttributeProblem) -> ReadError:
        """The error for a text of the data of a layer; raise it."""
        return self.error(
            layer,
            str(problem),
            problem.code,
            line=layer.data_line,
            expected=problem.expected,
            found=problem.found,
        )

    def op(self, layer: Layer) -> tuple[Op, Mapping[str, Any]]:
        """The op of a layer and the attributes its class does not know."""
        key = (layer.type, layer.version, *layer.data.items())
        found = self.ops.get(key)
        if found is None:
            found = self.ops[key] = self._new_op(layer)
        return found

    def _new_op(self, layer: Layer) -> tuple[Op, Mapping[str, Any]]:
        if layer.type is None or layer.version is None or layer.type.lower() in _EXACT:
            raise self._bad_type(layer)
        opset = opset_of(layer.version, layer.type)
        cls = None if opset is None else OPENVINO.find(layer.type, opset)
        if cls is None:
            return UnknownOp(layer.type, layer.version, dict(layer.data)), _NOTHING
        try:
            op, unknown = codec_of(cls).read(layer.data)
        except AttributeProblem as problem:
            raise self.problem(layer, problem) from None
        return op, unknown or _NOTHING

    def _bad_type(self, layer: Layer) -> ReadError:
        if layer.version is None:
            return self.error(
                layer, "the layer has no version", "IRL103", expected='such as version="opset1"'
            )
        return self.error(
            layer,
            "the type is not spelt as OpenVINO needs it",
            "IRL110",
            expected=f'type="{_EXACT.get((layer.type or "").lower())}"',
            found=f'type="{layer.type}"',
            cause="letter case matters for Const, Parameter and Result only",
        )

    def output_types(self, layer: Layer) -> tuple[TensorType, ...]:
        """What the output ports of a layer declare."""
        types = self.types
        found = []
        for port in layer.outputs:
            key = (port.precision, port.dims)
            if key not in types:
                types[key] = self._declared(layer, port.precision or "", port.dims)
            found.append(types[key])
        return tuple(found)

    def _declared(self, layer: Layer, precision: str, texts: tuple[str, ...]) -> TensorType:
        element = element_of_precision(precision)
        if element is None:
            raise self.error(
                layer,
                "the precision of an output port is not known",
                "IRL111" if precision else "IRL103",
                line=layer.outputs[0].line,
                expected="a precision such as FP32 or I64",
                found=repr(precision) if precision else "no precision",
            )
        if not texts and not self.is_static:
            # Writers of models with unknown shapes leave the dimensions out for two reasons.
            return TensorType(element, UNKNOWN_SHAPE)
        dims = [parse_dim(text) for text in texts]
        known = tuple(dim for dim in dims if dim is not None)
        if len(known) != len(dims):
            raise self.error(
                layer,
                "a dimension of an output port is no number",
                "IRL113",
                line=layer.outputs[0].line,
                expected="a number, or -1 where it is not known",
                found=repr(texts[dims.index(None)]),
            )
        return TensorType(element, Shape(known))


def _is_static(document: Document) -> bool:
    """True when no port and no Parameter of the root leaves a dimension open."""
    texts = (text for dims in document.all_dims for text in dims)
    if any(not text.isdecimal() and dim_integer(text) == -1 for text in texts):
        return False
    shapes = (
        parse_shape(layer.data.get("shape", ""))
        for layer in document.net.layers
        if layer.type == "Parameter"
    )
    return all(shape is not None and shape.is_static for shape in shapes)
