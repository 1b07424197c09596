"""OVN156 and OVN102: values of a loop body in the memory of a Concat, or of what is split."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytest.importorskip("openvino")

from openvino import Model, save_model
from openvino import opset8 as ov

Array = np.ndarray[Any, np.dtype[Any]]
#: Computes the next values of a state of two and one of three numbers, and a value to stack. Gets
#: the functions of NumPy or OpenVINO, an invariant [2], a slice [1, 2], the two states, and the
#: iteration number [1].
Body = Callable[..., tuple[Any, Any, Any]]


class Of:
    """The operations of a body in NumPy."""

    concat = staticmethod(lambda *parts: np.concatenate(parts))
    negative = staticmethod(np.negative)
    reshape = staticmethod(lambda value, *dims: value.reshape(dims))
    split = staticmethod(lambda value, *sizes: np.split(value, np.cumsum(sizes)[:-1]))
    up_to = staticmethod(lambda value, end: value[:end])
    tile = staticmethod(np.tile)
    pad = staticmethod(np.pad)
    broadcast = staticmethod(lambda value, size: np.broadcast_to(value, [size]))
    gather = staticmethod(lambda value, *places: value[list(places)])


class OfOpenVino:
    """The operations of a body in OpenVINO."""

    concat = staticmethod(lambda *parts: ov.concat(list(parts), 0))
    negative = staticmethod(ov.negative)
    reshape = staticmethod(lambda value, *dims: ov.reshape(value, np.array(dims), False))
    split = staticmethod(
        lambda value, *sizes: ov.variadic_split(value, np.array(0), np.array(sizes)).outputs()
    )
    up_to = staticmethod(lambda value, end: ov.slice(value, [0], [end], [1], [0]))
    tile = staticmethod(lambda value, times: ov.tile(value, np.array([times])))
    pad = staticmethod(
        lambda value, more: ov.pad(value, np.array([more]), np.array([more]), "constant")
    )
    broadcast = staticmethod(lambda value, size: ov.broadcast(value, np.array([size])))
    gather = staticmethod(lambda value, *places: ov.gather(value, np.array(places), np.array(0)))


def invariant(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.concat(v, i))


def viewed(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.concat(f.reshape(v, 1, 2), s))


def concatenated_twice(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.concat(f.concat(v, i), g))


def reshaped_after(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.reshape(f.concat(v, h), 2, 2))


def cut_at_its_end(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.up_to(f.concat(v, i), 9))


def tiled_once(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.tile(f.concat(v, i), 1))


def padded_by_nothing(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.pad(f.concat(v, i), 0))


def broadcast_to_its_size(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.broadcast(f.concat(v, i), 3))


def gathered_in_order(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, g, f.negative(f.gather(f.concat(v, i), 0, 1, 2))


def unchanged_state(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return h, f.negative(f.concat(i, h)), g


def next_state(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    return f.negative(h), f.concat(h, i), f.negative(g)


def exchanged_parts(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    a, b = f.split(g, 2, 1)
    return a, f.concat(h, b), f.negative(g)


def changed_parts(f: Any, v: Any, s: Any, h: Any, g: Any, i: Any) -> tuple[Any, Any, Any]:
    a, b = f.split(g, 2, 1)
    return f.negative(a), f.concat(h, b), f.negative(g)


BODIES = (
    *(invariant, viewed, concatenated_twice, reshaped_after),
    # OpenVINO removes what has no effect, so that these bodies compute in the memory of the Concat.
    *(cut_at_its_end, tiled_once, padded_by_nothing, broadcast_to_its_size),
    gathered_in_order,
    *(unchanged_state, next_state, exchanged_parts, changed_parts),
)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def loop(body: Body) -> Model:
    """A Loop of four iterations around a body."""
    outer = [ov.parameter(dims, F32) for dims in ([2], [4, 2], [2], [3])]
    own = [ov.parameter(dims, F32) for dims in ([2], [1, 2], [2], [3])]
    number = ov.parameter([1], np.int64)
    h, g, value = body(OfOpenVino, *own, ov.convert(number, "f32"))
    results = [ov.result(item) for item in (ov.constant(True), h, g)]
    results.append(ov.result(ov.unsqueeze(value, ov.constant(np.array([0])))))
    node = ov.loop(ov.constant(np.array(4)), ov.constant(True))
    node.set_function(Model(results, [*own, number], "body"))
    node.set_special_body_ports([4, 0])
    node.set_invariant_input(own[0], ov.abs(outer[0]).output(0))
    node.set_sliced_input(own[1], outer[1].output(0), 0, 1, 1, -1, 0)
    for at in (1, 2):
        node.set_merged_input(own[at + 1], outer[at + 1].output(0), results[at].output(0))
    found = [node.get_iter_value(results[at].output(0), -1) for at in (1, 2)]
    found.append(node.get_concatenated_slices(results[3].output(0), 0, 1, 1, -1, 0))
    return Model([ov.result(item) for item in found], outer)


def computed(body: Body, given: list[Array]) -> list[Array]:
    """The outputs of `loop`, by NumPy."""
    x, slices, h, g = given
    values = []
    for at in range(4):
        h, g, value = body(Of, np.abs(x), slices[at : at + 1], h, g, np.array([at], F32))
        values.append(value)
    return [h, g, np.stack(values)]


def drawn(seed: int) -> list[Array]:
    draw = np.random.default_rng(seed).standard_normal
    return [draw(dims).astype(F32) for dims in ([2], [4, 2], [2], [3])]


@needs_engines
@pytest.mark.parametrize("body", BODIES)
def test_values_that_share_memory_are_copied(body: Body, engines: Engines, tmp_path: Path) -> None:
    path, repaired = tmp_path / "model.xml", tmp_path / "repaired.xml"
    save_model(loop(body), path, compress_to_fp16=False)
    codes = {item.code for item in irloop.validate(path, engines=["openvino"])}
    assert codes & {"OVN101", "OVN102", "OVN156"}
    assert not all(are_right(body, path, engines, tmp_path))
    irloop.save_model(irloop.transform(path, ["body_barriers"])[0], repaired)
    assert all(are_right(body, repaired, engines, tmp_path))


def are_right(body: Body, path: Path, engines: Engines, folder: Path) -> list[bool]:
    """Whether each output of two inferences in one compiled model is right."""
    sets = [drawn(1), drawn(2)]
    found = engines.run_all("openvino", path, sets, folder)
    return [
        bool(np.array_equal(output, expected))
        for given, outcome in zip(sets, found, strict=True)
        for output, expected in zip(outcome, computed(body, given), strict=True)
    ]


@needs_engines
def test_the_ir_of_an_onnx_loop_copies_a_captured_value(engines: Engines, tmp_path: Path) -> None:
    text = """g (int64 m, int64 n, float[2] x, float[3] start)
            => (float[3] last, float[p,q,3] values) {
        go = Constant <value = bool {1}> ()
        last, values = Loop (m, go, start) <body = outer (int64 j, bool c, float[3] s) =>
            (bool on, float[3] t, float[q,3] row) {
            on = Identity (c)
            t, row = Loop (n, c, s) <body = inner (int64 i, bool d, float[3] u) =>
                (bool more, float[3] w, float[3] out) {
                two = Constant <value_int = 2> ()
                more = Less (i, two)
                one = Constant <value_ints = [1]> ()
                k = Reshape (i, one)
                f = CastLike (k, x)
                both = Concat <axis = 0> (x, f)
                out = Neg (both)
                w = Add (u, out)
            }>
        }>
    }"""
    trips = [(2, 5), (3, 2), (0, 4), (1, 0), (2, 2)]
    sets = [
        [i64(m), i64(n), np.array([at + 1, -at], F32), np.array([1, 2, 3], F32)]
        for at, (m, n) in enumerate(trips)
    ]
    agree(text, sets, engines, tmp_path)
