"""A campaign without libFuzzer: the corpus, changed at random, through all that users do.

    python fuzz/campaign.py onnx --seconds 60 --seed 1

Each batch runs in a process of its own with limits of the system; what ends one is found by running
its inputs again one by one. Prints a JSON object with the counts; exit status 1 when something was
found, and the inputs are in `--output`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
BATCH = 50

#: Numbers that sizes, axes and counts go wrong with.
NUMBERS = (0, 1, -1, 2, 3, 7, 127, 128, 255, 1 << 16, 10**6, 10**9, 1 << 31, (1 << 31) - 1,
           -(1 << 31), 1 << 32, 1 << 62, (1 << 63) - 1, -(1 << 63))  # fmt: skip


def changed(data: bytes, draw: random.Random, kind: str) -> bytes:
    """The bytes of an input with a few of them changed."""
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        if not found:
            return b""
        at = draw.randrange(len(found))
        way = draw.random()
        if way < 0.35 and kind in ("ir", "settings"):
            found = bytearray(_other_word(bytes(found), draw))
        elif way < 0.35:
            # A varint of a protobuf, a field of a ZIP archive.
            found[at : at + 1] = _varint(draw.choice(NUMBERS))
        elif way < 0.6:
            found[at] = draw.randrange(256)
        elif way < 0.75:
            end = min(len(found), at + draw.randint(1, 16))
            del found[at:end]
        elif way < 0.9:
            start = draw.randrange(len(found))
            found[at:at] = found[start : start + draw.randint(1, 40)]
        else:
            found[at] ^= 1 << draw.randrange(8)
    return bytes(found)


def _other_word(data: bytes, draw: random.Random) -> bytes:
    """An attribute, a number or a tag in another's place."""
    words = list(re.finditer(rb'"[^"\n]*"|\d+|<[^>\n]*>', data))
    if not words:
        return data
    one, other = draw.choice(words), draw.choice(words)
    new = other.group()
    if draw.random() < 0.6 and one.group()[:1] != b"<":
        new = str(draw.choice(NUMBERS)).encode()
        new = b'"' + new + b'"' if one.group()[:1] == b'"' else new
    return data[: one.start()] + new + data[one.end() :]


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    found = bytearray()
    while True:
        found.append(number & 127 | (128 if number > 127 else 0))
        number >>= 7
        if not number:
            return bytes(found)


def worker(kind: str, files: list[str]) -> None:
    """Run inputs, and tell of each that its turn has come and what it did."""
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    sys.path.insert(0, str(Path(__file__).parent))
    import harness

    suffix = {"ir": ".xml", "onnx": ".onnx", "npz": ".npz"}[kind]
    path = harness.folder / f"m{suffix}"
    path.with_suffix(".bin").write_bytes(bytes(range(256)) * 256)
    for file in files:
        path.write_bytes(Path(file).read_bytes())
        begun = time.monotonic()
        try:
            if kind == "npz":
                harness.attempt(lambda: harness.irloop.read_arrays(path))
            else:
                harness.everything(path)
            found = ""
        except BaseException as error:
            cause = error.__cause__ or error
            place = cause.__traceback__
            while place is not None and place.tb_next is not None:
                place = place.tb_next
            where = place.tb_frame.f_code.co_filename.rpartition("/irloop/")[2] if place else ""
            line = place.tb_lineno if place else 0
            found = f"{type(cause).__name__}@{where}:{line}"
        print(json.dumps([file, found, time.monotonic() - begun]), flush=True)


def main() -> int:
    """Run a campaign."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("ir", "onnx", "npz"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("found"))
    parser.add_argument("--worker", nargs="*")
    options = parser.parse_args()
    if options.worker is not None:
        worker(options.kind, options.worker)
        return 0
    seeds = [path.read_bytes() for path in sorted((CORPUS / options.kind).iterdir())]
    options.output.mkdir(parents=True, exist_ok=True)
    draw = random.Random(options.seed)  # noqa: S311
    end = time.monotonic() + options.seconds
    counts: dict[str, int] = {}
    inputs = 0
    while time.monotonic() < end:
        files = []
        for number in range(BATCH):
            file = options.output / f"input{number}"
            file.write_bytes(changed(draw.choice(seeds), draw, options.kind))
            files.append(str(file))
        inputs += _batch(options.kind, files, counts, options.output)
    for file in options.output.glob("input*"):
        file.unlink()
    report = {"kind": options.kind, "seed": options.seed, "inputs": inputs, "found": counts}
    print(json.dumps(report))
    return 1 if counts else 0


def _batch(kind: str, files: list[str], counts: dict[str, int], output: Path) -> int:
    left = list(files)
    while left:
        command = [sys.executable, "-W", "ignore", __file__, kind, "--worker", *left]
        try:
            # Our own program and files.
            done = subprocess.run(  # noqa: S603
                command, stdout=subprocess.PIPE, timeout=20 + 6 * len(left),
                                  stderr=subprocess.DEVNULL, check=False)  # fmt: skip
            lines, ended = done.stdout, f"status {done.returncode}"
        except subprocess.TimeoutExpired as error:
            lines, ended = error.stdout or b"", "hang"
        rows = [json.loads(line) for line in lines.splitlines()]
        for file, found, seconds in rows:
            if found or seconds > 10:
                _keep(file, found or "slow", counts, output)
        left = left[len(rows) :]
        if left:
            # The first that gave no answer ended the process.
            _keep(left.pop(0), ended, counts, output)
    return len(files)


def _keep(file: str, found: str, counts: dict[str, int], output: Path) -> None:
    counts[found] = counts.get(found, 0) + 1
    if counts[found] == 1:
        name = re.sub(r"\W+", "_", found)
        (output / f"found_{name}").write_bytes(Path(file).read_bytes())


if __name__ == "__main__":
    sys.exit(main())
