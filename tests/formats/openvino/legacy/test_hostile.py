"""IR of versions 2 to 7 whose few bytes claim much, or contradict themselves."""

from __future__ import annotations

import tracemalloc
from contextlib import nullcontext
from pathlib import Path

import pytest

import irloop
from irloop.errors import ReadError

#: More elements than any machine has bytes.
HUGE = 1 << 44


def _port(number: int, *dims: int) -> str:
    sizes = "".join(f"<dim>{dim}</dim>" for dim in dims)
    return f'<port id="{number}">{sizes}</port>'


def _layer(
    kind: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], rest: str = ""
) -> str:
    """A net with one layer that reads inputs of these sizes."""
    count = len(inputs)
    sources = "".join(
        f'<layer id="{at}" name="in{at}" type="Input" precision="FP32">'
        f"<output>{_port(0, *dims)}</output></layer>"
        for at, dims in enumerate(inputs)
    )
    ins = "".join(_port(at, *dims) for at, dims in enumerate(inputs))
    outs = "".join(_port(count + at, *dims) for at, dims in enumerate(outputs))
    edges = "".join(
        f'<edge from-layer="{at}" from-port="0" to-layer="{count}" to-port="{at}"/>'
        for at in range(count)
    )
    return (
        f'<net name="m" version="6"><layers>{sources}<layer id="{count}" name="y" type="{kind}" '
        f'precision="FP32">{rest}<input>{ins}</input><output>{outs}</output></layer></layers>'
        f"<edges>{edges}</edges></net>"
    )


def _saved(folder: Path, text: str) -> Path:
    path = folder / "m.xml"
    path.write_text(text)
    path.with_suffix(".bin").write_bytes(bytes(4096))
    return path


LARGE = {
    "Range": _layer("Range", [(1,), (1,), (1,)], [(HUGE,)]),
    "Unique": _layer("Unique", [(HUGE,)], [(HUGE,)]),
    "CTCGreedyDecoder": _layer("CTCGreedyDecoder", [(2, HUGE, 3), (2, HUGE)], [(HUGE, 2, 1, 1)]),
    "LSTMSequence": _layer(
        "LSTMSequence",
        [(HUGE, 2, 1), (HUGE, 1), (HUGE, 1)],
        [(HUGE, 2, 1), (HUGE, 1), (HUGE, 1)],
        '<data hidden_size="1"/><blobs><weights offset="0" size="32"/></blobs>',
    ),
    "PriorBox": _layer(
        "PriorBox",
        [(1, 1, 4096, 4096), (1, 3, 64, 64)],
        [(1, 2, 4096 * 4096 * 4)],
        '<data min_size="4" variance="0.1"/>',
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_small_file_does_not_decide_how_much_memory_reading_takes(
    name: str, tmp_path: Path
) -> None:
    path = _saved(tmp_path, LARGE[name])
    irloop.read_model(_saved(tmp_path, _layer("ReLU", [(1,)], [(1,)])))  # imports what it needs
    _saved(tmp_path, LARGE[name])
    tracemalloc.start()
    # PriorBox is refused, the others are read.
    with pytest.raises(ReadError) if name == "PriorBox" else nullcontext():
        irloop.read_model(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (_layer("Unique", [(2, 2)], [(4,)]), "IRL404", "needs an input of 1 dimension"),
        (_layer("Range", [(1,), (1,), (1,)], [(2, 2)]), "IRL401", "output of another rank"),
        (
            _layer("Convert", [(2,)], [(2,)], '<data precision="string"/>'),
            "IRL111",
            "unknown precision",
        ),
        (
            _layer("Pooling", [(1, 1, 4, 4)], [(1, 1, 4)], '<data kernel="2,2" strides="1,1"/>'),
            "IRL401",
            "output of another rank",
        ),
        (_layer("Convert", [(2,)], [], '<data precision="I32"/>'), "IRL404", "too few outputs"),
        (
            _layer(
                "DetectionOutput",
                [(1, 8), (1, 4), (8,)],
                [(1, 1, 4, 7)],
                '<data num_classes="2" nms_threshold="0.5" keep_top_k="4"/>',
            ),
            "IRL404",
            "prior boxes of 3 dimensions",
        ),
        (
            _layer(
                "Convolution",
                [(1, 1, 4, 4)],
                [(1, 1, 4, 4)],
                '<data kernel="1,1" output="1" group="0"/><weights offset="0" size="4"/>',
            ),
            "IRL405",
            "group out of range",
        ),
        (
            _layer(
                "Convolution",
                [(1, 1, 4, 4)],
                [(1, 1, 4, 4)],
                '<data kernel="1,1" output="1" stride-x="x"/><weights offset="0" size="4"/>',
            ),
            "IRL115",
            "strides that cannot be read",
        ),
        (
            _layer(
                "ROIPooling",
                [(1, 1, 4, 4), (1, 5)],
                [(1, 1, 2, 2)],
                '<data pooled_h="2" pooled_w="2" spatial_scale="1" method="mean"/>',
            ),
            "IRL115",
            "method that has an unknown value",
        ),
    ],
)
def test_contradictions_are_refused_by_name(
    text: str, code: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ReadError) as caught:
        irloop.read_model(_saved(tmp_path, text))
    assert caught.value.diagnostics[0].code == code
    assert message in caught.value.message
