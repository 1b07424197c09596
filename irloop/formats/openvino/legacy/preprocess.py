"""The mean values of `<pre-process>`, which the engine of 2020 subtracted from an input.

It ignored `<scale>`, and so does irloop.
"""

from __future__ import annotations

from irloop.formats.openvino.document import Extra, Layer, Net
from irloop.formats.openvino.legacy.base import Dims, LayerFault, precision_of
from irloop.formats.openvino.legacy.steps import F32, Steps
from irloop.formats.openvino.numbers import attribute_float, unsigned
from irloop.graph.builder import element_of
from irloop.graph.model import Value

__all__ = ["Means"]


class Means:
    """The mean of each channel of one input: a number, or an image in the .bin."""

    def __init__(self, net: Net, inputs: list[Layer]) -> None:
        self._section = next((item for item in net.sections if item.tag == "pre-process"), None)
        names = {layer.name for layer in inputs}
        wanted = self._section.attributes.get("reference-layer-name") if self._section else None
        first = inputs[0].name if inputs else None
        #: The name of the input to which the section belongs.
        self.name = wanted if wanted in names else first if not wanted else None

    def subtracted(self, steps: Steps, layer: Layer, value: Value) -> Value:
        """The input `value` without its mean; the value itself if the section is about another.

        Raises:
            LayerFault: when the section cannot be read.
        """
        section = self._section
        if section is None or layer.name != self.name or not section.children:
            return value
        channels = _by_id([child for child in section.children if child.tag == "channel"])
        means = [_mean(channel) for channel in channels]
        if not any(mean is not None for mean in means):
            return value
        dims = steps.dims(value)
        if len(dims) < 2 or dims[1] != len(channels):
            raise _fault("has a mean for another number of channels", str(len(channels)))
        if element_of(value) is not F32:
            raise _fault("has a mean for integers, whose results the engine of 2020 rounded", "")
        images = [mean is not None and "offset" in mean.attributes for mean in means]
        if not any(images):
            numbers = [_number(mean) for mean in means]
            shape = (len(numbers), *[1] * (len(dims) - 2))
            import numpy as np

            mean = steps.constant(np.array(numbers, np.float32).reshape(shape), F32)
        elif all(images):
            mean = _image(steps, layer, section, [mean for mean in means if mean], dims)
        else:
            raise _fault("mixes mean values and mean images", "")
        made = steps.subtract(value, mean)
        made.names = (f"{layer.name}/mean",)
        return made


def _by_id(channels: list[Extra]) -> list[Extra]:
    """The channels in the order of their ids.

    Raises:
        LayerFault: when the ids are not 0, 1, and so on.
    """
    ids = {unsigned(channel.attributes.get("id")): channel for channel in channels}
    if set(ids) != set(range(len(channels))):
        found = ", ".join(str(channel.attributes.get("id")) for channel in channels[:8])
        raise _fault(f"has {len(channels)} channels whose ids do not count from 0", found)
    return [ids[at] for at in range(len(channels))]


def _mean(channel: Extra) -> Extra | None:
    return next((part for part in channel.children if part.tag == "mean"), None)


def _number(mean: Extra | None) -> float:
    if mean is None:
        return 0.0
    text = mean.attributes.get("value", "")
    number = attribute_float(text)
    if number is None:
        raise _fault("has a mean that is not a number", repr(text))
    return number


def _image(steps: Steps, layer: Layer, section: Extra, means: list[Extra], dims: Dims) -> Value:
    """The mean images of all channels, which lie in the .bin one by one."""
    element = precision_of(section.attributes.get("mean-precision"), "has a mean image")
    shape = (1, *dims[2:])
    parts = []
    for mean in means:
        numbers = [unsigned(mean.attributes.get(name)) for name in ("offset", "size")]
        if None in numbers:
            raise _fault("has a mean image without offset or size", "")
        parts.append(steps.real(steps.tensor(steps.blobs.at(mean, shape, element))))
    return steps.concat(parts, 0)


def _fault(what: str, written: str) -> LayerFault:
    return LayerFault(
        f"is pre-processed: <pre-process> {what}",
        code="IRL115",
        found=written,
        fix="correct the section pre-process, or remove it",
    )
