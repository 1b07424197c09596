"""Moves the dimensions of a port into an attribute, which makes parsing a large IR twice as fast.

    <port id="0">          <port id="0" _dims_="1 3">
      <dim>1</dim>   ->
      <dim>3</dim>
    </port>                </port>

Line breaks are kept, so the lines of all elements are the same; columns are not.
"""

from __future__ import annotations

import re

__all__ = ["ATTRIBUTE", "joined"]

#: The attribute with the dimensions, separated by spaces.
ATTRIBUTE = "_dims_"

#: The end of a start tag, and the dimensions after it; dimensions in other positions stay elements.
_DIMS = re.compile(rb'">[ \t\r\n]*+(?:<dim>[^<>\s&"]*+</dim>[ \t\r\n]*+)++')


def joined(data: bytes) -> tuple[bytes, int]:
    """Move the `dim` elements of each port of an IR into an attribute `_dims_` of the port.

    Returns the new document and the number of attributes that were added.

    Tags are not parsed, so a tag that is not a port may get the attribute, too. The caller must
    therefore count the ports that have it. If the count is smaller than the returned number, it
    must parse the original document instead.

    The document is returned unchanged, with the number 0, if it already contains `_dims_`, a CDATA
    section or a DOCTYPE.
    """
    if b"_dims_" in data or (b"!" in data and (b"<![CDATA[" in data or b"<!DOCTYPE" in data)):
        return data, 0
    shorter, count = _DIMS.subn(_Joined(), data)
    return shorter, count


class _Joined(dict[bytes, bytes]):
    """Maps a matched list of `dim` elements to the attribute that replaces it.

    Replacements are cached, because the same shapes occur repeatedly in a model. An instance is the
    replacement function of `re.sub`.
    """

    def __call__(self, match: re.Match[bytes]) -> bytes:
        return self[match.group()]

    def __missing__(self, text: bytes) -> bytes:
        dims = [part.partition(b"</dim>")[0] for part in text.split(b"<dim>")[1:]]
        ends = b"\n" * text.count(b"\n")
        rewritten = b'" %b="%b">%b' % (ATTRIBUTE.encode(), b" ".join(dims), ends)
        if b"\r" in text.replace(b"\r\n", b""):
            rewritten = text  # a line may also end with a return alone
        self[text] = rewritten
        return rewritten
