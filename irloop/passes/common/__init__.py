"""The pass library: one file per pass, with a drawing of a graph before and after the pass.

A pass is found by the name of its file, and imported when it is first looked up; the imports below
are for type checkers. The command line (`irloop passes`, `irloop transform`)
and the documentation read everything from the class:

`name`
    its name everywhere, in snake_case, and the name of its file. The class has the same name in
    CamelCase.
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
from typing import TYPE_CHECKING, Any

from irloop.errors import PassError
from irloop.graph.model import Model
from irloop.modules import Modules
from irloop.passes.base import Pass, PassConfig

if TYPE_CHECKING:
    from irloop.passes.common.body_barriers import BodyBarriers as BodyBarriers
    from irloop.passes.common.canonical_ports import CanonicalPorts as CanonicalPorts
    from irloop.passes.common.choose_initial_states import (
        ChooseInitialStates as ChooseInitialStates,
    )
    from irloop.passes.common.common_subexpressions import (
        CommonSubexpressions as CommonSubexpressions,
    )
    from irloop.passes.common.compress_to_fp16 import CompressToFp16 as CompressToFp16
    from irloop.passes.common.constant_folding import ConstantFolding as ConstantFolding
    from irloop.passes.common.convert_like_to_convert import (
        ConvertLikeToConvert as ConvertLikeToConvert,
    )
    from irloop.passes.common.dead_code import DeadCode as DeadCode
    from irloop.passes.common.decompose_cells import DecomposeCells as DecomposeCells
    from irloop.passes.common.decompress_fp16 import DecompressFp16 as DecompressFp16
    from irloop.passes.common.downgrade_opset import DowngradeOpset as DowngradeOpset
    from irloop.passes.common.fix_input import FixInput as FixInput
    from irloop.passes.common.fold_shapes import FoldShapes as FoldShapes
    from irloop.passes.common.fold_trips import FoldTrips as FoldTrips
    from irloop.passes.common.fuse_gates import FuseGates as FuseGates
    from irloop.passes.common.fuse_reverse_sequence import (
        FuseReverseSequence as FuseReverseSequence,
    )
    from irloop.passes.common.gather_to_slice import GatherToSlice as GatherToSlice
    from irloop.passes.common.hoist_invariants import HoistInvariants as HoistInvariants
    from irloop.passes.common.identity_elimination import IdentityElimination as IdentityElimination
    from irloop.passes.common.inline_constant_if import InlineConstantIf as InlineConstantIf
    from irloop.passes.common.keep_reduced_dims import KeepReducedDims as KeepReducedDims
    from irloop.passes.common.loop_to_scan import LoopToScan as LoopToScan
    from irloop.passes.common.loop_to_tensor_iterator import (
        LoopToTensorIterator as LoopToTensorIterator,
    )
    from irloop.passes.common.low_latency import LowLatency as LowLatency
    from irloop.passes.common.merge_directions import MergeDirections as MergeDirections
    from irloop.passes.common.plain_arithmetic import PlainArithmetic as PlainArithmetic
    from irloop.passes.common.scan8_to_scan9 import Scan8ToScan9 as Scan8ToScan9
    from irloop.passes.common.scan_to_loop import ScanToLoop as ScanToLoop
    from irloop.passes.common.select_branches import SelectBranches as SelectBranches
    from irloop.passes.common.separate_results import SeparateResults as SeparateResults
    from irloop.passes.common.sequence_to_tensor_iterator import (
        SequenceToTensorIterator as SequenceToTensorIterator,
    )
    from irloop.passes.common.set_shape import SetShape as SetShape
    from irloop.passes.common.simplify import Simplify as Simplify
    from irloop.passes.common.slice_to_gather import SliceToGather as SliceToGather
    from irloop.passes.common.standardize import Standardize as Standardize
    from irloop.passes.common.stateful_to_stateless import (
        StatefulToStateless as StatefulToStateless,
    )
    from irloop.passes.common.tensor_iterator_to_loop import (
        TensorIteratorToLoop as TensorIteratorToLoop,
    )
    from irloop.passes.common.tensor_iterator_to_sequence import (
        TensorIteratorToSequence as TensorIteratorToSequence,
    )
    from irloop.passes.common.unpack_constants import UnpackConstants as UnpackConstants
    from irloop.passes.common.unroll import Unroll as Unroll
    from irloop.passes.common.vectorize_map_loop import VectorizeMapLoop as VectorizeMapLoop
    from irloop.passes.common.widen_narrow_integers import (
        WidenNarrowIntegers as WidenNarrowIntegers,
    )

_FILES = Modules(__name__)


class _Library(Mapping[str, type[Pass]]):
    """The passes by name; looking one up imports its module."""

    def __getitem__(self, name: str) -> type[Pass]:
        if name not in _FILES.names:
            raise KeyError(name)
        module = _FILES.load(name)
        if module is None:
            return _stand_in(name, _FILES.broken[name])
        found: type[Pass] = getattr(module, _class_name(name))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_FILES.names)

    def __len__(self) -> int:
        return len(_FILES.names)


def _stand_in(file: str, reason: str) -> type[Pass]:
    """Make a pass in place of one whose module cannot be imported; it says so when it runs."""

    class StandIn(Pass):
        __doc__ = f"This pass {reason}"
        name = file

        def run(self, model: Model, config: PassConfig) -> bool:
            raise PassError(f"pass {file} {reason}", fix="install irloop again")

    return StandIn


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


#: Every pass, keyed by its name on the command line.
LIBRARY: Mapping[str, type[Pass]] = _Library()


def __dir__() -> list[str]:
    return ["LIBRARY", *map(_class_name, LIBRARY)]


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    file = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if file in LIBRARY and _class_name(file) == name:
        return LIBRARY[file]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
