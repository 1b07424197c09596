"""Reading a damaged file returns a model or raises a ReadError."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from irloop.errors import ReadError
from irloop.formats.openvino.reader import read
from irloop.graph.verify import verify

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "ir"
NAMES = ("if_ser", "info_v11", "iterator_reverse", "loop_mo2021")

TEXTS = (
    "",
    "-1",
    "0",
    "1",
    "7",
    "99",
    "x",
    "1.5",
    "?",
    "...",
    "1,,2",
    "-",
    "9" * 25,
    "9223372036854775807",
    "18446744073709551616",
    "2147483648",
    "nan",
    "\u0661",
    "opset1",
    "opset5",
    "opset",
    "Parameter",
    "Result",
    "Const",
    "Loop",
    "If",
    "TensorIterator",
    "Assign",
    "string",
    "i4",
    "boolean",
    "&amp;",
    "current_iteration",
    "execution_condition",
    ",".join(["3"] * 5000),
)
ATTRIBUTES = ("axis", "stride", "part_size", "start", "end", "purpose", "shape", "id", "version")


def values(text: str) -> list[tuple[int, int]]:
    return [match.span(1) for match in re.finditer(r'="([^"]*)"', text)]


def elements(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"<[^>]*>", text)]


def mutated(text: str, rng: random.Random) -> str:
    """`text` with one change: of an attribute, a tag, a line or a passage."""
    # After a change of an attribute a file usually remains readable, so most mutants are of that
    # kind.
    (kind,) = rng.choices(range(9), (5, 5, 5, 5, 2, 2, 1, 1, 1))
    if kind <= 3:
        start, end = rng.choice(values(text))
        return text[:start] + rng.choice(TEXTS) + text[end:]
    if kind == 4:
        one, two = sorted(rng.sample(values(text), 2))
        middle = text[one[1] : two[0]]
        return f"{text[: one[0]]}{text[slice(*two)]}{middle}{text[slice(*one)]}{text[two[1] :]}"
    if kind == 5:
        name = rng.choice(ATTRIBUTES)
        start, end = rng.choice(elements(text))
        close = end - 2 if text[end - 2] == "/" else end - 1
        return f'{text[:close]} {name}="{rng.choice(TEXTS)}"{text[close:]}'
    if kind == 6:
        lines = text.splitlines(keepends=True)
        start = rng.randrange(len(lines))
        del lines[start : start + rng.randint(1, 8)]
        return "".join(lines)
    if kind == 7:
        lines = text.splitlines(keepends=True)
        start = rng.randrange(len(lines))
        piece = lines[start : start + rng.randint(1, 8)]
        place = rng.randrange(len(lines))
        return "".join([*lines[:place], *piece, *lines[place:]])
    start = rng.randrange(len(text))
    return text[:start] + rng.choice(["", "<", "\0", "&x;", "\x80", ">"]) + text[start + 1 :]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rounds", [1, 3])
def test_mutations(name: str, rounds: int, tmp_path: Path) -> None:
    original = (FIXTURES / f"{name}.xml").read_text(encoding="utf-8")
    weights = FIXTURES / f"{name}.bin"
    path = tmp_path / "mutant.xml"
    rng = random.Random(f"{name}{rounds}")  # noqa: S311 (the same mutants each time)
    models = 0
    places: set[str | None] = set()
    for _ in range(150):
        text = original
        for _ in range(rounds):
            text = mutated(text, rng)
        path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        try:
            model = read(path, weights)
        except ReadError as error:
            places.add(error.diagnostics[0].location.file)
        else:
            verify(model.graph)
            models += 1
    assert places <= {str(path), str(weights)}
    # Both outcomes occur: mutants that are still models, and mutants that are not.
    assert 0 < models < 150


@pytest.mark.parametrize("name", NAMES)
def test_truncations(name: str, tmp_path: Path) -> None:
    data = (FIXTURES / f"{name}.xml").read_bytes()
    path = tmp_path / "short.xml"
    for end in range(0, len(data.rstrip()) - 1, 37):
        path.write_bytes(data[:end])
        with pytest.raises(ReadError):
            read(path, FIXTURES / f"{name}.bin")
