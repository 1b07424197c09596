"""Changes the markup of an .xml: sections, comments, encodings and what else readers confuse."""

from __future__ import annotations

import random
import re

__all__ = ["changed_markup"]

#: What may be inserted at the border of an element.
_INSERTED = (
    "<!-- c -->", "<!-- <layer id='9'/> -->", "<?a b?>", "<![CDATA[<layer/>]]>", "text", "\0",
    "&a;", "&#49;", "<layers/>", "<edges/>", "<input/>", "<output/>", "<data/>", "<body/>",
    "<back_edges/>", "<net/>", "<a:layer id='9'/>", "<dim>1</dim>",
    "<layer id='9' name='n' type='Result' version='1'/>",
    "<rt_info><layers/></rt_info>", "\r", "\r\n", "\t", "<a xmlns='b'/>",
)  # fmt: skip

#: What may be inserted into text.
_IN_TEXT = (
    "<!-- -->",
    "<?a?>",
    "<![CDATA[1]]>",
    "<![CDATA[]]>",
    "<a/>",
    " ",
    "&#50;",
    "\u00e9",
    "1",
)

#: What may precede the root.
_PROLOGUE = (
    "<?xml version='1.0'?>", "\n<?xml version='1.0'?>", "<?xml version='1.0' encoding='latin1'?>",
    "<?xml version='1.0' encoding='us-ascii'?>", "<?xml version='1.0' encoding='windows-1252'?>",
    "<?xml version='1.0' encoding='utf-16'?>", "<!DOCTYPE net>", "<!-- c -->",
    "<!DOCTYPE net [<!ATTLIST layer name CDATA 'n'>]>", "<!DOCTYPE net [<!ENTITY a 'b'>]>",
    "<!DOCTYPE net SYSTEM 'a.dtd'>",
)  # fmt: skip

_TAG = re.compile(r"<[^>]*>")
_SECTION = re.compile(r"<(layers|edges|input|output|data|body|back_edges|port_map|port|layer)\b")
_ATTRIBUTE = re.compile(r' [\w-]+="[^"]*"')


def changed_markup(data: bytes, draw: random.Random) -> bytes:
    """Change an .xml in one or more ways, and encode it in one of the encodings."""
    text = data.decode("utf-8", errors="replace")
    for _ in range(draw.choice((1, 1, 2, 3))):
        text = draw.choice((_insert, _into_text, _double, _repeat, _begin, _end))(text, draw)
    encoding = draw.choice(("utf-8",) * 6 + ("utf-8-sig", "utf-16", "utf-16-le", "latin-1"))
    return text.encode(encoding, errors="replace")


def _insert(text: str, draw: random.Random) -> str:
    """Insert something after a tag."""
    places = [match.end() for match in _TAG.finditer(text)]
    at = draw.choice(places or [0])
    return text[:at] + draw.choice(_INSERTED) + text[at:]


def _into_text(text: str, draw: random.Random) -> str:
    """Insert something into a dimension, or into an attribute."""
    places = [match.start(1) for match in re.finditer(r"[\w.](\w*</dim>|\w*\")", text)]
    at = draw.choice(places or [0])
    return text[:at] + draw.choice(_IN_TEXT) + text[at:]


def _double(text: str, draw: random.Random) -> str:
    """Repeat a section, a layer or a port, or all of it."""
    found = list(_SECTION.finditer(text))
    if not found:
        return text
    chosen = draw.choice(found)
    end = text.find(f"</{chosen[1]}>", chosen.start())
    after = text.find(">", end if end >= 0 else chosen.start()) + 1
    part = text[chosen.start() : after]
    at = draw.choice((chosen.start(), after, draw.choice(found).start()))
    return text[:at] + part + text[at:]


def _repeat(text: str, draw: random.Random) -> str:
    """Repeat an attribute, or remove it."""
    found = list(_ATTRIBUTE.finditer(text))
    if not found:
        return text
    chosen = draw.choice(found)
    return text[: chosen.start()] + draw.choice(("", chosen[0] * 2)) + text[chosen.end() :]


def _begin(text: str, draw: random.Random) -> str:
    return draw.choice(_PROLOGUE) + re.sub(r"^\s*<\?xml[^>]*>", "", text)


def _end(text: str, draw: random.Random) -> str:
    return text + draw.choice(("junk", "\0", "<net/>", "<!-- c -->", "<?a?>", " \n", text))
