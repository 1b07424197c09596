"""Attributes of every operation class agree with the schemas of its opsets."""

from __future__ import annotations

import dataclasses

import onnx
import pytest
from onnx.defs import OpSchema

from irloop.dialects.contrib import ContribOp
from irloop.dialects.onnx import ONNX
from irloop.dialects.onnx.control_flow import If, Loop, Scan, Scan8
from irloop.formats.onnx.attributes import codec_of, read_value, to_proto
from irloop.formats.onnx.external import ExternalFiles
from irloop.graph.op import Op

CLASSES = [
    cls
    for cls in ONNX.all()
    if cls.domain == "" and not issubclass(cls, (ContribOp, If, Loop, Scan, Scan8))
]

#: The schema of GRU-1 misspells its own default value.
MISSPELT = {("GRU1", "direction")}


def schemas(cls: type[Op]) -> list[OpSchema]:
    """The schemas of all versions of the operation that the class describes."""
    newest = onnx.defs.onnx_opset_version()
    found: dict[int, OpSchema] = {}
    for opset in range(cls.since, newest + 1):
        if ONNX.find(cls.type, opset) is cls:
            schema = onnx.defs.get_schema(cls.type, opset)
            found[schema.since_version] = schema
    return list(found.values())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_attributes_are_those_of_the_schemas(cls: type[Op]) -> None:
    versions = schemas(cls)
    assert versions
    assert versions[0].since_version == cls.since
    described = {name for schema in versions for name in schema.attributes}
    for codec in codec_of(cls):
        assert codec.name in described, f"no version has {codec.name}"
    for schema in versions:
        for codec in codec_of(cls):
            attribute = schema.attributes.get(codec.name)
            if attribute is not None and attribute.required:
                assert codec.default is dataclasses.MISSING, codec.name


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_default_values_are_those_of_the_schemas(cls: type[Op]) -> None:
    files = ExternalFiles(None)
    for schema in schemas(cls):
        for codec in codec_of(cls):
            attribute = schema.attributes.get(codec.name)
            if attribute is None or not attribute.default_value.name:
                continue
            # None and an empty list mean "not given".
            if codec.default in (None, ()) or (cls.__name__, codec.name) in MISSPELT:
                continue
            assert codec.default is not dataclasses.MISSING
            value = codec.dump(codec.default)
            ours = read_value(to_proto(codec.name, value, attribute.type, ""), files, "")
            assert ours == read_value(attribute.default_value, files, ""), codec.name
