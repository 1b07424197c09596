"""Gives each output of an IR model a layer of its own, by copying values where needed.

The version 10 reader of OpenVINO refuses a model in which two outputs share a value, or in which an
output is directly an input.
"""

from __future__ import annotations

from irloop.conversion.framework.directions import Import
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import Parameter
from irloop.graph.types import ElementType

__all__ = ["own_producer"]


def own_producer(c: Import, name: str, value: Value) -> Value:
    """Return `value`, or a copy of it, to serve as the model output `name`.

    The result gets this name. The value is copied if it is a model input or serves another output
    already. OpenVINO's reader for IR v10 refuses models in which an input is also an output, one
    value is two outputs, or two outputs have the same tensor name.
    """
    producer = value.producer
    # This function gets only outputs of the whole model, so a Parameter here is an input of the
    # model.
    if isinstance(producer.op, Parameter) or value.is_output:
        value = _copied(c, value)
        producer = value.producer
    value.names = (name,)
    if len(producer.outputs) == 1:
        producer.name = name
    return value


def _copied(c: Import, value: Value) -> Value:
    element = element_of(value)
    if element is ElementType.STRING:
        # No Convert of OpenVINO takes strings.
        shape = c.shape_of(value)
        return c.reshape_to(value, shape, special_zero=False)
    return c.convert_always(value, element)
