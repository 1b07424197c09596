"""Two models on one page: which of their nodes correspond, and which differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from irloop.comparison.diff import ModelDiff, diff
from irloop.comparison.pairing import Pairs
from irloop.graph.model import Model, Node
from irloop.pages.contents import Contents
from irloop.pages.page import page

__all__ = ["Places", "against", "changes_marked", "model_name", "model_names", "node_pairs"]

_MARKS = {"added": "new", "removed": "gone"}


def against(first: Model, second: Model) -> str:
    """The page of two models side by side; changes are marked, or nodes without a counterpart."""
    models = [first, second]
    names = model_names(models)
    sides = [Contents(model, name) for model, name in zip(models, names, strict=True)]
    pairs = node_pairs(models, sides)
    drawn = [side.data for side in sides]
    if first.dialect == second.dialect:
        changes_marked(diff(first, second), drawn, pairs)
    else:
        _unpaired_marked(pairs, drawn)
    return page({"title": " against ".join(names), "models": drawn, "pairs": pairs})


def model_name(model: Model) -> str:
    """The name of the file of a model without its folders, or of its graph."""
    source = model.source or ""
    return source.replace("\\", "/").rpartition("/")[2] or model.graph.name or "model"


def model_names(models: Sequence[Model]) -> list[str]:
    """The names of models, with a folder if their files are called the same."""
    names = [model_name(model) for model in models]
    if len(set(names)) == len(names):
        return names
    sources = [(model.source or "").replace("\\", "/").split("/") for model in models]
    return ["/".join(parts[-2:]) or name for parts, name in zip(sources, names, strict=True)]


def node_pairs(models: Sequence[Model], sides: Sequence[Contents]) -> list[list[int]]:
    """The numbers of nodes of two models that compute corresponding values, or return them."""
    first, second = (side.numbers for side in sides)
    twins: dict[int, int] = {}
    for node, twin in _pairs(models[0], models[1]):
        if node in first and twin in second:
            twins.setdefault(first[node], second[twin])
    # A node of the second model has one counterpart.
    taken = {twin: number for number, twin in reversed(twins.items())}
    return sorted([number, twin] for twin, number in taken.items())


def _pairs(first: Model, second: Model) -> Iterator[tuple[Node, Node]]:
    pairs = Pairs(first, second)
    for value, name in pairs.of_second.items():
        yield pairs.first_by_name[name].producer, value.producer
    yield from pairs.loops()
    yield from zip(first.graph.results, second.graph.results, strict=False)


def changes_marked(
    result: ModelDiff, drawn: Sequence[dict[str, Any]], pairs: Iterable[Sequence[int]] | None
) -> list[tuple[int, str]]:
    """Mark the changed nodes in the data of two models, and their counterparts in `pairs`.

    Returns the place of each change as the index of a model and the path of a node in it; the path
    is empty where no drawn node contains the change.
    """
    places = []
    known = [Places(data) for data in drawn]
    for data in drawn:
        data["marks"] = {}
    for change in result.changes:
        # A removed node is in the first model, any other changed node in the last.
        side = 0 if change.kind == "removed" else max(len(drawn) - 1, 0)
        path = known[side].shown(change.path) if known else ""
        if path:
            drawn[side]["marks"][path] = _MARKS.get(change.kind, "changed")
        places.append((side, path))
    for number, twin in pairs or ():
        path = drawn[1]["nodes"][twin]["path"]
        if drawn[1]["marks"].get(path) == "changed":
            drawn[0]["marks"].setdefault(drawn[0]["nodes"][number]["path"], "changed")
    return places


def _unpaired_marked(pairs: list[list[int]], drawn: Sequence[dict[str, Any]]) -> None:
    for at, (data, mark) in enumerate(zip(drawn, ("gone", "new"), strict=True)):
        known = {pair[at] for pair in pairs}
        data["marks"] = {
            node["path"]: mark
            for number, node in enumerate(data["nodes"])
            if number not in known and node["kind"] in ("operation", "owner")
        }


class Places:
    """The places of a drawn model: the paths of its nodes, and the readers of its constants."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._known = {node["path"] for node in data["nodes"]}
        inside = _Inside(data)
        readers: dict[int, str] = {}
        for node in data["nodes"]:
            for at, item in enumerate(node["inputs"]):
                if item is not None and "constant" in item and item["constant"] not in readers:
                    readers[item["constant"]] = inside.reader(node, at)["path"]
        constants = ((item["path"], readers.get(at)) for at, item in enumerate(data["constants"]))
        self._readers = {path: reader for path, reader in constants if reader is not None}

    def shown(self, path: str) -> str:
        """Return the path of the drawn node that contains the location `path`.

        A location may name a node, a constant, a body of a node or a wire. The result is empty if
        no drawn node contains it.
        """
        if path in self._known:
            return path
        place = path.partition(" (")[0]
        while place and place not in self._known:
            if place in self._readers:
                return self._readers[place]
            place = place.rpartition("/")[0]
        return place


class _Inside:
    """Finds the node in a body that reads an input of a loop or an If."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._nodes = data["nodes"]
        self._readers: dict[int, tuple[int, int]] = {}
        self._parameters: dict[tuple[int, int], int] = {}
        for number, graph in enumerate(data["graphs"]):
            for source, _, target, at in graph["edges"]:
                self._readers.setdefault(source, (target, at))
            for _, external, parameter, *_ in graph.get("in", ()):
                self._parameters[number, external] = parameter

    def reader(self, node: Any, position: int) -> Any:
        """The first node in the bodies of `node` that reads this input; without one, `node`."""
        while True:
            parameters = (self._parameters.get((body, position)) for body in node.get("bodies", ()))
            known = (item for item in parameters if item is not None and item in self._readers)
            parameter = next(known, None)
            if parameter is None:
                return node
            number, position = self._readers[parameter]
            node = self._nodes[number]
