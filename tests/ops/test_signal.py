"""Fourier transforms: kernels and inference against the engines' own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.dialects.onnx import signal as onnx
from irloop.dialects.openvino import signal as ov
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph
from irloop.graph.types import ElementType, Shape, TensorType

OPCONF_TYPES = "DFT IDFT RDFT IRDFT STFT ISTFT"

BACKEND_OPS = "DFT STFT"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)


def test_dft_by_hand() -> None:
    """The transform of 1, 2 is 3, -1; with a third element of zero it is 3, 1 + 2w, 1 + 2w^2."""
    data = np.array([[1, 0], [2, 0]], np.float32)
    run = ov.DFT().kernel()
    assert run(data, np.array([0])).tolist() == [[3, 0], [-1, 0]]
    filled = run(data, np.array([-1]), np.array([3]))
    root = np.sqrt(3)
    expected = np.array([[3, 0], [0, -root], [0, root]])
    np.testing.assert_allclose(filled, expected, atol=1e-6)
    assert filled.dtype == np.float32


def test_inverse_real_dft_inverts_real_dft_of_two_axes() -> None:
    data = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    axes, sizes = np.array([1, 2]), np.array([3, 5])
    spectrum = ov.RDFT().kernel()(data, axes)
    assert spectrum.shape == (2, 3, 3, 2)
    back = ov.IRDFT().kernel()(spectrum, axes, sizes)
    np.testing.assert_allclose(back, data, atol=1e-5)


@pytest.mark.parametrize("center", [False, True])
def test_inverse_stft_undoes_stft(center: bool) -> None:
    """A window without zeros restores every sample that a frame covers."""
    signal = np.linspace(-1, 1, 20, dtype=np.float32)
    window = np.array([0.5, 1, 1.5, 1], np.float32)
    size, step = np.array(4), np.array(2)
    found = ov.STFT(transpose_frames=True).kernel()(signal, window, size, step)
    assert found.shape == (3, 9, 2)
    run = ov.ISTFT(center=center, normalized=False).kernel()
    back = run(found, window, size, step)
    np.testing.assert_allclose(back, signal[2:-2] if center else signal, atol=1e-5)
    longer = run(found, window, size, step, np.array(30))
    assert longer.shape == (30,)
    assert not longer[20:].any()


def test_a_onesided_inverse_dft_returns_real_numbers() -> None:
    half = np.array([[[6, 0], [-1.5, 0.8660254]]], np.float32)
    found = onnx.DFT17(inverse=1, onesided=1).kernel()(half, np.array(3))
    np.testing.assert_allclose(found[0, :, 0], [1, 2, 3], atol=1e-6)


@pytest.mark.parametrize(
    ("step", "size", "problem"),
    [
        (0, 4, ("is out of range", "1 or more", "0")),
        (2, 11, ("the frame is longer than the signal", "at most 10", "11")),
    ],
)
def test_stft_refuses_a_step_or_a_frame_that_does_not_fit(
    step: int, size: int, problem: tuple[str, str, str]
) -> None:
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(1, 10, 1)))
    with pytest.raises(InferenceError, match=problem[0]) as caught:
        b.emit(onnx.STFT(), x, b.i64(step), None, b.i64(size))
    (found,) = caught.value.diagnostics
    assert (found.expected, found.found) == problem[1:]
