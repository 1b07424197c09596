"""Generates a random program from a seed: nested loops, scans and branches of limited depth."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from irloop.conformance.programs.program import (
    OPERATIONS,
    Block,
    Choose,
    Compute,
    Program,
    Repeat,
    Statement,
    Walk,
)

__all__ = ["draw"]

DEPTH = 3

#: Trip counts of the inferences: the loops run several times, not at all, once, and several times
#: again.
TRIPS = (3, 0, 1, 4)

LIMIT = 20.0


@dataclass
class _Drawing:
    random: random.Random
    names: int = 0
    counts: list[str] = field(default_factory=list)
    matrices: list[str] = field(default_factory=list)

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"


def draw(seed: int) -> Program:
    """Draw a random program from a seed, with the input values of four inferences."""
    r = random.Random(seed)  # noqa: S311 (not for secrets)
    drawing = _Drawing(r)
    vectors = [f"x{index}" for index in range(r.randint(1, 3))]
    statements, known, stacked = _statements(drawing, list(vectors), DEPTH, inside_walk=False)
    results = _choose(r, [name for name in known if name not in vectors] or known, 3)
    shown = _choose(r, stacked, 2)
    block = Block(tuple(statements), (*results, *shown))
    feeds = tuple(_feed(drawing, vectors, trips) for trips in TRIPS)
    return Program(
        tuple(vectors),
        tuple(drawing.counts),
        tuple(drawing.matrices),
        block,
        frozenset(shown),
        feeds,
    )


def _feed(drawing: _Drawing, vectors: list[str], trips: int) -> dict[str, Any]:
    r = drawing.random
    feed: dict[str, Any] = {name: [r.randint(-3, 3), r.randint(-3, 3)] for name in vectors}
    for name in drawing.counts:
        feed[name] = r.choice((trips, trips, r.randint(0, 4)))
    for name in drawing.matrices:
        feed[name] = [[r.randint(-3, 3), r.randint(-3, 3)] for _ in range(max(trips, 1))]
    return feed


def _choose(r: random.Random, names: list[str], most: int) -> tuple[str, ...]:
    return tuple(r.sample(names, min(len(names), r.randint(1, most)))) if names else ()


def _statements(
    drawing: _Drawing, known: list[str], depth: int, *, inside_walk: bool
) -> tuple[list[Statement], list[str], list[str]]:
    """Draw one to three random statements.

    Return the statements, the names of all vectors that later statements may read (those in `known`
    and the new vectors), and the names of the stacks that the statements create. Statements contain
    other statements only if `depth` is not 0.
    """
    r = drawing.random
    statements: list[Statement] = []
    stacked: list[str] = []
    known = list(known)
    for _ in range(r.randint(1, 3)):
        kind = r.choice(("compute", "repeat", "walk", "choose")) if depth else "compute"
        if kind == "walk" and inside_walk:
            kind = "repeat"
        made: Statement
        if kind == "compute":
            made = _compute(drawing, known)
            known.append(made.name)
        elif kind == "choose":
            made = _branches(drawing, known, depth, inside_walk)
            known += made.names
        else:
            made = _loop(drawing, known, depth, kind)
            known += made.names[: len(made.states)]
            stacked += made.names[len(made.states) :]
        statements.append(made)
    return statements, known, stacked


def _compute(drawing: _Drawing, known: list[str]) -> Compute:
    r = drawing.random
    operation = r.choice(list(OPERATIONS))
    count = 1 if operation in ("Neg", "Abs") else 2
    operands = tuple(r.choice(known) for _ in range(count))
    return Compute(drawing.fresh("v"), operation, operands)


def _branches(drawing: _Drawing, known: list[str], depth: int, inside_walk: bool) -> Choose:
    r = drawing.random
    count = r.randint(1, 2)
    blocks = []
    for _ in range(2):
        statements, inner, _ = _statements(drawing, known, depth - 1, inside_walk=inside_walk)
        blocks.append(Block(tuple(statements), tuple(r.choice(inner[-4:]) for _ in range(count))))
    names = tuple(drawing.fresh("c") for _ in range(count))
    return Choose(names, r.choice(known), blocks[0], blocks[1])


def _loop(drawing: _Drawing, known: list[str], depth: int, kind: str) -> Repeat | Walk:
    r = drawing.random
    states = tuple((drawing.fresh("s"), r.choice(known)) for _ in range(r.randint(1, 3)))
    inner = [*known, *(name for name, _ in states)]
    row = drawing.fresh("row")
    number = drawing.fresh("number") if kind == "repeat" and r.random() < 0.5 else None
    inner += [row] if kind == "walk" else [number] if number is not None else []
    statements, inside, _ = _statements(drawing, inner, depth - 1, inside_walk=kind == "walk")
    mine = inside[len(known) :]
    following = tuple(r.choice(mine) for _ in states)
    kept = tuple(r.choice(mine) for _ in range(r.randint(0, 2)))
    names = tuple(drawing.fresh("l") for _ in (*states, *kept))
    body = Block(tuple(statements), (*following, *kept))
    if kind == "walk":
        drawing.matrices.append(drawing.fresh("m"))
        backwards = r.random() < 0.4
        return Walk(names, drawing.matrices[-1], row, backwards, states, body)
    drawing.counts.append(drawing.fresh("n"))
    limit = LIMIT if r.random() < 0.4 else None
    return Repeat(names, states, body, drawing.counts[-1], limit, number)
