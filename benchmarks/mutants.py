"""Damages valid IRs systematically, and compares OpenVINO's verdict with that of `validate`.

    python -W ignore -m benchmarks.mutants [FOLDER_OR_XML ...]

Without arguments the fixtures of the tests are damaged. OpenVINO reads, compiles and runs each
mutant in a child process. A miss is a mutant that OpenVINO refuses, or crashes on, although
`validate` finds no error; the exit status is 1 if there are misses that `EXPLAINED` does not list.
Mutants that only `validate` refuses are listed under its code: in these cases OpenVINO drops a
second port or layer with the same id, ignores port maps and back edges that lead nowhere and layers
that no Result needs, reads uninitialised memory, or silently converts types.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from benchmarks.verdicts import Verdict, Verdicts
from irloop.diagnostics import Severity
from irloop.validation.engine import validate
from tests.malformed.mutants import KINDS

TESTS = Path(__file__).resolve().parents[1] / "tests"
RULES = TESTS / "fixtures" / "rules"
DEFAULT = (
    RULES / "irl625" / "good_five_slices.xml",
    RULES / "irl507" / "good_trip_and_condition.xml",
    RULES / "irl614" / "good_two_and_two.xml",
    RULES / "irl702" / "good_both.xml",
    RULES / "irl801" / "good_four.xml",
    TESTS / "fixtures" / "ir" / "if_ser.xml",
    TESTS / "fixtures" / "ir" / "iterator_reverse.xml",
    TESTS / "fixtures" / "ir" / "loop_mo2021.xml",
    TESTS / "fixtures" / "models" / "halving" / "model.xml",
    TESTS / "fixtures" / "models" / "recurrent" / "model.xml",
)
#: OpenVINO's messages about mutants in which `validate` finds no error, the warning that it gives
#: (if any), and why that is right.
EXPLAINED: tuple[tuple[str, str, str], ...] = (
    ("Shape mismatch for tensor iterator port", "IRL609", "zero iterations: a bug of the plugin"),
    ("Failed to allocate", "", "a trip count of 2^56: the output does not fit into memory"),
    ("with dynamic rank", "IRL628", "a limit of the CPU plugin"),
    ("in an iteration component", "IRL513", "an unread sliced Parameter confuses the plugin"),
    ("object is not initialized", "IRL611", "a limit of the CPU plugin"),
    ("object is not initialized", "IRL628", "a limit of the CPU plugin"),
    ("does not support i64 for use with oneDNN", "", "a limit of the CPU plugin"),
    ("names have collisions", "", "two Results of a loop whose other output nothing reads"),
)
_BIN = re.compile(r"<!--\s*bin:\s*([0-9a-fA-F ]*?)\s*-->")


def sources(arguments: list[str]) -> Iterator[tuple[Path, bytes]]:
    """Models and their weights."""
    paths = [Path(item) for item in arguments] or list(DEFAULT)
    for path in paths:
        found = sorted(path.rglob("model.xml")) if path.is_dir() else [path]
        # A folder with cases of one operation is damaged only once.
        for model in {item.parent.parent: item for item in reversed(found)}.values():
            match = _BIN.search(model.read_text(encoding="utf-8"))
            beside = model.with_suffix(".bin")
            if match is not None:
                yield model, bytes.fromhex(match.group(1))
            else:
                yield model, beside.read_bytes() if beside.is_file() else b""


def mutants(model: Path) -> Iterator[tuple[str, bytes]]:
    """Every distinct mutant of a model."""
    root = etree.parse(model, etree.XMLParser(remove_comments=True)).getroot()
    seen = {etree.tostring(root)}
    for kind in KINDS.values():
        for name, mutant in kind(root):
            text = etree.tostring(mutant)
            if text not in seen:
                seen.add(text)
                yield name, text


class Tally:
    """The results, by verdict."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.missed: list[str] = []
        self.stricter: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, name: str, verdict: Verdict, codes: set[str], warned: set[str]) -> None:
        """Judge one mutant."""
        refused = not verdict.accepted
        self.count[
            f"{'refused' if refused else 'accepted'}, {'error' if codes else 'no error'}"
        ] += 1
        if refused and not codes:
            reasons = (
                why
                for text, code, why in EXPLAINED
                if text in verdict.line and (not code or code in warned)
            )
            reason = next(reasons, "")
            self.count["of these explained"] += bool(reason)
            if not reason:
                also = f" ({', '.join(sorted(warned))})" if warned else ""
                self.missed.append(f"{name}: {verdict.line[:200]}{also}")
        if codes and not refused:
            for code in codes:
                self.stricter[code][name.partition(": ")[2]] += 1


def main() -> int:
    """Print the table; returns 1 if something is missed."""
    tally, engines = Tally(), Verdicts(seconds=20)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "mutant.xml"
        for model, weights in sources(sys.argv[1:]):
            target.with_suffix(".bin").write_bytes(weights)
            title = f"{model.parent.parent.name}/{model.parent.name}/{model.name}"
            for name, text in mutants(model):
                target.write_bytes(text)
                found = list(validate(target))
                codes = {item.code for item in found if item.severity is Severity.ERROR}
                warned = {item.code for item in found if item.severity is Severity.WARNING}
                verdict = engines.of("openvino", target)
                tally.add(f"{title}: {name}", verdict, codes, warned)
    engines.close()
    for kind, number in sorted(tally.count.items()):
        print(f"{number:6} {kind}")
    print(f"\nmissed: {len(tally.missed)}")
    print("\n".join(f"  {line}" for line in tally.missed))
    print("\nerrors of ours in mutants that OpenVINO accepts, by code:")
    for code, names in sorted(tally.stricter.items()):
        examples = ", ".join(name for name, _ in names.most_common(3))
        print(f"  {code} {names.total():5}  {examples}")
    return 1 if tally.missed else 0


if __name__ == "__main__":
    sys.exit(main())
