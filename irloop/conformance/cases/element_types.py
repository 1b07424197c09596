"""Cases with states and scan outputs of every common element type.

These are the types that both ONNX Runtime and OpenVINO support.
"""

from __future__ import annotations

from typing import Any

from irloop.conformance.cases.loop import CARRIED, SOURCE
from irloop.faults.case import Case, onnx_text, run

__all__ = ["CASES"]

FEATURE = "Element types"

#: Two elements of each type, for a state that is swapped with another one in every iteration.
PAIRS: dict[str, tuple[list[Any], list[Any]]] = {
    "float": ([0.5, -2], [3, 4]),
    "double": ([0.5, 1e300], [3, -4]),
    "float16": ([0.5, -2], [3, 1024]),
    "bfloat16": ([0.5, -2], [3, 256]),
    "int8": ([-128, 127], [3, 4]),
    "uint8": ([0, 255], [3, 4]),
    "int16": ([-32768, 32767], [3, 4]),
    "uint16": ([0, 65535], [3, 4]),
    "int32": ([-(2**31), 2**31 - 1], [3, 4]),
    "uint32": ([0, 2**32 - 1], [3, 4]),
    "int64": ([-(2**63), 2**63 - 1], [3, 4]),
    "uint64": ([0, 2**63], [3, 4]),
    "bool": ([True, False], [True, True]),
}


def _exchange(kind: str, one: list[Any], other: list[Any]) -> Case:
    return Case(
        f"loop_exchanges_states_of_{kind}",
        FEATURE,
        SOURCE,
        CARRIED,
        onnx_text(f"""
g (int64 n, {kind}[2] x, {kind}[2] y) => ({kind}[2] p, {kind}[2] q, {kind}[k, 2] z) {{
  p, q, z = Loop <body = b (int64 i, bool c, {kind}[2] a, {kind}[2] e)
      => (bool d, {kind}[2] r, {kind}[2] s, {kind}[2] t) {{
    d = Identity (c)  r = Identity (e)  s = Identity (a)  t = Identity (a)
  }}> (n, "", x, y)
}}"""),
        (
            run([3, one, other], [other, one, [one, other, one]]),
            run([2, one, other], [one, other, [one, other]]),
        ),
    )


CASES = tuple(_exchange(kind, *pair) for kind, pair in PAIRS.items())
