"""Lists all cases of the conformance suite, with the cases of one feature next to each other."""

from __future__ import annotations

from irloop.conformance.case import Case
from irloop.conformance.cases import (
    branch,
    element_types,
    loop,
    loop_values,
    nesting,
    onnxruntime_faults,
    openvino_faults,
    openvino_if,
    openvino_loop,
    openvino_loop_states,
    openvino_plugin_loops,
    openvino_plugin_operations,
    openvino_recurrent,
    outside,
    scan,
    scan8,
    sequences,
    tensor_iterator,
)

__all__ = ["CASES"]

#: Every case; names are unique, and the cases of one feature are adjacent.
CASES: tuple[Case, ...] = (
    *loop.CASES,
    *loop_values.CASES,
    *scan.CASES,
    *scan8.CASES,
    *branch.CASES,
    *nesting.CASES,
    *element_types.CASES,
    *sequences.CASES,
    *onnxruntime_faults.CASES,
    *tensor_iterator.CASES,
    *openvino_loop.CASES,
    *openvino_loop_states.CASES,
    *openvino_if.CASES,
    *openvino_faults.CASES,
    *openvino_plugin_operations.CASES,
    *openvino_plugin_loops.CASES,
    *openvino_recurrent.CASES,
    *outside.CASES,
)
