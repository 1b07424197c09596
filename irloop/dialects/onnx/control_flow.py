"""Loop, Scan and If of ONNX, with closed bodies.

Captured outer values are explicit: they follow the inputs the file shows and enter the body
as `Invariant` parameters behind those the file shows. The reader adds, the writer removes them.

=====  ==================================  ==================================================
op     node inputs                         body parameters
=====  ==================================  ==================================================
Loop   M, cond, states..., captures...     iteration, condition, states..., captures...
Scan   (8: lengths,) states..., scanned... states..., scanned elements..., captures...
If     cond, captures...                   captures... (each body those it uses)
=====  ==================================  ==================================================
"""

from __future__ import annotations

from irloop.dialects.onnx.base import OnnxOp

__all__ = ["If", "Loop", "Scan", "Scan8"]


class Loop(OnnxOp, type="Loop", since=1, inputs=(2, None), outputs=None):
    """Runs its body while the trip count and the condition allow (Loop-1 ... Loop-25).

    M (input 0) or cond (input 1) may be omitted. Its body's port map: `iteration` is 0 and
    parameter 1 is `Carried` from input 1 by result 0 (the condition; `external` is 1 even
    when cond is omitted), then the states, then the captures; outputs are `LastValue` and
    `ScanOutput` of axis 0.
    """


class Scan(OnnxOp, type="Scan", since=9, inputs=(1, None), outputs=None):
    """Runs its body for each element of the scanned inputs (Scan-9 ... Scan-25).

    Axes and directions are in the port map (`ScanInput`, `ScanOutput`), normalised to
    non-negative where the rank is known. The file's `num_scan_inputs` and lists derive from it.
    """


class Scan8(OnnxOp, type="Scan", since=8, inputs=(2, None), outputs=None):
    """Scan with a batch axis (Scan-8): each batch item is scanned on its own.

    Input 0 is the optional lengths [B]; all other inputs and outputs have a leading batch axis
    that the body does not see, and are scanned along axis 1. `ScanInput.axis` and
    `ScanOutput.axis` count without the batch axis, so they are 0.
    """


class If(OnnxOp, type="If", since=1, inputs=(1, None), outputs=None):
    """Runs one of its bodies, labelled then and else (If-1 ... If-25)."""
