"""Partial ranges of a TensorIterator become a StridedSlice before the loop.

The expected values are sums of rows, computed by NumPy.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import irloop
from tests.rule_fixtures import RULES

#: A TensorIterator that adds up rows 1 to 5 of x, and one that adds up rows 5 down to 2.
FORWARDS, BACKWARDS = RULES / "irl619" / "bad_start.xml", RULES / "irl619" / "bad_backward_end.xml"

X = np.arange(12, dtype=np.float32).reshape(6, 2) ** 2
START = np.array([[0.5, -1]], np.float32)


def copied(source: Path, folder: Path, *edits: tuple[str, str]) -> Path:
    text = source.read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "model.xml"
    path.write_text(text)
    return path


def write(path: Path, fixed: irloop.Fixed) -> None:
    path.write_bytes(fixed.after)
    weights = path.with_suffix(".bin")
    weights.write_bytes((weights.read_bytes() if weights.exists() else b"") + fixed.added)


@pytest.mark.parametrize(
    ("source", "rows"), [(FORWARDS, [1, 2, 3, 4, 5]), (BACKWARDS, [5, 4, 3, 2])]
)
def test_openvino_then_reads_the_range(source: Path, rows: list[int], tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    path = copied(source, tmp_path)
    before = openvino.Core().compile_model(str(path), "CPU")([X, START])
    # OpenVINO starts at an end of the axis, which is right only for the second range.
    was_right = np.array_equal(before[1], START + X[rows].sum(axis=0, keepdims=True))
    assert was_right == (source == BACKWARDS)
    safe = irloop.fix(path)
    assert (safe.after, safe.added) == (safe.before, b"")
    (left,) = safe.left
    assert (left.code, "results change" in left.effect) == ("IRL619", not was_right)
    assert "24 bytes are appended to the .bin" in left.effect
    write(path, irloop.fix(path, unsafe=True))
    assert list(irloop.validate(path)) == []
    compiled = openvino.Core().compile_model(str(path), "CPU")
    for times in (1, -2):
        sums = START + np.cumsum((X * times)[rows], axis=0)
        for found in (compiled([X * times, START]), irloop.run(path, [X * times, START])):
            outputs = list(found.values())
            np.testing.assert_array_equal(outputs[0], sums)
            np.testing.assert_array_equal(outputs[1], sums[-1:])


def test_new_bytes_follow_the_existing_ones(tmp_path: Path) -> None:
    path = copied(FORWARDS, tmp_path)
    path.with_suffix(".bin").write_bytes(b"12345")
    fixed = irloop.fix(path, unsafe=True)
    # Three bytes fill up to a multiple of 8; then follow begin 1, end 6 and stride 1 along axis 0.
    assert fixed.added == bytes(3) + b"".join(n.to_bytes(8, "little") for n in (1, 6, 1))
    assert re.findall(r'offset="(\d+)"', fixed.after.decode()) == ["8", "16", "24"]


def test_two_ranges_of_one_loop_in_a_body(tmp_path: Path) -> None:
    """The layers and edges are added to the body that contains the loop."""
    b = irloop.Builder("openvino", opset=5)
    x, y = b.input("x", "f32", (6, 2)), b.input("y", "f32", (2, 6))
    start = b.input("start", "f32", (1, 2))
    with b.loop(2, name="outer") as outer:
        total = outer.state(start, name="total")
        with outer.tensor_iterator(name="inner") as inner:
            row = inner.slice(outer.invariant(x), axis=0, start=2, name="row")
            column = inner.slice(outer.invariant(y), axis=1, start=1, end=5, name="column")
            acc = inner.state(total, name="acc")
            turned = inner.op("Transpose", column, np.array([1, 0], np.int64))
            inner.next(acc, inner.op("Add", inner.op("Add", acc, row), turned))
            end = inner.last(acc)
        outer.next(total, end)
        last = outer.last(total)
    b.output("last", last)
    path = tmp_path / "model.xml"
    irloop.save_model(b.model(), path)
    fixed = irloop.fix(path, unsafe=True)
    assert [item.code for item in fixed.repairs].count("IRL619") == 2
    write(path, fixed)
    assert list(irloop.validate(path)) == []
    rng = np.random.default_rng(3)
    rows, columns = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((6, 2), (2, 6)))
    given = [rows, columns, START]
    wanted = START + 2 * (rows[2:].sum(axis=0) + columns[:, 1:5].sum(axis=1))
    np.testing.assert_array_equal(irloop.run(path, given)["last"], wanted)


def test_an_unknown_size_is_not_fixed(tmp_path: Path) -> None:
    old = '<data shape="6,2" element_type="f32"/>'
    path = copied(FORWARDS, tmp_path, (old, old.replace("6", "-1")))
    assert "IRL619" in [item.code for item in irloop.validate(path)]
    assert irloop.fix(path, unsafe=True).repairs == ()


def test_a_pointer_of_git_lfs_is_not_extended(tmp_path: Path) -> None:
    path = copied(FORWARDS, tmp_path)
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
    path.with_suffix(".bin").write_bytes(pointer)
    fixed = irloop.fix(path, unsafe=True)
    assert (fixed.repairs, fixed.added) == ((), b"")


def test_a_file_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    text = re.sub(r"<!--.*?-->|\n\s*", "", FORWARDS.read_text())
    path.write_text(text)
    fixed = irloop.fix(path, unsafe=True)
    write(path, fixed)
    assert b"\n" not in fixed.after
    found = list(irloop.run(path, [X, START]).values())
    np.testing.assert_array_equal(found[1], START + X[1:].sum(axis=0, keepdims=True))
