"""The pass library: one file per pass, with a drawing of a graph before and after the pass.

A pass is registered by adding its class to the imports and to `__all__` below. Its module is
imported when the pass is first looked up. The command line (`irloop passes`, `irloop transform`)
and the documentation read everything from the class:

`name`
    its name everywhere, in snake_case. The file has the same name, unless it contains a pass and a
    variant of it.
docstring
    first line: what it does, one sentence; then ``Given::`` and ``Result::`` with a drawing each;
    then what it does not change, and why.
`dialects`
    where it applies. For a model of another dialect the pass raises an error that names the pass
    and the dialect. Default: both.
`enabled_by_default`
    False: runs only when it is requested by name. Default: True.
options
    fields of the class, which then is a dataclass without equality::

        @dataclass(eq=False)
        class Unroll(ModelPass):
            name = "unroll"
            trips: int = option(64, "maximum number of iterations")

    Types: int, float, bool, str, one of these or None, Literal of texts, and tuple[T, ...] for an
    option that may be given several times. The first option is the pass's main option: users write
    ``unroll=8``, or ``unroll:trips=8:nodes=1000``. Every option has a default: if users write only
    ``unroll``, the class is called without arguments. An invalid value raises UsageError in
    `__post_init__`.

Passes of other projects have the same form; the entry point group ``irloop.passes`` names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from irloop.passes.base import Pass

if TYPE_CHECKING:
    from irloop.passes.common.body_barriers import BodyBarriers
    from irloop.passes.common.canonical_ports import CanonicalPorts
    from irloop.passes.common.choose_initial_states import ChooseInitialStates
    from irloop.passes.common.common_subexpressions import CommonSubexpressions
    from irloop.passes.common.compress_to_fp16 import CompressToFp16
    from irloop.passes.common.constant_folding import ConstantFolding
    from irloop.passes.common.convert_like_to_convert import ConvertLikeToConvert
    from irloop.passes.common.dead_code import DeadCode
    from irloop.passes.common.decompose_cells import DecomposeCells
    from irloop.passes.common.decompress_fp16 import DecompressFp16
    from irloop.passes.common.downgrade_opset import DowngradeOpset
    from irloop.passes.common.fix_input import FixInput
    from irloop.passes.common.fold_shapes import FoldShapes
    from irloop.passes.common.fuse_gates import FuseGates
    from irloop.passes.common.fuse_reverse_sequence import FuseReverseSequence
    from irloop.passes.common.gather_to_slice import GatherToSlice
    from irloop.passes.common.hoist_invariants import HoistInvariants
    from irloop.passes.common.identity_elimination import IdentityElimination
    from irloop.passes.common.inline_constant_if import InlineConstantIf
    from irloop.passes.common.keep_reduced_dims import KeepReducedDims
    from irloop.passes.common.loop_to_scan import LoopToScan
    from irloop.passes.common.loop_to_tensor_iterator import LoopToTensorIterator
    from irloop.passes.common.low_latency import LowLatency
    from irloop.passes.common.merge_directions import MergeDirections
    from irloop.passes.common.plain_arithmetic import PlainArithmetic
    from irloop.passes.common.scan8_to_scan9 import Scan8ToScan9
    from irloop.passes.common.scan_to_loop import ScanToLoop
    from irloop.passes.common.select_branches import SelectBranches
    from irloop.passes.common.separate_results import SeparateResults
    from irloop.passes.common.sequence_to_tensor_iterator import SequenceToTensorIterator
    from irloop.passes.common.set_shape import SetShape
    from irloop.passes.common.simplify import Simplify
    from irloop.passes.common.slice_to_gather import SliceToGather
    from irloop.passes.common.standardize import Standardize
    from irloop.passes.common.stateful_to_stateless import StatefulToStateless
    from irloop.passes.common.tensor_iterator_to_loop import TensorIteratorToLoop
    from irloop.passes.common.tensor_iterator_to_sequence import TensorIteratorToSequence
    from irloop.passes.common.unpack_constants import UnpackConstants
    from irloop.passes.common.unroll import FoldTrips, Unroll
    from irloop.passes.common.vectorize_map_loop import VectorizeMapLoop
    from irloop.passes.common.widen_narrow_integers import WidenNarrowIntegers

__all__ = [
    "LIBRARY",
    "BodyBarriers",
    "CanonicalPorts",
    "ChooseInitialStates",
    "CommonSubexpressions",
    "CompressToFp16",
    "ConstantFolding",
    "ConvertLikeToConvert",
    "DeadCode",
    "DecomposeCells",
    "DecompressFp16",
    "DowngradeOpset",
    "FixInput",
    "FoldShapes",
    "FoldTrips",
    "FuseGates",
    "FuseReverseSequence",
    "GatherToSlice",
    "HoistInvariants",
    "IdentityElimination",
    "InlineConstantIf",
    "KeepReducedDims",
    "LoopToScan",
    "LoopToTensorIterator",
    "LowLatency",
    "MergeDirections",
    "PlainArithmetic",
    "Scan8ToScan9",
    "ScanToLoop",
    "SelectBranches",
    "SeparateResults",
    "SequenceToTensorIterator",
    "SetShape",
    "Simplify",
    "SliceToGather",
    "Standardize",
    "StatefulToStateless",
    "TensorIteratorToLoop",
    "TensorIteratorToSequence",
    "UnpackConstants",
    "Unroll",
    "VectorizeMapLoop",
    "WidenNarrowIntegers",
]

#: Passes that are defined in the file of the pass of which they are a variant.
_VARIANTS = {"fold_trips": "unroll"}


class _Library(Mapping[str, type[Pass]]):
    """The passes by name; looking one up imports its module."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = classes

    def __getitem__(self, name: str) -> type[Pass]:
        cls = self._classes[name]
        found: type[Pass] = getattr(import_module(f"{__name__}.{_VARIANTS.get(name, name)}"), cls)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


def _pass_name(cls: str) -> str:
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", cls).lower()


#: Every pass, keyed by its name on the command line.
LIBRARY: Mapping[str, type[Pass]] = _Library(
    {_pass_name(cls): cls for cls in __all__ if cls != "LIBRARY"}
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        return LIBRARY[_pass_name(name)]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
