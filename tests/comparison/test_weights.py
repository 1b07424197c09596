"""Distances between weights, computed piece by piece, and differences only in bits."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import irloop
from irloop.comparison.causes import weights
from irloop.graph.mapped_file import MappedFile
from irloop.graph.tensor import ArrayTensor, MappedTensor
from irloop.graph.types import ElementType

SOURCE = Path(__file__).resolve().parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"


def test_distances_match_those_computed_by_hand() -> None:
    """The norms are 5 and sqrt(3^2 + 5.5^2) = 6.26498; the difference has norm 1.5, which is 0.3 of
    5.
    """
    old = ArrayTensor(np.array([3.0, 4.0, np.nan], np.float32))
    new = ArrayTensor(np.array([3.0, 5.5, np.nan], np.float32))
    assert weights.distance(old, new) == (
        "1 of 3 elements of f32[3] differ, by 1.5 at most; norm 5 -> 6.26498, "
        "that of the difference 0.3 of the old one"
    )


def test_changed_types_and_shapes_are_described() -> None:
    old, new = ArrayTensor(np.zeros(3, np.float32)), ArrayTensor(np.zeros((3, 1), np.float32))
    assert weights.distance(old, new) == "f32[3] -> f32[3,1]"
    assert weights.digest(old) != weights.digest(new)
    assert weights.digest(old) == weights.digest(ArrayTensor(np.zeros(3, np.float32)))
    assert weights.digest(old) != weights.digest(ArrayTensor(np.zeros(3, np.int32)))


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        # The numbers differ by 1, which float64 cannot express here.
        (np.array([0, 2**60]), np.array([0, 2**60 + 1]), "1 of 2 elements of i64[2] differ"),
        (np.array([2**60]), np.array([2**60 + 1]), "1152921504606846976 -> 1152921504606846977"),
        (np.array([0.0]), np.array([-0.0]), "no element of f64[1] differs in value"),
        (
            np.array([0.0, 0.0]),
            np.array([2.0, 0.0]),
            "by 2 at most; norm 0 -> 2, that of the difference inf",
        ),
        (
            np.array([np.inf, 0.0]),
            np.array([1.0, 0.0]),
            "1 of 2 elements of f64[2] differ, by inf at most",
        ),
        (np.array([np.inf]), np.array([1.0]), "inf -> 1.0"),
        (np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 3], ml_dtypes.bfloat16), "1 of 2"),
        (np.array([True, False]), np.array([True, True]), "1 of 2 elements of boolean[2] differ"),
        (np.array([1, 2], np.complex64), np.array([1, 2j], np.complex64), "by 2.83 at most"),
        (np.array([1.0, 0.0]), np.array([2.0, 0.0]), "by 1 at most; norm 1 -> 2"),
        (np.array(1.0), np.array(2.0), "1.0 -> 2.0"),
        (np.array([255, 7], np.uint8), np.array([0, 7], np.uint8), "by 255 at most"),
    ],
)
def test_distances_are_measured_in_every_element_type(
    old: weights.Array, new: weights.Array, text: str
) -> None:
    assert text in weights.distance(ArrayTensor(old), ArrayTensor(new))


def test_distances_of_4_bit_constants_are_measured_by_element(tmp_path: Path) -> None:
    """0x21 contains 1 (in the low bits) and 2."""
    path = tmp_path / "w.bin"
    path.write_bytes(b"\x21\x31")
    file = MappedFile(path)
    old, new = (MappedTensor(file, at, ElementType.U4, (2,)) for at in (0, 1))
    assert weights.distance(old, new).startswith("1 of 2 elements of u4[2] differ, by 1 at most")


def test_a_model_that_is_written_again_does_not_differ_even_in_metadata(tmp_path: Path) -> None:
    irloop.save_model(irloop.read_model(SOURCE), tmp_path / "again.xml")
    assert irloop.diff(SOURCE, tmp_path / "again.xml", metadata=True).changes == ()
    converted, _ = irloop.convert(SOURCE)
    irloop.save_model(converted, tmp_path / "m.onnx")
    irloop.save_model(irloop.read_model(tmp_path / "m.onnx"), tmp_path / "again.onnx")
    found = irloop.diff(tmp_path / "m.onnx", tmp_path / "again.onnx", metadata=True)
    assert found.changes == ()


def test_metadata_on_request() -> None:
    old, new = irloop.read_model(SOURCE), irloop.read_model(SOURCE)
    new.metadata["origin"] = "elsewhere"
    assert irloop.diff(old, new).changes == ()
    found = irloop.diff(old, new, metadata=True)
    assert [(item.kind, item.path) for item in found.changes] == [("metadata", "origin")]
    assert not found.same


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in the units of Linux")
def test_weights_do_not_have_to_fit_into_memory(tmp_path: Path) -> None:
    """Two constants of 256 MB are compared in less memory than one of them needs."""
    path = tmp_path / "w.bin"
    count = 1 << 26
    with path.open("wb") as file:
        file.truncate(count * 8)
        file.seek(count * 8 - 4)
        file.write(np.float32(3).tobytes())
    code = f"""
import resource
from irloop.comparison.causes import weights
from irloop.graph.mapped_file import MappedFile
from irloop.graph.tensor import MappedTensor
from irloop.graph.types import ElementType
file = MappedFile({str(path)!r})
old, new = (MappedTensor(file, at * {count * 4}, ElementType.F32, ({count},)) for at in (0, 1))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert weights.digest(old) != weights.digest(new)
print(weights.distance(old, new))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    text, grown = done.stdout.splitlines()
    assert re.match(rf"1 of {count} elements of f32\[{count}\] differ, by 3 at most", text)
    assert int(grown) < 200 * 1024
