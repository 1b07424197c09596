"""Loops over sequences as ONNX text, and the inputs for testing them.

Every model has a trip count M, a second number N and a tensor x of shape [2] as inputs, and
computes a sequence `seq`. It returns the items of `seq` followed by x, and the number of items.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["MODELS", "REFUSED", "SETS"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The inferences of one session, in this order: many iterations, none, one, many more, none, two.
SETS: list[list[Array]] = [
    [np.array(trips), np.array(other), np.array([1 + other, 2], np.float32)]
    for trips, other in ((3, 2), (0, 1), (1, 0), (6, 3), (0, 0), (2, 1))
]

HEAD = """<ir_version: 8, opset_import: ["" : 17]>
g (int64 M, int64 N, float[2] x) => (float[n, 2] all, int64 count) {
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  two = Constant <value_int = 2> ()
  last = Constant <value_int = -1> ()
  y = Neg (x)
  z = Add (x, x)
"""

TAIL = """
  closed = SequenceInsert (seq, x)
  all = ConcatFromSequence <axis = 0, new_axis = 1> (closed)
  count = SequenceLength (seq)
}
"""

EMPTY = "SequenceEmpty ()"
THREE = "SequenceConstruct (x, y, z)"
EIGHT = "SequenceConstruct (x, y, z, x, y, z, x, y)"

#: i and x, and numbers computed from i.
IN_BODY = "number = Cast <to = 1> (i)  item = Add (x, number)  odd = Mod (i, two)"


def loop(body: str, start: str = EMPTY, goes_on: str = "Identity (ci)") -> str:
    """A Loop that computes `seq` from `start`; its body computes t from s in iteration i, and
    continues while `goes_on`.
    """
    begin = "" if start == "start" else f"start = {start}"
    return f"""
    {begin}
    seq = Loop (M, "", start) <body = b (int64 i, bool ci, seq(float[2]) s)
        => (bool co, seq(float[2]) t) {{ {IN_BODY}  {body}  co = {goes_on} }}>
    """


def either(condition: str, then: str, otherwise: str, *, gives: str = "t") -> str:
    """An If whose branches return one sequence each."""
    return f"""
    c = {condition}
    {gives} = If (c) <then_branch = tb () => (seq(float[2]) p) {{ p = {then} }},
                      else_branch = eb () => (seq(float[2]) q) {{ q = {otherwise} }}>
    """


def nested(body: str) -> str:
    """A Loop over s that computes t; its body computes v from u in iteration j."""
    return f"""
    t = Loop (N, "", s) <body = inner (int64 j, bool cj, seq(float[2]) u)
        => (bool cjo, seq(float[2]) v) {{
      digit = Cast <to = 1> (j)  each = Add (item, digit)  {body}  cjo = Identity (cj) }}>
    """


BODIES = {
    "appended": loop("t = SequenceInsert (s, item)"),
    "appended to three": loop("t = SequenceInsert (s, item)", THREE),
    "at the front": loop("t = SequenceInsert (s, item, zero)"),
    "before the last": loop("t = SequenceInsert (s, item, last)", THREE),
    "at a computed position": loop("at = Sub (odd, two)  t = SequenceInsert (s, item, at)", THREE),
    "in some iterations": loop(
        either("Equal (odd, zero)", "SequenceInsert (s, item)", "Identity (s)")
    ),
    "in both branches": loop(
        either("Equal (odd, zero)", "SequenceInsert (s, item)", "SequenceInsert (s, x, zero)")
    ),
    "emptied": loop(either("Equal (i, two)", EMPTY, "SequenceInsert (s, item)")),
    "shrinks": loop("t = SequenceErase (s)", EIGHT),
    "shrinks from the front": loop("t = SequenceErase (s, zero)", EIGHT),
    "shrinks at a computed position": loop(
        "at = Sub (zero, odd)  t = SequenceErase (s, at)", EIGHT
    ),
    "reads what it wrote": loop(
        "a = SequenceAt (s, last)  d = SequenceAt (s, zero)  e = Add (a, d)"
        "  t = SequenceInsert (s, e)",
        THREE,
    ),
    "reads at a computed position": loop(
        "n = SequenceLength (s)  at = Mod (i, n)  a = SequenceAt (s, at)"
        "  e = Add (a, item)  t = SequenceInsert (s, e, at)",
        THREE,
    ),
    # The first item determines the shape, but the branch that reads an item does not run before
    # there is one.
    "reads where there is something": loop(
        """
        n = SequenceLength (s)  some = Greater (n, zero)
        before = If (some) <then_branch = tb () => (float[] p) { p = SequenceAt (s, last) },
                            else_branch = eb () => (float[] q) { q = Identity (x) }>
        sum = Add (before, item)  t = SequenceInsert (s, sum)
        """
    ).replace("seq(float[2])", "seq(float[])"),
    "joined in the body": loop(
        """
        more = SequenceInsert (s, item, zero)
        side = ConcatFromSequence <axis = -1, new_axis = 1> (more)
        flat = ConcatFromSequence <axis = 0> (more)
        most = ReduceMax <axes = [-1], keepdims = 0> (side)
        sum = ReduceSum <keepdims = 0> (flat)
        e = Add (most, sum)
        t = SequenceInsert (s, e, zero)
        """
    ),
    "a queue": loop(
        "head = SequenceAt (s, zero)  rest = SequenceErase (s, zero)  more = Add (head, item)"
        "  t = SequenceInsert (rest, more)",
        THREE,
    ),
    "a queue at a computed position": loop(
        "rest = SequenceErase (s, odd)  t = SequenceInsert (rest, item, odd)", THREE
    ),
    "until it is long": loop(
        "t = SequenceInsert (s, item)  n = SequenceLength (t)", goes_on="Less (n, N)"
    ),
    "nested, at the front": loop(nested("v = SequenceInsert (u, each, zero)")),
    "nested, in some iterations": loop(
        nested(
            "pair = Add (i, j)  bit = Mod (pair, two)"
            + either("Equal (bit, zero)", "SequenceInsert (u, each)", "Identity (u)", gives="v")
        )
    ),
    "as many as there are": loop("t = SequenceInsert (s, item)", THREE).replace("seq =", "made =")
    + """
    n = SequenceLength (made)
    none = SequenceEmpty ()
    seq = Loop (n, "", none) <body = again (int64 k, bool ck, seq(float[2]) u)
        => (bool cko, seq(float[2]) v) {
      each = SequenceAt (made, k)  more = Add (each, each)  v = SequenceInsert (u, more)
      cko = Identity (ck) }>
    """,
    "split in the body": loop(
        """
        both = SequenceConstruct (y, z)
        table = ConcatFromSequence <axis = 0, new_axis = 1> (both)
        parts = SplitToSequence <axis = 0, keepdims = 0> (table)
        a = SequenceAt (parts, odd)
        sum = Add (a, item)
        t = SequenceInsert (s, sum, zero)
        """
    ),
    "from branches of different lengths": either(
        "Greater (N, one)", "SequenceConstruct (x, x)", EMPTY, gives="start"
    )
    + loop("t = SequenceInsert (s, item)", "start"),
    "read by a Scan": loop("t = SequenceInsert (s, item)", THREE).replace("seq =", "made =")
    + """
    table = ConcatFromSequence <axis = 0, new_axis = 1> (made)
    rows = Scan <num_scan_inputs = 1, body = sb (float[2] e) => (float[2] f) {
      head = SequenceAt (made, last)  f = Add (e, head) }> (table)
    seq = SplitToSequence <axis = 0, keepdims = 0> (rows)
    """,
    "an optional": """
    some = Optional (x)
    made = Loop (M, "", some) <body = b (int64 i, bool ci, optional(float[2]) s)
        => (bool co, optional(float[2]) t) {
      held = OptionalGetElement (s)  more = Add (held, x)  t = Optional (more)
      co = Identity (ci) }>
    result = OptionalGetElement (made)
    seq = SequenceConstruct (result)
    """,
}

MODELS = {name: HEAD + body + TAIL for name, body in BODIES.items()}

#: Loops over sequences that no tensor can hold, and the text of the refusal.
REFUSED = {
    "items of any rank": (
        HEAD.replace("float[2] x", "float[] x").replace("float[n, 2] all", "float[] all")
        + loop("t = SequenceInsert (s, item, zero)").replace("seq(float[2])", "seq(float[])")
        + TAIL,
        "rank of the items is not known",
    ),
}
