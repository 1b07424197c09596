"""Stores large constants of f32 and f64 as f16."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.dialects.unpacked import ConvertedTensor
from irloop.errors import UsageError
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant, Op
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType
from irloop.graph.walk import all_graphs
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.options import option
from irloop.passes.session import Session

__all__ = ["CompressToFp16", "Compression"]

#: What OpenVINO's runtimes take for compressed weights: an attribute of the Convert behind them.
DECOMPRESSION = {"decompression": {"version": "0"}}

#: As in OpenVINO: with more than this part of its elements lost to 0, a constant stays.
MOST_LOST = 0.75


@dataclass
class Compression:
    """What was compressed, and at what price."""

    constants: int = 0
    bytes_saved: int = 0
    #: The largest difference that rounding made, and the constant it was in.
    largest_error: float = 0.0
    where: str = ""
    #: Constants that hold numbers f16 has not: they stay as they were.
    kept: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """One line for people."""
        text = f"{self.constants} constants stored as f16, {self.bytes_saved} bytes less"
        if self.where:
            text += f"; largest rounding error {self.largest_error:.3g} (in {self.where!r})"
        if self.kept:
            shown = ", ".join(repr(name) for name in self.kept[:3])
            more = f" and {len(self.kept) - 3} more" if len(self.kept) > 3 else ""
            text += f"; {len(self.kept)} out of the range of f16 stay: {shown}{more}"
        return text


@dataclass(eq=False)
class CompressToFp16(ModelPass):
    """Stores constants of f32 and f64 as f16, converted back where they are read.

    Given::

        y = MatMul(x, Const f32 [64, 64])

    Result::

        y = MatMul(x, Convert(Const f16 [64, 64], f32))

    The Convert carries the runtime information `decompression`, by which OpenVINO knows compressed
    weights; in ONNX it is a Cast. Small constants stay, and so does every constant with a number
    beyond 65504, or with most of its numbers so small that f16 has only 0 for them. `report` says
    what was done.
    """

    name = "compress_to_fp16"

    least: int = option(32, "constants of fewer elements stay")

    def __post_init__(self) -> None:
        if self.least < 0:
            raise UsageError(f"least is {self.least}", expected="0 or more")
        self.report = Compression()

    def run_on_model(self, model: Model) -> bool:
        self.report = Compression()
        session = Session(model)
        modified = False
        for graph in all_graphs(model.graph):
            rewriter = session.rewriter(graph)
            self._names = Counter(node.name for node in graph.nodes)
            for node in graph.nodes:
                if isinstance(node.op, Constant) and not self.transformation_callback(node):
                    self._compress(node, node.op.tensor, rewriter, model)
            modified |= rewriter.modified
        return modified

    def _compress(self, node: Node, tensor: Tensor, rewriter: MatchRewriter, model: Model) -> None:
        wide = tensor.element
        if wide not in (ElementType.F32, ElementType.F64) or tensor.count < self.least:
            return
        half = ConvertedTensor(tensor, ElementType.F16)
        error = _largest_error(tensor, half)
        if error is None:
            self.report.kept.append(node.name)
            return
        stored = rewriter.insert_constant(half, before=node, name=f"{node.name}_compressed")
        back = rewriter.insert(_back(model, wide), (stored,), before=node, name=node.name)
        if model.dialect == "openvino":
            back.info = dict(DECOMPRESSION)
        self.report.constants += 1
        self.report.bytes_saved += tensor.nbytes - half.nbytes
        if error > self.report.largest_error:
            self.report.largest_error, self.report.where = error, node.name
        rewriter.replace_node(node, back.outputs)
        if self._names[node.name] > 1:
            # Constants may share a name in ONNX Runtime, conversions may not.
            rewriter.rename(back, rewriter.names.fresh(node.name))


def _back(model: Model, element: ElementType) -> Op:
    if model.dialect == "openvino":
        return ov.Convert(element)
    return onnx.Cast6(element)


def _largest_error(tensor: Tensor, half: Tensor) -> float | None:
    """The largest difference between the numbers; None where f16 is no home for them."""
    before, after = tensor.numpy(), half.numpy()
    if not np.array_equal(np.isfinite(before), np.isfinite(after)):
        return None
    lost = int(((after == 0) & (before != 0)).sum())
    if lost > MOST_LOST * tensor.count:
        return None
    with np.errstate(invalid="ignore"):
        difference = np.abs(after.astype(before.dtype) - before)
    return float(np.nanmax(np.where(np.isfinite(difference), difference, 0), initial=0.0))
