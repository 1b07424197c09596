"""Stores large f32 and f64 constants as f16."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.dialects.unpacked import ConvertedTensor
from irloop.errors import UsageError
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType
from irloop.graph.walk import all_graphs
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.options import option
from irloop.passes.session import Session

__all__ = ["CompressToFp16", "Compression"]

#: The attribute of a Convert by which OpenVINO's runtimes recognise compressed weights.
DECOMPRESSION = {"decompression": {"version": "0"}}

#: As in OpenVINO, a constant is kept if more than this fraction of its elements would become 0.
MOST_LOST = 0.75


@dataclass
class Compression:
    """The number of compressed constants, the bytes saved, and the rounding error."""

    constants: int = 0
    bytes_saved: int = 0
    #: The largest rounding error, and the constant in which it occurred.
    largest_error: float = 0.0
    where: str = ""
    #: Constants that were not compressed, because f16 cannot represent some of their values.
    kept: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Describe on one line what was compressed, and what was not.

        The line contains the number of compressed constants, the bytes saved and the largest
        rounding error. It also names up to three constants that are not compressed, because f16
        cannot represent their values.
        """
        text = f"{self.constants} constants stored as f16, {self.bytes_saved} bytes less"
        if self.where:
            text += f"; largest rounding error {self.largest_error:.3g} (in {self.where!r})"
        if self.kept:
            shown = ", ".join(repr(name) for name in self.kept[:3])
            more = f" and {len(self.kept) - 3} more" if len(self.kept) > 3 else ""
            text += f"; {len(self.kept)} kept, with values out of the range of f16: {shown}{more}"
        return text


@dataclass(eq=False)
class CompressToFp16(ModelPass):
    """Stores f32 and f64 constants as f16 and converts them back where they are read.

    Given::

        y = MatMul(x, Const f32 [64, 64])

    Result::

        y = MatMul(x, Convert(Const f16 [64, 64], f32))

    The Convert has the runtime information `decompression`, by which OpenVINO recognises compressed
    weights; in ONNX it is a Cast. Small constants are not compressed, nor are constants with a
    value beyond 65504, or in which most values would become 0 in f16. `report` describes what was
    done.
    """

    name = "compress_to_fp16"

    least: int = option(32, "minimum number of elements of a constant that is compressed")

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
        convert = ov.Convert(wide) if model.dialect == "openvino" else onnx.Cast6(wide)
        back = rewriter.insert(convert, (stored,), before=node, name=node.name)
        if model.dialect == "openvino":
            back.info = dict(DECOMPRESSION)
        self.report.constants += 1
        self.report.bytes_saved += tensor.nbytes - half.nbytes
        if error > self.report.largest_error:
            self.report.largest_error, self.report.where = error, node.name
        rewriter.replace_node(node, back.outputs)
        if self._names[node.name] > 1:
            # ONNX Runtime allows two constants of one name, but not two conversions.
            rewriter.rename(back, rewriter.names.fresh(node.name))


def _largest_error(tensor: Tensor, half: Tensor) -> float | None:
    """The largest rounding error in `half`; None if `tensor` should not be stored as f16.

    The result is None if a finite number becomes infinite in f16, or if too many numbers become 0.
    """
    before, after = tensor.numpy(), half.numpy()
    if not np.array_equal(np.isfinite(before), np.isfinite(after)):
        return None
    lost = int(((after == 0) & (before != 0)).sum())
    if lost > MOST_LOST * tensor.count:
        return None
    with np.errstate(invalid="ignore"):
        difference = np.abs(after.astype(before.dtype) - before)
    return float(np.nanmax(np.where(np.isfinite(difference), difference, 0), initial=0.0))
