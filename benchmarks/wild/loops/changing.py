"""Loops over tensors whose sizes are known only at run time, as exporters with dynamic axes write.

The dimensions t, b and d are sizes that change from one inference to the next.
"""

from __future__ import annotations

from benchmarks.wild.loops import numeric, tables

__all__ = ["PROGRAMS"]

HEAD = """
   yes = Constant <value = bool {1}> ()
   zero = Constant <value = int64 {0}> ()
   sizes = Shape (x)
   n = Gather (sizes, zero)"""

CLOSE = """   on = Identity (go)
   }>"""

#: A loop over the first axis of x, whose states begin with zeros for each item of the batch.
STATES = (
    HEAD
    + """
   first = Constant <value = int64[1] {0}> ()
   second = Constant <value = int64[1] {1}> ()
   batch = Gather (sizes, second)
   width = Constant <value = int64[1] {$D}> ()
   shape = Concat <axis = 0> (batch, width)
   h0 = ConstantOfShape (shape)
   c0 = ConstantOfShape (shape)"""
)

PROGRAMS = {
    "average_of_a_stream": """ema (float[t,b,$D] x) => (float[b,$D] last, float[t,b,$D] all) {
   keep = Constant <value = float {0.9}> ()
   take = Constant <value = float {0.1}> ()"""
    + STATES
    + """
   last, all = Scan <num_scan_inputs = 1, body = step (float[b,$D] s, float[b,$D] v)
    => (float[b,$D] s2, float[b,$D] y) {
   old = Mul (s, keep)
   new = Mul (v, take)
   s2 = Add (old, new)
   y = Identity (s2)
   }> (h0, x)
}""",
    "running_maximum": """running (float[t,b,$D] x) => (float[t,b,$D] all) {"""
    + STATES
    + """
   last, all = Scan <num_scan_inputs = 1, body = step (float[b,$D] s, float[b,$D] v)
    => (float[b,$D] s2, float[b,$D] y) {
   s2 = Max (s, v)
   y = Identity (s2)
   }> (h0, x)
}""",
    "list_of_steps": """steps (float[t,b,$D] x, float[$D,$D] w) => (float[b,k,$D] all) {"""
    + STATES
    + """
   empty = SequenceEmpty <dtype = 1> ()
   hn, items = Loop <body = step (int64 i, bool go, float[b,$D] h, seq(float[b,$D]) s)
    => (bool on, float[b,$D] h2, seq(float[b,$D]) s2) {
   v = Gather (x, i)
   m = MatMul (h, w)
   sum = Add (m, v)
   h2 = Tanh (sum)
   s2 = SequenceInsert (s, h2)
"""
    + CLOSE
    + """ (n, yes, h0, empty)
   all = ConcatFromSequence <axis = 1, new_axis = 1> (items)
}""",
    "steps_of_lengths": """masked (float[t,b,$D] x, int64[b] lengths, float[$D,$D] w)
 => (float[b,$D] hn) {"""
    + STATES
    + """
   hn = Loop <body = step (int64 i, bool go, float[b,$D] h) => (bool on, float[b,$D] h2) {
   v = Gather (x, i)
   m = MatMul (h, w)
   sum = Add (m, v)
   next = Tanh (sum)
   runs = Less (i, lengths)
   runs1 = Unsqueeze (runs, second)
   h2 = Where (runs1, next, h)
"""
    + CLOSE
    + """ (n, yes, h0)
}""",
    "backward_steps": """backward (float[t,b,$D] x, float[$D,$D] w) => (float[t,b,$D] all) {"""
    + STATES
    + """
   hn, all = Scan <num_scan_inputs = 1, scan_input_directions = [1],
    scan_output_directions = [1], body = step (float[b,$D] h, float[b,$D] v)
    => (float[b,$D] h2, float[b,$D] y) {
   m = MatMul (h, w)
   sum = Add (m, v)
   h2 = Relu (sum)
   y = Identity (h2)
   }> (h0, x)
}""",
    "state_space_of_a_batch": """ssm (float[t,b,$D] x, float[$D] a, float[$D] c)
 => (float[t,b] all) {"""
    + STATES
    + """
   decay = Sigmoid (a)
   axis = Constant <value = int64[1] {-1}> ()
   hn, all = Scan <num_scan_inputs = 1, body = step (float[b,$D] h, float[b,$D] v)
    => (float[b,$D] h2, float[b] y) {
   old = Mul (h, decay)
   h2 = Add (old, v)
   weighted = Mul (h2, c)
   y = ReduceSum <keepdims = 0> (weighted, axis)
   }> (h0, x)
}""",
    "sinkhorn_of_any_size": numeric.PROGRAMS["sinkhorn"].replace("[$D,$D]", "[t,d]"),
    "smoothing": """smooth (float[t,$D] x) => (float[t,$D] y) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   half = Constant <value = float {0.5}> ()
   pads = Constant <value = int64[4] {1,0,0,0}> ()
   nothing = Constant <value = float {0.0}> ()
   first = Constant <value = int64[1] {0}> ()
   last = Constant <value = int64[1] {-1}> ()
   y = Loop <body = step (int64 i, bool go, float[t,$D] v) => (bool on, float[t,$D] v2) {
   wide = Pad (v, pads, nothing)
   left = Slice (wide, first, last, first)
   sum = Add (v, left)
   v2 = Mul (sum, half)
"""
    + CLOSE
    + """ (n, yes, x)
}""",
    "distances_by_row": """rows (float[t,$D] x, float[d,$D] y) => (float[t,d] all) {
   axis = Constant <value = int64[1] {1}> ()
   all = Scan <num_scan_inputs = 1, body = row (float[$D] v) => (float[d] far) {
   apart = Sub (y, v)
   square = Mul (apart, apart)
   far = ReduceSum <keepdims = 0> (square, axis)
   }> (x)
}""",
    "nearest_by_row": """nearest (float[t,$D] x, float[d,$D] y) => (int64[t] all) {
   axis = Constant <value = int64[1] {1}> ()
   all = Scan <num_scan_inputs = 1, body = row (float[$D] v) => (int64 place) {
   apart = Sub (y, v)
   square = Mul (apart, apart)
   far = ReduceSum <keepdims = 0> (square, axis)
   place = ArgMin <axis = 0, keepdims = 0> (far)
   }> (x)
}""",
    "newton_until_close": """newton (float[b] x) => (float[b] root, int64 count) {
   most = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   half = Constant <value = float {0.5}> ()
   near = Constant <value = float {0.0001}> ()
   one = Constant <value = float {1.0}> ()
   ones = Constant <value = int64 {1}> ()
   zero = Constant <value = int64 {0}> ()
   size = Abs (x)
   a = Add (size, one)
   root, count = Loop <body = step (int64 i, bool go, float[b] r, int64 k)
    => (bool on, float[b] r2, int64 k2) {
   other = Div (a, r)
   sum = Add (r, other)
   r2 = Mul (sum, half)
   apart = Sub (r2, r)
   far = Abs (apart)
   most_far = ReduceMax <keepdims = 0> (far)
   on = Greater (most_far, near)
   k2 = Add (k, ones)
   }> (most, yes, a, zero)
}""",
    "tokens_until_an_end": """decode (float[b,$D] x, float[$D,$D] w) => (int64[k,b] tokens) {
   most = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   end = Constant <value = int64 {0}> ()
   last, tokens = Loop <body = step (int64 i, bool go, float[b,$D] h)
    => (bool on, float[b,$D] h2, int64[b] token) {
   m = MatMul (h, w)
   h2 = Tanh (m)
   token = ArgMax <axis = 1, keepdims = 0> (h2)
   least = ReduceMax <keepdims = 0> (token)
   on = Greater (least, end)
   }> (most, yes, x)
}""",
    "cache_of_keys": """cache (float[b,1,$D] x, float[$D,$D] w) => (float[b,k,$D] keys) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   hn, keys = Loop <body = step (int64 i, bool go, float[b,1,$D] h, float[b,m,$D] k)
    => (bool on, float[b,1,$D] h2, float[b,l,$D] k2) {
   kt = Transpose <perm = [0, 2, 1]> (k)
   scores = MatMul (h, kt)
   weights = Softmax <axis = -1> (scores)
   read = MatMul (weights, k)
   more = MatMul (read, w)
   h2 = Tanh (more)
   k2 = Concat <axis = 1> (k, h2)
"""
    + CLOSE
    + """ (n, yes, x, x)
}""",
    "step_by_parity": """parity (float[t,$D] x) => (float[t,$D] all) {"""
    + HEAD
    + """
   two = Constant <value = int64 {2}> ()
   width = Constant <value = int64[1] {$D}> ()
   s0 = ConstantOfShape (width)
   last, all = Loop <body = step (int64 i, bool go, float[$D] s)
    => (bool on, float[$D] s2, float[$D] y) {
   v = Gather (x, i)
   rest = Mod (i, two)
   odd = Cast <to = 9> (rest)
   s2 = If (odd) <then_branch = minus () => (float[$D] less) { less = Sub (s, v) },
    else_branch = plus () => (float[$D] more) { more = Add (s, v) }>
   y = Identity (s2)
"""
    + CLOSE
    + """ (n, yes, s0)
}""",
    "sums_of_prefixes": """prefixes (float[t,$D] x) => (float[t] all) {"""
    + HEAD
    + """
   first = Constant <value = int64[1] {0}> ()
   one = Constant <value = int64[1] {1}> ()
   all = Loop <body = step (int64 i, bool go) => (bool on, float sum) {
   place = Unsqueeze (i, first)
   end = Add (place, one)
   part = Slice (x, first, end, first)
   sum = ReduceSum <keepdims = 0> (part)
"""
    + CLOSE
    + """ (n, yes)
}""",
    "product_by_rows": """product (float[t,$D] x, float[$D,d] y) => (float[t,d] all) {
   all = Scan <num_scan_inputs = 1, body = row (float[$D] v) => (float[d] r) {
   r = MatMul (v, y)
   }> (x)
}""",
    "selection_of_largest": """peel (float[b,$D] x) => (float[k,b] all) {
   n = Constant <value = int64 {$D}> ()
   yes = Constant <value = bool {1}> ()
   low = Constant <value = float {-1e6}> ()
   axis = Constant <value = int64[1] {1}> ()
   depth = Constant <value = int64[1] {$D}> ()
   off = Constant <value = float[2] {0.0, 1.0}> ()
   last, all = Loop <body = step (int64 i, bool go, float[b,$D] v)
    => (bool on, float[b,$D] v2, float[b] best) {
   best = ReduceMax <axes = [1], keepdims = 0> (v)
   place = ArgMax <axis = 1, keepdims = 0> (v)
   hot = OneHot <axis = 1> (place, depth, off)
   gone = Cast <to = 9> (hot)
   v2 = Where (gone, low, v)
"""
    + CLOSE
    + """ (n, yes, x)
}""",
    "warping_of_any_length": tables.PROGRAMS["dtw"].replace("[$T,$D]", "[t,$D]"),
    "counts_of_labels": """counts (int64[t] labels) => (int64[$D] total) {
   width = Constant <value = int64[1] {$D}> ()
   none = ConstantOfShape <value = int64[1] {0}> (width)
   most = Constant <value = int64 {$D}> ()
   zero = Constant <value = int64 {0}> ()
   one = Constant <value = int64 {1}> ()
   names = Range (zero, most, one)
   total = Scan <num_scan_inputs = 1, body = step (int64[$D] c, int64 label) => (int64[$D] c2) {
   same = Equal (names, label)
   more = Cast <to = 7> (same)
   c2 = Add (c, more)
   }> (none, labels)
}""",
}
