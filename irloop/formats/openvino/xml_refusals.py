"""The errors with which parsing refuses XML: damage, wrong roots, old versions, excessive depth."""

from __future__ import annotations

from xml.parsers import expat

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.openvino.document import Layer

__all__ = [
    "MAX_BODIES",
    "MAX_DEPTH",
    "attribute_list",
    "divided_dim",
    "entity",
    "malformed",
    "repeated",
    "too_deep",
    "too_many_bodies",
    "too_old",
    "undecodable",
    "wrong_root",
]

#: Maximum nesting depth of elements. A body takes three levels (layer, body, layers).
MAX_DEPTH = 512
#: Maximum nesting depth of bodies; it is limited because later stages process bodies recursively.
MAX_BODIES = 100


def malformed(place: Location, error: expat.ExpatError, data: bytes, *, started: bool) -> ReadError:
    """Describe XML that expat cannot parse; a truncated file is named as such.

    Args:
        place: the line of the error.
        error: what expat reports.
        data: the bytes of the whole file.
        started: whether the root element has been parsed.
    """
    what = expat.ErrorString(error.code)
    if started and not data.rstrip().endswith(b"</net>") and _at_end(error.code):
        return ReadError(
            f"the file ends before the model does (column {error.offset + 1})",
            location=place,
            code="IRL101",
            expected="</net> at the end",
            found=f"the end of the file after {len(data)} bytes",
            cause="the file is truncated: an interrupted download, copy or export",
            fix="fetch or export the model again",
        )
    return ReadError(
        f"the XML is not well-formed: {what} (column {error.offset + 1})",
        location=place,
        code="IRL101",
        expected="well-formed XML",
        found=what,
        cause="the file was edited by hand, damaged, or is not XML",
        fix="repair this line, or export the model again",
    )


def _at_end(code: int) -> bool:
    """Return whether `code` is an expat error that means that the document ends too early."""
    messages = expat.errors
    names = (messages.XML_ERROR_NO_ELEMENTS, messages.XML_ERROR_UNCLOSED_TOKEN)
    codes: dict[str, int] = messages.codes
    return code in {codes[name] for name in (*names, messages.XML_ERROR_UNCLOSED_CDATA_SECTION)}


def undecodable(place: Location, encoding: str) -> ReadError:
    return ReadError(
        f"the XML declares the encoding {encoding!r}",
        location=place,
        code="IRL101",
        expected="UTF-8, UTF-16, or ISO-8859-1 declared in the first bytes of the file",
        cause="OpenVINO reads every other encoding as UTF-8, and so sees other names",
        fix="save it as UTF-8",
    )


def repeated(place: Location, tag: str) -> ReadError:
    return ReadError(
        f"there is a second <{tag}> in the same element",
        location=place,
        code="IRL101",
        expected=f"one <{tag}>",
        cause="the file was edited by hand; OpenVINO reads only the first",
        fix="remove one of them, or join them",
    )


def divided_dim(place: Location) -> ReadError:
    return ReadError(
        "the number in a <dim> is divided by other markup",
        location=place,
        code="IRL101",
        expected="one text, without elements, and without a comment in it",
        cause="the file was edited by hand; OpenVINO reads only one part of the number",
        fix="remove the markup",
    )


def attribute_list(place: Location, tag: str) -> ReadError:
    return ReadError(
        f"the DOCTYPE declares attributes of <{tag}>",
        location=place,
        code="IRL101",
        expected="no declarations of attributes",
        cause="no exporter writes them, and OpenVINO ignores their default values",
        fix="remove the DOCTYPE",
    )


def wrong_root(place: Location, name: str) -> ReadError:
    html = name.lower() in ("html", "head", "body")
    return ReadError(
        "this is an HTML page, not a model" if html else f"the root element is <{name}>",
        location=place,
        code="IRL102",
        expected="<net>, the root of an OpenVINO IR",
        found=f"<{name}>",
        cause="the file is XML, but not an IR",
        fix="download the file itself, not the page that shows it" if html else "",
    )


def too_old(place: Location, version: str) -> ReadError:
    return ReadError(
        f"IR version {version} is not supported",
        location=place,
        code="IRL102",
        expected="IR version 2 to 7, 10 or 11",
        found=f'<net version="{version}">',
        cause="no release of OpenVINO wrote this version",
        fix="restore the version of the file, or convert the original model again",
    )


def too_deep(place: Location) -> ReadError:
    return ReadError(
        f"elements are nested more than {MAX_DEPTH} deep",
        location=place,
        code="IRL101",
        expected=f"at most {MAX_DEPTH} levels of elements, {MAX_BODIES} of bodies",
        cause="the file is damaged or was made to crash readers",
    )


def too_many_bodies(file: str, line: int, owner: Layer) -> ReadError:
    return ReadError(
        f"bodies are nested more than {MAX_BODIES} deep",
        location=Location(file, line, owner.path[:200], owner.id),
        code="IRL101",
        expected=f"at most {MAX_BODIES} bodies inside each other",
        cause="no exporter nests loops and branches like this; engines crash on it",
    )


def entity(place: Location, name: str) -> ReadError:
    return ReadError(
        f"the XML declares the entity {name!r}",
        location=place,
        code="IRL101",
        expected="no entity declarations",
        cause="no exporter writes them; they are a way to read local files or fill memory",
        fix="remove the DOCTYPE",
    )
