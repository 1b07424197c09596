"""Layers and positions: the rules of layered drawing, checked on random graphs."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from irloop.drawing.coordinates import horizontal
from irloop.drawing.layers import Edge, layered, ranks
from irloop.drawing.text import clipped, width

GAP = 10.0


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    """Vertices, and edges from lower to higher numbers."""
    count = draw(st.integers(1, 25))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), st.integers(0, 1))
    edges = draw(st.lists(pairs, max_size=40, unique=True))
    return count, [(a, b, output) for a, b, output in edges if a < b]


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_edges_lead_down_layer_by_layer(graph: tuple[int, list[Edge]]) -> None:
    count, edges = graph
    rank = ranks(count, edges, {}, {})
    assert all(rank[source] < rank[target] for source, target, _ in edges)
    found = layered(rank, edges)
    layer_of = {vertex: at for at, layer in enumerate(found.layers) for vertex in layer}
    assert sorted(layer_of) == list(range(len(found.above)))
    for (source, target, _), route in zip(edges, found.routes, strict=True):
        way = [layer_of[vertex] for vertex in (source, *route, target)]
        assert way == list(range(way[0], way[-1] + 1))


@settings(max_examples=200, deadline=None)
@given(graphs(), st.data())
def test_boxes_of_a_layer_do_not_overlap_and_keep_their_order(
    graph: tuple[int, list[Edge]], data: st.DataObject
) -> None:
    count, edges = graph
    found = layered(ranks(count, edges, {}, {}), edges)
    total = len(found.above)
    sizes = st.floats(1, 200, allow_nan=False)
    widths = data.draw(st.lists(sizes, min_size=total, max_size=total))
    bends = [vertex >= count for vertex in range(total)]
    places = horizontal(found.layers, found.above, found.below, widths, bends, GAP)
    for layer in found.layers:
        for left, right in pairwise(layer):
            apart = (widths[left] + widths[right]) / 2 + GAP
            assert places[right] - places[left] >= apart - 1e-6


def test_a_chain_is_a_straight_line() -> None:
    edges = [(0, 1, 0), (1, 2, 0), (0, 2, 0)]
    found = layered(ranks(3, edges, {}, {}), edges)
    assert found.layers[0] == [0]
    assert found.layers[2] == [2]
    # The long edge has one bend, next to vertex 1.
    assert sorted(found.layers[1]) == [1, 3]
    places = horizontal(
        found.layers, found.above, found.below, [20.0] * 4, [False] * 3 + [True], GAP
    )
    assert places[0] == places[2]


def test_two_edges_of_one_output_share_their_bends() -> None:
    edges = [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 0), (0, 3, 0), (0, 4, 0)]
    found = layered(ranks(5, edges, {}, {}), edges)
    assert found.routes[4] == found.routes[5][:2]
    assert len(found.above) == 5 + 3


def test_crossings_are_removed() -> None:
    # In the order of their numbers, 0 -> 3 and 1 -> 2 cross.
    edges = [(0, 3, 0), (1, 2, 0)]
    found = layered([0, 0, 1, 1], edges)
    (top, bottom) = found.layers
    assert [top.index(0) < top.index(1), bottom.index(3) < bottom.index(2)] in (
        [True, True],
        [False, False],
    )


def test_parameters_are_drawn_at_the_top_and_results_at_the_bottom() -> None:
    # 0 and 1 are parameters, 4 and 5 are results; 1 -> 5 passes the layers of 2 and 3.
    edges = [(0, 2, 0), (2, 3, 0), (3, 4, 0), (1, 5, 0)]
    assert ranks(6, edges, {0: 0, 1: 0}, {4: 0, 5: 0}) == [0, 0, 1, 2, 3, 3]


def test_a_source_is_drawn_directly_above_its_reader() -> None:
    # 3 reads nothing and is read by 4 only.
    edges = [(0, 1, 0), (1, 2, 0), (2, 4, 0), (3, 4, 0)]
    assert ranks(5, edges, {}, {}) == [0, 1, 2, 2, 3]


def test_widths_are_those_of_helvetica() -> None:
    # By the metrics of the font, i and l are 222 wide, W is 944 and a space 278, in units of
    # 1/1000.
    assert width("il", 10) == 4.44
    assert width("W ", 100) == 122.2


def test_long_texts_lose_their_middle() -> None:
    assert clipped("short", 5) == "short"
    assert clipped("abcdefghij", 5) == "ab…ij"
