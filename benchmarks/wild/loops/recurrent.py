"""Recurrent cells, state spaces, attention with a state, and decoders."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

CELL = """
   g = MatMul (z, w)
   p, q, r, u = Split <axis = -1> (g)
   ip = Sigmoid (p)
   iq = Sigmoid (q)
   ir = Tanh (r)
   iu = Sigmoid (u)
   kept = Mul (iq, c)
   added = Mul (ip, ir)
   c2 = Add (kept, added)
   t = Tanh (c2)
   h2 = Mul (iu, t)
"""

PROGRAMS = {
    "lstm_scan": """lstm (float[$T,2,$D] x, float[2,$D] h0, float[2,$D] c0, float[$E,$F] w)
 => (float[2,$D] hn, float[2,$D] cn, float[$T,2,$D] ys) {
   hn, cn, ys = Scan <num_scan_inputs = 1, body = step (float[2,$D] h, float[2,$D] c, float[2,$D] v)
    => (float[2,$D] h2, float[2,$D] c2, float[2,$D] y) {
   z = Concat <axis = 1> (v, h)"""
    + CELL
    + """   y = Identity (h2)
   }> (h0, c0, x)
}""",
    "reverse_masked_lstm": """lstm (float[$T,2,$D] x, int64[2] lengths, float[2,$D] h0,
    float[2,$D] c0,
 float[$E,$F] w) => (float[2,$D] hn, float[2,$D] cn, float[$T,2,$D] ys) {
   n = Constant <value = int64 {$T}> ()
   one = Constant <value = int64 {1}> ()
   last = Sub (n, one)
   axis = Constant <value = int64[1] {1}> ()
   yes = Constant <value = bool {1}> ()
   hn, cn, ys = Loop <body = step (int64 i, bool go, float[2,$D] h, float[2,$D] c)
    => (bool on, float[2,$D] h3, float[2,$D] c3, float[2,$D] y) {
   at = Sub (last, i)
   v = Gather <axis = 0> (x, at)
   z = Concat <axis = 1> (v, h)"""
    + CELL
    + """   inside = Less (at, lengths)
   mask = Unsqueeze (inside, axis)
   h3 = Where (mask, h2, h)
   c3 = Where (mask, c2, c)
   y = Identity (h3)
   on = Identity (go)
   }> (n, yes, h0, c0)
}""",
    "gru_scan": """gru (float[$T,2,$D] x, float[2,$D] h0, float[$D,$D] w, float[$D,$D] r)
 => (float[2,$D] hn, float[$T,2,$D] ys) {
   hn, ys = Scan <num_scan_inputs = 1, body = step (float[2,$D] h, float[2,$D] v)
    => (float[2,$D] h2, float[2,$D] y) {
   a = MatMul (v, w)
   b = MatMul (h, r)
   s = Add (a, b)
   gate = Sigmoid (s)
   gated = Mul (gate, h)
   m = MatMul (gated, r)
   n = Add (a, m)
   new = Tanh (n)
   difference = Sub (h, new)
   part = Mul (gate, difference)
   h2 = Add (new, part)
   y = Identity (h2)
   }> (h0, x)
}""",
    "rnn_backward": """rnn (float[$T,2,$D] x, float[2,$D] h0, float[$D,$D] w)
 => (float[2,$D] hn, float[$T,2,$D] ys) {
   hn, ys = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
    body = step (float[2,$D] h, float[2,$D] v) => (float[2,$D] h2, float[2,$D] y) {
   a = MatMul (h, w)
   s = Add (a, v)
   h2 = Tanh (s)
   y = Identity (h2)
   }> (h0, x)
}""",
    "state_space": """ssm (float[$T,$D] x, float[$D,8] a, float[$D,8] b, float[$D,8] h0)
 => (float[$D,8] hn, float[$T,$D] ys) {
   axes = Constant <value = int64[1] {1}> ()
   decay = Sigmoid (a)
   hn, ys = Scan <num_scan_inputs = 1, body = step (float[$D,8] h, float[$D] v)
    => (float[$D,8] h2, float[$D] y) {
   column = Unsqueeze (v, axes)
   kept = Mul (h, decay)
   added = Mul (column, b)
   h2 = Add (kept, added)
   product = Mul (h2, b)
   y = ReduceSum <keepdims = 0> (product, axes)
   }> (h0, x)
}""",
    "selective_scan": """mamba (float[1,$T,$D] x, float[1,$T,$D] d, float[1,$T,8] b, float[$D,8] a,
 float[1,$D,8] h0) => (float[1,$D,8] hn, float[$T,1,$D] ys) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   last = Constant <value = int64[1] {-1}> ()
   middle = Constant <value = int64[1] {1}> ()
   hn, ys = Loop <body = step (int64 i, bool go, float[1,$D,8] h)
    => (bool on, float[1,$D,8] h2, float[1,$D] y) {
   xi = Gather <axis = 1> (x, i)
   di = Gather <axis = 1> (d, i)
   bi = Gather <axis = 1> (b, i)
   steps = Softplus (di)
   column = Unsqueeze (steps, last)
   rates = Mul (column, a)
   shrunk = Sigmoid (rates)
   row = Unsqueeze (bi, middle)
   given = Unsqueeze (xi, last)
   kept = Mul (shrunk, h)
   added = Mul (given, row)
   h2 = Add (kept, added)
   product = Mul (h2, row)
   y = ReduceSum <keepdims = 0> (product, last)
   on = Identity (go)
   }> (n, yes, h0)
}""",
    "linear_attention": """attention (float[$T,$D] k, float[$T,$D] v, float[$T,$D] q,
    float[$D,$D] s0)
 => (float[$D,$D] sn, float[$T,$D] ys) {
   down = Constant <value = int64[1] {1}> ()
   along = Constant <value = int64[1] {0}> ()
   sn, ys = Scan <num_scan_inputs = 3, body = step (float[$D,$D] s, float[$D] ki, float[$D] vi,
    float[$D] qi) => (float[$D,$D] s2, float[$D] y) {
   column = Unsqueeze (ki, down)
   row = Unsqueeze (vi, along)
   outer = Mul (column, row)
   s2 = Add (s, outer)
   y = MatMul (qi, s2)
   }> (s0, k, v, q)
}""",
    "delta_rule": """delta (float[$T,$D] k, float[$T,$D] v, float[$D,$D] s0)
 => (float[$D,$D] sn, float[$T,$D] ys) {
   down = Constant <value = int64[1] {1}> ()
   along = Constant <value = int64[1] {0}> ()
   rate = Constant <value = float {0.01}> ()
   sn, ys = Scan <num_scan_inputs = 2, body = step (float[$D,$D] s, float[$D] ki, float[$D] vi)
    => (float[$D,$D] s2, float[$D] y) {
   y = MatMul (ki, s)
   wrong = Sub (vi, y)
   small = Mul (wrong, rate)
   column = Unsqueeze (ki, down)
   row = Unsqueeze (small, along)
   outer = Mul (column, row)
   s2 = Add (s, outer)
   }> (s0, k, v)
}""",
    "greedy_decoder": """decoder (float[$D] h0, float[$D,$D] w, float[$D,32] head,
    float[32,$D] words)
 => (float[$D] hn, int64[$T] tokens) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   first = Constant <value = int64 {0}> ()
   hn, unused, tokens = Loop <body = step (int64 i, bool go, float[$D] h, int64 token)
    => (bool on, float[$D] h2, int64 best, int64 out) {
   e = Gather <axis = 0> (words, token)
   m = MatMul (h, w)
   s = Add (e, m)
   h2 = Tanh (s)
   logits = MatMul (h2, head)
   best = ArgMax <axis = 0, keepdims = 0> (logits)
   out = Identity (best)
   on = Identity (go)
   }> (n, yes, h0, first)
}""",
    "growing_memory": """memory (float[1,$D] h0, float[$D,$D] w) => (float[?,$D] all) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   hn, all = Loop <body = step (int64 i, bool go, float[1,$D] h, float[m,$D] seen)
    => (bool on, float[1,$D] h2, float[k,$D] more) {
   scores = Einsum <equation = "bd,md->bm"> (h, seen)
   weights = Softmax <axis = 1> (scores)
   read = MatMul (weights, seen)
   m = MatMul (read, w)
   h2 = Tanh (m)
   more = Concat <axis = 0> (seen, h2)
   on = Identity (go)
   }> (n, yes, h0, h0)
}""",
    "attention_decoder": """decoder (float[$T,$D] keys, float[$D] h0, float[$D,$D] w)
 => (float[$D] hn, float[$T,$T] ys) {
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()
   hn, ys = Loop <body = step (int64 i, bool go, float[$D] h)
    => (bool on, float[$D] h2, float[$T] y) {
   scores = MatMul (keys, h)
   y = Softmax <axis = 0> (scores)
   read = MatMul (y, keys)
   m = MatMul (read, w)
   h2 = Tanh (m)
   on = Identity (go)
   }> (n, yes, h0)
}""",
}
