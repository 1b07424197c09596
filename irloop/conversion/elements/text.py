"""Refuses operations on strings and encoded images: the other format has no counterpart."""

from __future__ import annotations

from irloop.conversion.framework.translation import EXPORTS, IMPORTS, no_counterpart
from irloop.dialects.onnx import images
from irloop.dialects.onnx import text as onnx
from irloop.dialects.openvino import text as ov

__all__: list[str] = []

no_counterpart(
    EXPORTS,
    ov.StringTensorPack,
    ov.StringTensorUnpack,
    reason="ONNX has no operation that packs or unpacks strings",
    fix="make the strings an input or an output of the model",
)

no_counterpart(
    IMPORTS,
    onnx.RegexFullMatch,
    onnx.StringConcat,
    onnx.StringNormalizer,
    onnx.StringSplit,
    reason="OpenVINO computes nothing on strings",
    fix="process the strings before or after the model runs",
)

no_counterpart(
    IMPORTS,
    onnx.TfIdfVectorizer,
    reason="OpenVINO has no operation that counts n-grams",
    fix="make the counts of n-grams an input of the model",
)

no_counterpart(
    IMPORTS,
    images.ImageDecoder,
    reason="OpenVINO decodes no images",
    fix="decode the image before the model runs and make the pixels its input",
)
