"""Repairs are left out where the bounds of numbers exclude the fault, and only there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from string import Template

import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.formats.onnx.reader import from_proto
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import HEADER, agree, i64, needs_engines

pytestmark = needs_engines

#: f32 holds all integers below this number.
EXACT = 2**24
WIDE = [2**31 - 1, EXACT - 1, EXACT, EXACT + 1, 1 - EXACT, -EXACT, -1 - EXACT, 0, 7, -7, 87536201]

#: What limits a dividend, and the largest limit that f32 holds exactly.
LIMITED = {
    "limits": (
        """g (int64[n] x) => (int64[n] y) {
   low = Constant <value = int64 {-5}> ()  high = Constant <value = int64 {$limit}> ()
   seven = Constant <value = int64 {7}> ()
   c = Clip (x, low, high)  y = Mod (c, seven) }""",
        EXACT - 1,
    ),
    "extremes": (
        """g (int64[n] x) => (int64[n] y) {
   low = Constant <value = int64 {-$limit}> ()  high = Constant <value = int64 {9}> ()
   seven = Constant <value = int64 {7}> ()
   m = Min (x, high)  c = Max (m, low)  y = Mod (c, seven) }""",
        EXACT - 1,
    ),
    "a type": (
        # 128 * 131071 = 2^24 - 128
        """g (int64[n] x) => (int64[n] y) {
   many = Constant <value = int64 {$limit}> ()  seven = Constant <value = int64 {7}> ()
   narrow = Cast <to = 3> (x)  wide = Cast <to = 7> (narrow)
   m = Mul (wide, many)  y = Mod (m, seven) }""",
        131071,
    ),
    "a guard": (
        """g (int64[n] x) => (int64 y) {
   zero = Constant <value = int64 {0}> ()  seven = Constant <value = int64 {7}> ()
   low = Constant <value = int64 {-$limit}> ()  high = Constant <value = int64 {$limit}> ()
   last = Constant <value = int64 {-1}> ()  one = Gather (x, last)
   below = LessOrEqual (one, high)  above = LessOrEqual (low, one)  both = And (below, above)
   y = If (both) <then_branch = a () => (int64 r) { r = Mod (one, seven) },
                  else_branch = b () => (int64 q) { q = Identity (zero) }> }""",
        EXACT - 1,
    ),
    "iteration numbers": (
        # 9 * 1864135 = 2^24 - 1
        """g (int64[n] x) => (int64 last, int64[10] y) {
   size = Shape (x)  first = Squeeze (size)
   ten = Constant <value = int64 {10}> ()  yes = Constant <value = bool {1}> ()
   many = Constant <value = int64 {$limit}> ()  seven = Constant <value = int64 {7}> ()
   last, y = Loop <body = step (int64 i, bool go, int64 s) => (bool on, int64 t, int64 r) {
     m = Mul (i, many)  r = Mod (m, seven)  t = Add (s, r)  on = Identity (go) }>
     (ten, yes, first) }""",
        1864135,
    ),
    "states": (
        # Two remainders are at most 2 * 8388607 = 2^24 - 2.
        """g (int64[n] x) => (int64 y, int64 z) {
   size = Shape (x)  count = Squeeze (size)  yes = Constant <value = bool {1}> ()
   many = Constant <value = int64 {$limit}> ()  zero = Constant <value = int64 {0}> ()
   start = Constant <value = int64 {8388000}> ()
   y, z = Loop <body = step (int64 i, bool go, int64 a, int64 b) => (bool on, int64 c, int64 r) {
     s = Add (a, b)  r = Mod (s, many)  c = Identity (b)  on = Identity (go) }>
     (count, yes, zero, start) }""",
        8388608,
    ),
    "kept states": (
        """g (int64[n] x) => (int64 last, int64[m] y) {
   size = Shape (x)  count = Squeeze (size)  yes = Constant <value = bool {1}> ()
   zero = Constant <value = int64 {0}> ()  high = Constant <value = int64 {$limit}> ()
   seven = Constant <value = int64 {7}> ()
   last, y = Loop <body = step (int64 i, bool go, int64 k) => (bool on, int64 l, int64 r) {
     one = Gather (x, i)  low = Max (one, zero)  c = Min (low, high)
     odd = Cast <to = 9> (one)  l = Where (odd, c, k)  r = Mod (k, seven)
     on = Identity (go) }> (count, yes, zero) }""",
        EXACT - 1,
    ),
}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.parametrize("above", [0, 1])
def test_remainders_of_limited_numbers(
    name: str, above: int, engines: Engines, tmp_path: Path
) -> None:
    text, largest = LIMITED[name]
    full = Template(text).substitute(limit=largest + above)
    model, _ = irloop.convert(from_proto(onnx.parser.parse_model(HEADER + full)))
    is_corrected = any(node.op.type == "Subtract" for node in all_nodes(model.graph))
    assert is_corrected == bool(above)
    sets = [[i64(WIDE)], [i64(WIDE[:1])], [i64(WIDE[:4])], [i64([])], [i64(WIDE)]]
    agree(full, sets[:3] + sets[4:] if name == "a guard" else sets, engines, tmp_path)


#: What limits a number, the limit for which OpenVINO is right, the next one, and what repairs it.
REPAIRED = {
    "compared numbers": (
        """g (int64[n] x) => (bool[n] y) {
   low = Constant <value = int64 {-5}> ()  high = Constant <value = int64 {$limit}> ()
   c = Clip (x, low, high)  y = Less (c, x) }""",
        (EXACT - 1, EXACT),
        "Subtract",
    ),
    "chosen numbers": (
        """g (int64[n] x) => (int64[n] y) {
   low = Constant <value = int64 {-5}> ()  high = Constant <value = int64 {$limit}> ()
   zero = Constant <value = int64 {0}> ()
   m = Min (x, high)  c = Max (m, low)  d = Less (x, zero)  y = Where (d, zero, c) }""",
        (EXACT - 1, EXACT),
        "Convert",
    ),
    "ends of ranges": (
        """g (int64[n] x) => (int64[m] y) {
   last = Constant <value = int64 {-1}> ()  zero = Constant <value = int64 {0}> ()
   one = Constant <value = int64 {1}> ()  low = Constant <value = int64 {$limit}> ()
   high = Constant <value = int64 {9}> ()
   number = Gather (x, last)  end = Clip (number, low, high)  y = Range (zero, end, one) }""",
        (0, -1),
        "Maximum",
    ),
    "trip counts": (
        """g (int64[n] x) => (int64 last, int64[m] y) {
   place = Constant <value = int64 {-1}> ()  zero = Constant <value = int64 {0}> ()
   low = Constant <value = int64 {$limit}> ()  high = Constant <value = int64 {9}> ()
   yes = Constant <value = bool {1}> ()
   number = Gather (x, place)  least = Max (number, low)  count = Min (least, high)
   last, y = Loop <body = step (int64 i, bool go, int64 s) => (bool on, int64 t, int64 r) {
     t = Add (s, i)  r = Identity (t)  on = Identity (go) }> (count, yes, zero) }""",
        (1, 0),
        "Slice",
    ),
}


@pytest.mark.parametrize("name", REPAIRED)
@pytest.mark.parametrize("side", [0, 1])
def test_repairs_stand_where_bounds_do_not_exclude_the_fault(
    name: str, side: int, engines: Engines, tmp_path: Path
) -> None:
    text, limits, repair = REPAIRED[name]
    counts = []
    for limit in limits:
        full = Template(text).substitute(limit=limit)
        model, _ = irloop.convert(from_proto(onnx.parser.parse_model(HEADER + full)))
        counts.append(sum(node.op.type == repair for node in all_nodes(model.graph)))
    assert counts[0] < counts[1]
    full = Template(text).substitute(limit=limits[side])
    sets = [[i64([*WIDE, last])] for last in (5, -1, 9, 0, -3, 2**31 - 1, 1, 0)]
    agree(full, sets, engines, tmp_path)


@pytest.mark.parametrize("operation", ["Mod", "Div", "Mod <fmod = 1>"])
@pytest.mark.parametrize("limit", [1000, 2**22, 2**22 + 1])
def test_divisors_that_are_limited(
    operation: str, limit: int, engines: Engines, tmp_path: Path
) -> None:
    x = i64([*WIDE, 875362016, -875362016, 2**31 - 2, 1 - 2**31])
    y = i64([limit, 7, 1, limit - 1, 6968, limit, 3, 5, 2, limit, 9973, 6968, 6968, 3, limit])
    sets = [[x, y], [x[::-1].copy(), y], [x[:3], y[:3]], [x[:0], y[:0]]]
    for sign in ("Identity", "Neg"):
        text = f"""g (int64[n] x, int64[n] y) => (int64[n] z) {{
   one = Constant <value = int64 {{1}}> ()  high = Constant <value = int64 {{{limit}}}> ()
   limited = Clip (y, one, high)  divisor = {sign} (limited)
   z = {operation} (x, divisor) }}"""
        agree(text, sets, engines, tmp_path)
