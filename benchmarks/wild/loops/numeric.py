"""Iterations of numerical methods, and statistics over a window or a stream."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

HEAD = """
   n = Constant <value = int64 {$T}> ()
   yes = Constant <value = bool {1}> ()"""

PROGRAMS = {
    "sinkhorn": """sinkhorn (float[$D,$D] cost) => (float[$D,$D] plan) {"""
    + HEAD
    + """
   plan = Loop <body = step (int64 i, bool go, float[$D,$D] p) => (bool on, float[$D,$D] p3) {
   a = ReduceLogSumExp <axes = [1], keepdims = 1> (p)
   p2 = Sub (p, a)
   b = ReduceLogSumExp <axes = [0], keepdims = 1> (p2)
   p3 = Sub (p2, b)
   on = Identity (go)
   }> (n, yes, cost)
}""",
    "power_iteration": """power (float[$D,$D] a, float[$D] v0) => (float[$D] v) {"""
    + HEAD
    + """
   v = Loop <body = step (int64 i, bool go, float[$D] x) => (bool on, float[$D] y) {
   m = MatMul (a, x)
   size = ReduceL2 <axes = [0], keepdims = 1> (m)
   y = Div (m, size)
   on = Identity (go)
   }> (n, yes, v0)
}""",
    "jacobi": """jacobi (float[$D,$D] r, float[$D] d, float[$D] b, float[$D] x0) => (float[$D] x) {
   ten = Constant <value = float {100.0}> ()
   far = Abs (d)
   diagonal = Add (far, ten)"""
    + HEAD
    + """
   x = Loop <body = step (int64 i, bool go, float[$D] v) => (bool on, float[$D] w) {
   m = MatMul (r, v)
   rest = Sub (b, m)
   w = Div (rest, diagonal)
   on = Identity (go)
   }> (n, yes, x0)
}""",
    "conjugate_gradient": """cg (float[$D,$D] m, float[$D] b) => (float[$D] x) {
   mt = Transpose (m)
   a = MatMul (mt, m)
   zeros = Sub (b, b)
   eps = Constant <value = float {0.001}> ()"""
    + HEAD
    + """
   x, rn, pn = Loop <body = step (int64 i, bool go, float[$D] v, float[$D] r, float[$D] p)
    => (bool on, float[$D] v2, float[$D] r2, float[$D] p2) {
   ap = MatMul (a, p)
   rr = MatMul (r, r)
   pap = MatMul (p, ap)
   safe = Add (pap, eps)
   alpha = Div (rr, safe)
   dv = Mul (alpha, p)
   v2 = Add (v, dv)
   dr = Mul (alpha, ap)
   r2 = Sub (r, dr)
   rr2 = MatMul (r2, r2)
   rs = Add (rr, eps)
   beta = Div (rr2, rs)
   bp = Mul (beta, p)
   p2 = Add (r2, bp)
   on = Identity (go)
   }> (n, yes, zeros, b, b)
}""",
    "newton": """newton (float[$D] x0) => (float[$D] root) {
   half = Constant <value = float {0.5}> ()
   eps = Constant <value = float {0.00001}> ()
   one = Constant <value = float {1.0}> ()
   sq = Mul (x0, x0)
   a = Add (sq, one)"""
    + HEAD
    + """
   root = Loop <body = step (int64 i, bool go, float[$D] x) => (bool on, float[$D] x2) {
   q = Div (a, x)
   s = Add (x, q)
   x2 = Mul (s, half)
   d = Sub (x2, x)
   far = Abs (d)
   worst = ReduceMax <keepdims = 0> (far)
   on = Greater (worst, eps)
   }> (n, yes, a)
}""",
    "gradient_descent": """descent (float[32,$D] x, float[32] y, float[$D] w0) => (float[$D] w) {
   rate = Constant <value = float {0.01}> ()
   xt = Transpose (x)"""
    + HEAD
    + """
   w = Loop <body = step (int64 i, bool go, float[$D] v) => (bool on, float[$D] v2) {
   z = MatMul (x, v)
   p = Sigmoid (z)
   e = Sub (p, y)
   g = MatMul (xt, e)
   s = Mul (g, rate)
   v2 = Sub (v, s)
   on = Identity (go)
   }> (n, yes, w0)
}""",
    "oscillator": """euler (float[$D] x0, float[$D] v0) => (float[$D] x, float[$D] v,
    float[$T,$D] path) {
   dt = Constant <value = float {0.01}> ()"""
    + HEAD
    + """
   x, v, path = Loop <body = step (int64 i, bool go, float[$D] a, float[$D] b)
    => (bool on, float[$D] a2, float[$D] b2, float[$D] out) {
   s = Sin (a)
   f = Mul (s, dt)
   b2 = Sub (b, f)
   m = Mul (b2, dt)
   a2 = Add (a, m)
   out = Identity (a2)
   on = Identity (go)
   }> (n, yes, x0, v0)
}""",
    "runge_kutta": """rk (float[$D] x0, float[$D,$D] a) => (float[$D] x) {
   dt = Constant <value = float {0.001}> ()
   half = Constant <value = float {0.0005}> ()
   two = Constant <value = float {2.0}> ()"""
    + HEAD
    + """
   x = Loop <body = step (int64 i, bool go, float[$D] v) => (bool on, float[$D] v2) {
   m1 = MatMul (a, v)
   k1 = Tanh (m1)
   h1 = Mul (k1, half)
   u1 = Add (v, h1)
   m2 = MatMul (a, u1)
   k2 = Tanh (m2)
   h2 = Mul (k2, half)
   u2 = Add (v, h2)
   m3 = MatMul (a, u2)
   k3 = Tanh (m3)
   k3b = Mul (k3, two)
   sum = Add (k1, k3b)
   step = Mul (sum, dt)
   v2 = Add (v, step)
   on = Identity (go)
   }> (n, yes, x0)
}""",
    "mandelbrot": """mandelbrot (float[$D,$D] a, float[$D,$D] b) => (int64[$D,$D] count) {
   four = Constant <value = float {4.0}> ()
   two = Constant <value = float {2.0}> ()
   zeros = Sub (a, a)
   none = Cast <to = 7> (zeros)"""
    + HEAD
    + """
   x, y, count = Loop <body = step (int64 i, bool go, float[$D,$D] u, float[$D,$D] v,
    int64[$D,$D] k)
    => (bool on, float[$D,$D] u3, float[$D,$D] v3, int64[$D,$D] k2) {
   uu = Mul (u, u)
   vv = Mul (v, v)
   size = Add (uu, vv)
   inside = Less (size, four)
   d = Sub (uu, vv)
   u2 = Add (d, a)
   uv = Mul (u, v)
   w = Mul (uv, two)
   v2 = Add (w, b)
   u3 = Where (inside, u2, u)
   v3 = Where (inside, v2, v)
   more = Cast <to = 7> (inside)
   k2 = Add (k, more)
   on = Identity (go)
   }> (n, yes, zeros, zeros, none)
}""",
    "moving_average": """average (float[$T,$D] x, float[$D] start) => (float[$D] last,
    float[$T,$D] ys) {
   rate = Constant <value = float {0.1}> ()
   last, ys = Scan <num_scan_inputs = 1, body = step (float[$D] m, float[$D] v)
    => (float[$D] m2, float[$D] y) {
   d = Sub (v, m)
   s = Mul (d, rate)
   m2 = Add (m, s)
   y = Identity (m2)
   }> (start, x)
}""",
    "running_extremes": """extremes (float[$T,$D] x, float[$D] start)
 => (float[$D] low, float[$D] high, float[$T,$D] spread) {
   low, high, spread = Scan <num_scan_inputs = 1, body = step (float[$D] a, float[$D] b,
    float[$D] v)
    => (float[$D] a2, float[$D] b2, float[$D] s) {
   a2 = Min (a, v)
   b2 = Max (b, v)
   s = Sub (b2, a2)
   }> (start, start, x)
}""",
    "sliding_stats": """stats (float[$W,$D] x) => (float[$T,$D] means, float[$T,$D] tops) {
   width = Constant <value = int64 {4}> ()
   along = Constant <value = int64[1] {0}> ()"""
    + HEAD
    + """
   means, tops = Loop <body = step (int64 i, bool go) => (bool on, float[$D] m, float[$D] t) {
   j = Add (i, width)
   begin = Unsqueeze (i, along)
   end = Unsqueeze (j, along)
   part = Slice (x, begin, end, along)
   m = ReduceMean <axes = [0], keepdims = 0> (part)
   t = ReduceMax <axes = [0], keepdims = 0> (part)
   on = Identity (go)
   }> (n, yes)
}""",
    "horner": """horner (float[$T] coefficients, float[$D] x) => (float[$D] y) {
   zeros = Sub (x, x)
   y, kept = Scan <num_scan_inputs = 1, body = step (float[$D] s, float c)
    => (float[$D] s2, float out) {
   p = Mul (s, x)
   s2 = Add (p, c)
   out = Identity (c)
   }> (zeros, coefficients)
}""",
    "kmeans": """kmeans (float[64,$D] x, float[4,$D] c0) => (float[4,$D] c) {
   depth = Constant <value = int64 {4}> ()
   values = Constant <value = float[2] {0.0, 1.0}> ()
   one = Constant <value = float {1.0}> ()
   points = Constant <value = int64[1] {1}> ()
   groups = Constant <value = int64[1] {0}> ()
   xs = Unsqueeze (x, points)"""
    + HEAD
    + """
   c = Loop <body = step (int64 i, bool go, float[4,$D] m) => (bool on, float[4,$D] m2) {
   ms = Unsqueeze (m, groups)
   d = Sub (xs, ms)
   far = ReduceSumSquare <axes = [2], keepdims = 0> (d)
   best = ArgMin <axis = 1, keepdims = 0> (far)
   member = OneHot (best, depth, values)
   turned = Transpose (member)
   sums = MatMul (turned, x)
   counts = ReduceSum <keepdims = 1> (turned, points)
   safe = Max (counts, one)
   m2 = Div (sums, safe)
   on = Identity (go)
   }> (n, yes, c0)
}""",
    "page_rank": """rank (float[$D,$D] links, float[$D] r0) => (float[$D] r) {
   damping = Constant <value = float {0.85}> ()
   base = Constant <value = float {0.15}> ()
   eps = Constant <value = float {0.000001}> ()
   chances = Softmax <axis = 0> (links)"""
    + HEAD
    + """
   r = Loop <body = step (int64 i, bool go, float[$D] x) => (bool on, float[$D] y) {
   m = MatMul (chances, x)
   s = Mul (m, damping)
   y = Add (s, base)
   d = Sub (y, x)
   a = Abs (d)
   worst = ReduceMax <keepdims = 0> (a)
   on = Greater (worst, eps)
   }> (n, yes, r0)
}""",
    "heat": """heat (float[1,1,$D,$D] x0) => (float[1,1,$D,$D] x) {
   kernel = Constant <value = float[1,1,3,3] {0.0,0.1,0.0, 0.1,0.6,0.1, 0.0,0.1,0.0}> ()"""
    + HEAD
    + """
   x = Loop <body = step (int64 i, bool go, float[1,1,$D,$D] v) => (bool on, float[1,1,$D,$D] w) {
   w = Conv <pads = [1, 1, 1, 1]> (v, kernel)
   on = Identity (go)
   }> (n, yes, x0)
}""",
    "bisection": """bisect (float[$D] target) => (float[$D] low, float[$D] high) {
   half = Constant <value = float {0.5}> ()
   ten = Constant <value = float {10.0}> ()
   zeros = Sub (target, target)
   high0 = Add (zeros, ten)
   low0 = Sub (zeros, ten)"""
    + HEAD
    + """
   low, high = Loop <body = step (int64 i, bool go, float[$D] a, float[$D] b)
    => (bool on, float[$D] a2, float[$D] b2) {
   s = Add (a, b)
   m = Mul (s, half)
   e = Mul (m, m)
   cube = Mul (e, m)
   below = Less (cube, target)
   a2 = Where (below, m, a)
   b2 = Where (below, b, m)
   on = Identity (go)
   }> (n, yes, low0, high0)
}""",
}
