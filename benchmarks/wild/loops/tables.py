"""Dynamic programming, integers, and other programs that fill tables step by step."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS = {
    "fib": """fib (int64 a0, int64 b0) => (int64 a, int64[$T] seen) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   m = Constant <value = int64 {1000003}> ()
   a, b, seen = Loop <body = step (int64 i, bool go, int64 x, int64 y)
    => (bool on, int64 y2, int64 z, int64 out) {
   s = Add (x, y)
   z = Mod (s, m)
   y2 = Identity (y)
   out = Identity (x)
   on = Identity (go)
   }> (n, yes, a0, b0)
}""",
    "gcd": """gcd (int64[$D] a0, int64[$D] b0) => (int64[$D] a) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   zero = Constant <value = int64 {0}> ()
   one = Constant <value = int64 {1}> ()
   a, b = Loop <body = step (int64 i, bool go, int64[$D] x, int64[$D] y)
    => (bool on, int64[$D] x2, int64[$D] y2) {
   done = Equal (y, zero)
   safe = Where (done, one, y)
   rest = Mod (x, safe)
   x2 = Where (done, x, y)
   y2 = Where (done, zero, rest)
   on = Identity (go)
   }> (n, yes, a0, b0)
}""",
    "collatz": """collatz (int64 start) => (int64 last, int64 count) {
   n = Constant <value = int64 {$L}> ()
   yes = Constant <value = bool {1}> ()
   zero = Constant <value = int64 {0}> ()
   one = Constant <value = int64 {1}> ()
   two = Constant <value = int64 {2}> ()
   three = Constant <value = int64 {3}> ()
   last, count = Loop <body = step (int64 i, bool go, int64 x, int64 k)
    => (bool on, int64 x2, int64 k2) {
   rest = Mod (x, two)
   even = Equal (rest, zero)
   half = Div (x, two)
   t = Mul (x, three)
   odd = Add (t, one)
   x2 = Where (even, half, odd)
   k2 = Add (k, one)
   done = Equal (x2, one)
   on = Not (done)
   }> (n, yes, start, zero)
}""",
    "power_modulo": """modpow (int64[$D] base, int64 e0) => (int64[$D] result) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   m = Constant <value = int64 {9973}> ()
   zero = Constant <value = int64 {0}> ()
   one = Constant <value = int64 {1}> ()
   two = Constant <value = int64 {2}> ()
   start = Sub (base, base)
   ones = Add (start, one)
   result, e, b = Loop <body = step (int64 i, bool go, int64[$D] r, int64 e, int64[$D] b)
    => (bool on, int64[$D] r2, int64 e2, int64[$D] b2) {
   bit = Mod (e, two)
   is_odd = Equal (bit, one)
   p = Mul (r, b)
   pm = Mod (p, m)
   r2 = Where (is_odd, pm, r)
   bb = Mul (b, b)
   b2 = Mod (bb, m)
   e2 = Div (e, two)
   on = Greater (e2, zero)
   }> (n, yes, ones, e0, base)
}""",
    "random_numbers": """lcg (int64[$D] seed) => (int64[$T,$D] numbers) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   a = Constant <value = int64 {75}> ()
   m = Constant <value = int64 {65537}> ()
   last, numbers = Loop <body = step (int64 i, bool go, int64[$D] s)
    => (bool on, int64[$D] s2, int64[$D] out) {
   p = Mul (s, a)
   s2 = Mod (p, m)
   out = Identity (s2)
   on = Identity (go)
   }> (n, yes, seed)
}""",
    "floyd": """floyd (float[$D,$D] graph) => (float[$D,$D] shortest) {
   n = Constant <value = int64 {$D}> ()
   yes = Constant <value = bool {1}> ()
   down = Constant <value = int64[1] {1}> ()
   along = Constant <value = int64[1] {0}> ()
   shortest = Loop <body = step (int64 k, bool go, float[$D,$D] d) => (bool on, float[$D,$D] d2) {
   column = Gather <axis = 1> (d, k)
   row = Gather <axis = 0> (d, k)
   c = Unsqueeze (column, down)
   r = Unsqueeze (row, along)
   through = Add (c, r)
   d2 = Min (d, through)
   on = Identity (go)
   }> (n, yes, graph)
}""",
    "dtw": """dtw (float[$T,$D] cost, float[$D] far) => (float[$D] last) {
   huge = Constant <value = float {1000000.0}> ()
   last, rows = Scan <num_scan_inputs = 1, body = rows (float[$D] above, float[$D] line)
    => (float[$D] row, float[$D] kept) {
   left, row = Scan <num_scan_inputs = 2, body = cells (float l, float c, float u)
    => (float best, float out) {
   m = Min (l, u)
   best = Add (m, c)
   out = Identity (best)
   }> (huge, line, above)
   kept = Identity (row)
   }> (far, cost)
}""",
    "edit_distance": """edit (int64[$T] a, int64[$D] b, float[$D] row0) => (float[$D] row) {
   one = Constant <value = float {1.0}> ()
   zero = Constant <value = float {0.0}> ()
   row, costs = Scan <num_scan_inputs = 1, body = rows (float[$D] above, int64 letter)
    => (float[$D] row2, float[$D] kept) {
   same = Equal (b, letter)
   change = Where (same, zero, one)
   left, diagonal, row2 = Scan <num_scan_inputs = 2, body = cells (float l, float d, float c,
    float u)
    => (float best, float d2, float out) {
   fewer = Min (l, u)
   more = Add (fewer, one)
   swapped = Add (d, c)
   best = Min (more, swapped)
   d2 = Identity (u)
   out = Identity (best)
   }> (zero, zero, change, above)
   kept = Identity (change)
   }> (row0, a)
}""",
    "viterbi": """viterbi (float[$T,$D] seen, float[$D,$D] moves, float[$D] start)
 => (float[$D] score, int64[$T,$D] back) {
   down = Constant <value = int64[1] {1}> ()
   score, back = Scan <num_scan_inputs = 1, body = step (float[$D] s, float[$D] e)
    => (float[$D] s2, int64[$D] from) {
   column = Unsqueeze (s, down)
   all = Add (column, moves)
   best = ReduceMax <axes = [0], keepdims = 0> (all)
   from = ArgMax <axis = 0, keepdims = 0> (all)
   s2 = Add (best, e)
   }> (start, seen)
}""",
    "forward_algorithm": """forward (float[$T,$D] seen, float[$D,$D] moves, float[$D] start)
 => (float[$D] score, float total) {
   down = Constant <value = int64[1] {1}> ()
   score, all = Scan <num_scan_inputs = 1, body = step (float[$D] s, float[$D] e)
    => (float[$D] s2, float[$D] out) {
   column = Unsqueeze (s, down)
   both = Add (column, moves)
   sum = ReduceLogSumExp <axes = [0], keepdims = 0> (both)
   s2 = Add (sum, e)
   out = Identity (s2)
   }> (start, seen)
   total = ReduceLogSumExp <keepdims = 0> (score)
}""",
    "knapsack": """knapsack (float[$T] values, float[$D] start) => (float[$D] best) {
   two = Constant <value = int64[1] {2}> ()
   zero = Constant <value = int64[1] {0}> ()
   end = Constant <value = int64[1] {-2}> ()
   pads = Constant <value = int64[2] {2, 0}> ()
   best, seen = Scan <num_scan_inputs = 1, body = step (float[$D] b, float v)
    => (float[$D] b2, float out) {
   kept = Slice (b, zero, end, zero)
   moved = Pad (kept, pads)
   taken = Add (moved, v)
   b2 = Max (b, taken)
   out = Identity (v)
   }> (start, values)
}""",
    "odd_even_sort": """sort (float[$E] x0) => (float[$E] x) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   pairs = Constant <value = int64[2] {-1, 2}> ()
   flat = Constant <value = int64[1] {-1}> ()
   axis = Constant <value = int64[1] {1}> ()
   zero = Constant <value = int64 {0}> ()
   one = Constant <value = int64[1] {1}> ()
   first = Constant <value = int64[1] {0}> ()
   far = Constant <value = int64[1] {1000000}> ()
   x = Loop <body = step (int64 i, bool go, float[$E] v) => (bool on, float[$E] v3) {
   p = Reshape (v, pairs)
   low = ReduceMin <axes = [1], keepdims = 1> (p)
   high = ReduceMax <axes = [1], keepdims = 1> (p)
   sorted = Concat <axis = 1> (low, high)
   v2 = Reshape (sorted, flat)
   head = Slice (v2, first, one)
   tail = Slice (v2, one, far)
   v3 = Concat <axis = 0> (tail, head)
   on = Identity (go)
   }> (n, yes, x0)
}""",
    "cellular_automaton": """automaton (float[$D] x0) => (float[$D] x, float[$T,$D] all) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   pads = Constant <value = int64[2] {1, 1}> ()
   zero = Constant <value = int64[1] {0}> ()
   two = Constant <value = int64[1] {2}> ()
   back = Constant <value = int64[1] {-2}> ()
   far = Constant <value = int64[1] {1000000}> ()
   modulus = Constant <value = float {2.0}> ()
   x, all = Loop <body = step (int64 i, bool go, float[$D] v)
    => (bool on, float[$D] v2, float[$D] out) {
   wide = Pad (v, pads)
   left = Slice (wide, zero, back, zero)
   right = Slice (wide, two, far, zero)
   s = Add (left, right)
   v2 = Mod <fmod = 1> (s, modulus)
   out = Identity (v2)
   on = Identity (go)
   }> (n, yes, x0)
}""",
}
