"""Lists of `<dim>` are joined before parsing; readers must not notice any difference."""

from __future__ import annotations

import random
from xml.etree import ElementTree

import pytest

from irloop.errors import ReadError
from irloop.formats.openvino import xml
from irloop.formats.openvino.document import Extra
from irloop.formats.openvino.joined_dims import joined

#: Content that may occur inside and around a `<dim>`: joined, left alone, or malformed.
PARTS = ("<dim>", "</dim>", "<dim>1</dim>", "<dim>3</dim>", "\n", " ", "7", "<dim/>", "<x>", "</x>",
         '">', '"', "'>",
         "<!--", "-->", "<![CDATA[", "]]>", "<?p", "?>", "&#49;", "<dim a='1'>", "\x7f", "&amp;",
         "<rt_info>", "</rt_info>", "<dim>4 </dim>\r\n  <dim> 5</dim>")  # fmt: skip


def document(inside: str) -> bytes:
    return f"""<net name="n" version="11">
<layers><layer id="0" name="x" type="Parameter" version="opset1"><output>
<port id="0" precision="FP32">{inside}</port>
<port id="1" precision="FP32"><dim>8</dim>
<dim>9</dim></port></output></layer></layers>
<edges/></net>""".encode()


def extras(extra: Extra | None) -> object:
    if extra is None:
        return None
    return extra.tag, extra.text, extra.line, [extras(child) for child in extra.children]


def content(data: bytes) -> object:
    """The parsed content of a file: its ports with dimensions and lines, or its error."""
    try:
        parsed = xml.parse(data)
    except ReadError as error:
        return str(error)
    return [
        (port.id, port.dims, layer.line + port.below, extras(port.rt_info))
        for layer in parsed.net.layers
        for port in layer.outputs
    ]


@pytest.mark.parametrize(
    ("inside", "dims"),
    [
        ("\n <dim>1</dim>\n  <dim>3</dim><dim></dim>", ("1", "3", "")),
        ("<dim>1</dim>\n<dim> 3</dim><dim>7</dim>", ("1", " 3", "7")),
        ("<dim></dim>\n<dim>&#49;6</dim>\t<dim>-1 </dim>", ("", "16", "-1 ")),
    ],
)
def test_dims_are_those_of_another_parser(inside: str, dims: tuple[str, ...]) -> None:
    """ElementTree gives the same texts, white space included."""
    data = document(inside)
    ports = ElementTree.fromstring(data).iter("port")  # noqa: S314 (our own file)
    expected = [tuple(dim.text or "" for dim in port.iter("dim")) for port in ports]
    found = xml.parse(data).net.layers[0].outputs
    assert [port.dims for port in found] == expected == [dims, ("8", "9")]
    assert joined(data)[1] >= 1


@pytest.mark.parametrize("seed", range(8))
def test_random_content_is_read_as_without_joining(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)  # noqa: S311
    files = [document("".join(draw.choices(PARTS, k=draw.randint(1, 12)))) for _ in range(150)] + [
        document("<rt_info><dim>1</dim> <dim>2</dim></rt_info>")
    ]
    with_joining = list(map(content, files))
    monkeypatch.setattr(xml, "joined", lambda data: (data, 0))
    assert with_joining == list(map(content, files))
    assert sum(isinstance(item, list) for item in with_joining) > 2


def test_a_list_longer_than_the_buffer_of_expat() -> None:
    """expat passes long texts on in parts."""
    dims = [str(number) for number in range(6000)]
    parsed = xml.parse(document("\n".join(f"<dim>{text}</dim>" for text in dims)))
    first, second = parsed.net.layers[0].outputs
    assert first.dims == tuple(dims)
    line = parsed.net.layers[0].line + second.below
    assert (second.dims, line) == (("8", "9"), 6003)


@pytest.mark.parametrize("encoding", ["utf-16", "cp037"])
def test_other_encodings_are_left_alone(encoding: str) -> None:
    text = document("<dim>1</dim> <dim>2</dim>").decode()
    data = f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding)
    assert joined(data) == (data, 0)
