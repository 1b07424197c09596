"""Finds the models given by paths, folders and patterns, in order and without duplicates."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from errno import EINVAL
from pathlib import Path

from irloop.errors import UsageError
from irloop.files import open_regular

__all__ = ["changed_models", "find_models"]

_SUFFIXES = (".xml", ".onnx")

#: Models, and links to models outside the folder in which they were found.
Found = tuple[list[str], list[str]]


def find_models(paths: Sequence[str], *, follow: bool = False) -> Found:
    """Find the model files in files, folders and patterns.

    A link that the user names is followed. A link in a folder that leads out of the folder is
    listed separately, and read only with `follow`: the sender of a folder must not choose which
    files are read.

    Raises:
        UsageError: when a file, folder or pattern in `paths` matches nothing.
    """
    found: dict[str, str] = {}
    leaving: list[str] = []
    for path in paths:
        any_model = False
        for model, root in _models_of(path, follow=follow):
            any_model = True
            if root is None or follow or not _leaves(model, root):
                found.setdefault(os.path.realpath(model), model)
            else:
                leaving.append(model)
        if not any_model:
            raise UsageError(f"{path}: no model found", fix="give .xml or .onnx files")
    return list(found.values()), leaving


def changed_models(paths: Sequence[str], *, follow: bool = False) -> Found:
    """List the models to which the changed files in `paths` belong.

    A .bin belongs to the .xml of the same name. Files that do not exist any more, or are no models,
    are skipped. The second result lists models that are left out, because they or their weights are
    links to files outside their folder; with `follow`, no model is left out.
    """
    found: dict[str, str] = {}
    leaving: list[str] = []
    for path in paths:
        model = Path(path)
        if model.suffix.lower() == ".bin":
            model = model.with_suffix(".xml")
        if not model.is_file() or not _looks_like_model(str(model)):
            continue
        if follow or not _leaves(str(model), os.path.dirname(model)):
            found.setdefault(os.path.realpath(model), str(model))
        else:
            leaving.append(str(model))
    return list(found.values()), leaving


def _leaves(model: str, root: str) -> bool:
    """True when the model or its weights file is a link to a file outside `root`."""
    # Nearly no file is a link, and following the path of each file takes longer than this question.
    links = [path for path in (model, os.path.splitext(model)[0] + ".bin") if os.path.islink(path)]
    return any(
        not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)) for path in links
    )


def _models_of(path: str, *, follow: bool) -> Iterator[tuple[str, str | None]]:
    """Yield each model with the folder that was searched.

    The folder is None if `path` is the model itself.
    """
    if os.path.isdir(path):
        yield from _with_root(_models_in(path, follow=follow), path)
        return
    if os.path.lexists(path):
        yield path, None
        return
    import glob

    if not glob.has_magic(path):
        raise UsageError(f"{path}: no such file")
    start = path
    while glob.has_magic(start):
        start = os.path.dirname(start)
    for match in sorted(glob.glob(path, recursive=True)):
        if os.path.isfile(match) and Path(match).suffix.lower() in _SUFFIXES:
            yield match, start
        elif os.path.isdir(match) and "**" not in path:
            yield from _with_root(_models_in(match, follow=follow), start)


def _with_root(models: Iterable[str], root: str) -> Iterator[tuple[str, str]]:
    for model in models:
        yield model, root


def _models_in(folder: str, *, follow: bool) -> Iterator[str]:
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=follow):
        # Links can form a cycle.
        folders[:] = [name for name in sorted(folders) if _is_new(place, name, seen, follow=follow)]
        paths = (os.path.join(place, name) for name in sorted(files))
        yield from (path for path in paths if _looks_like_model(path))


def _is_new(place: str, name: str, seen: set[str], *, follow: bool) -> bool:
    if not follow:
        return True
    path = os.path.realpath(os.path.join(place, name))
    known = path in seen
    seen.add(path)
    return not known


def _looks_like_model(path: str) -> bool:
    suffix = Path(path).suffix.lower()
    if suffix != ".xml":
        return suffix in _SUFFIXES
    # Folders contain other XML, too: an IR has a weights file, or starts with <net.
    if os.path.exists(Path(path).with_suffix(".bin")):
        return True
    try:
        with open_regular(path) as file:
            return b"<net" in file.read(4096)
    except OSError as error:
        # A pipe or a device is not a model; an unreadable file may be one, and is reported.
        return error.errno != EINVAL
