"""IRL308: bytes of the weights file that no constant uses."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_net
from irloop.validation.context import Context
from irloop.validation.rule import FILE, Rule

#: Alignment of data in the files of most writers.
ALIGNMENT = 8

#: The largest alignment that writers use: a cache line.
LINE = 64


class UnreferencedBytes(
    Rule,
    code="IRL308",
    severity=Severity.INFO,
    title="bytes of the weights file that no constant uses",
    requires=("IRL104", "IRL110", "IRL301", "IRL302", "IRL303", "IRL305"),
    scope=FILE,
    legacy=True,
):
    """The .bin holds bytes that no constant refers to.

    What it does:
        Adds up the gaps between the byte ranges of all constants; the file is not read. Up to 63
        bytes before a constant that begins at a multiple of 8 count as alignment.
    Why is this bad:
        Readers ignore them. A large gap is wasted space, or the .bin belongs to another model.
    Bad example:
        a .bin of 1 MB of which the constants use 16 bytes
    Good example:
        a .bin that ends with its last constant
    Fix:
        Write the model again, which removes them; check that .xml and .bin belong together.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """At most one finding per file, if some bytes of the .bin belong to no constant."""
        size = context.weights.size
        sections = context.document.net.sections
        if not size or any(section.tag == "pre-process" for section in sections):
            return
        ranges = sorted(
            (item.offset, item.offset + item.size)
            for item in context.constants
            if item.offset is not None and item.size
        )
        used = end = 0
        for first, last in ranges:
            padding = first - end
            if 0 < padding < LINE and first % ALIGNMENT == 0:
                used += padding
            used += max(0, last - max(first, end))
            end = max(end, last)
        if used >= size or not context.root.net.layers:
            return
        yield self.found(
            at_net(context.root.net),
            f"{size - used} of {size} bytes of the weights file belong to no constant",
            expected=f"{used} bytes",
            found=f"{size} bytes",
            cause="" if ranges else "the model has no constants",
            fix="write the model again; check that .xml and .bin belong together",
        )
