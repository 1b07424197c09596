"""Finds the models given by paths, folders and patterns, in order and without duplicates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from errno import EINVAL
from functools import lru_cache
from pathlib import Path

from irloop.errors import UsageError
from irloop.opening import SUFFIXES, open_regular, require_local, weights_beside

from .exclusion import Exclusion

__all__ = ["changed_models", "find_models"]

#: Models, and links to models outside the folder in which they were found.
Found = tuple[list[str], list[str]]


def find_models(
    paths: Sequence[str], exclusion: Exclusion | None = None, *, follow: bool = False
) -> Found:
    """Find the model files in files, folders and patterns.

    `exclusion` leaves out files and folders that `paths` do not name themselves.

    A link that the user names is followed. A link in a folder that leads out of the folder is
    listed separately, and read only with `follow`: the sender of a folder must not choose which
    files are read.

    Raises:
        UsageError: when a file, folder or pattern in `paths` matches nothing.
    """
    by_path: dict[str, str] = {}
    leaving: list[str] = []
    excluded = exclusion or Exclusion(respects_git=False)
    for path in paths:
        any_model = False
        for model, leaves in _models_of(path, excluded, follow=follow):
            any_model = True
            if leaves:
                leaving.append(model)
            else:
                by_path.setdefault(os.path.realpath(model), model)
        if not any_model:
            _require_no_model(path)
            fix = "give .xml or .onnx files"
            if excluded.left_out:
                fix = "Git ignores some of the files: name them, or add --no-respect-gitignore"
            raise UsageError(f"{path}: no model found", fix=fix)
    return list(by_path.values()), leaving


def _require_no_model(folder: str) -> None:
    """Refuse a folder that is a model of another format, with the command that exports it.

    Raises:
        UsageError: naming the format.
    """
    from irloop import read_model

    if not os.path.isdir(folder):
        return
    try:
        read_model(folder)
    except UsageError as error:
        if error.diagnostics[0].fix:
            raise


def changed_models(
    paths: Sequence[str], exclusion: Exclusion | None = None, *, follow: bool = False
) -> Found:
    """List the models to which the changed files in `paths` belong.

    `exclusion` has no effect, because `paths` name the files.

    A .bin belongs to the .xml of the same name. Files that do not exist any more, or are no models,
    are skipped. The second result lists models that are left out, because they or their weights are
    links to files outside their folder; with `follow`, no model is left out.
    """
    models: dict[str, str] = {}
    leaving: list[str] = []
    for path in paths:
        model = Path(path)
        if model.suffix.lower() == ".bin":
            model = model.with_suffix(".xml")
        if model.suffix.lower() not in SUFFIXES or not model.is_file():
            continue
        if not follow and _leaves(str(model), os.path.dirname(model)):
            leaving.append(str(model))
        elif _looks_like_model(str(model)):
            models.setdefault(os.path.realpath(model), str(model))
    return list(models.values()), leaving


def _leaves(model: str, root: str) -> bool:
    """Return whether a link on the way to the model or its weights file leads out of `root`.

    A link to a file that is hidden or no model counts as well: messages quote what is in it.
    """
    home = _real_folder(os.path.abspath(root))
    folder = Path(_real_folder(os.path.abspath(os.path.dirname(model))))
    # Nearly no file is a link, and following the path of each file takes longer than this question.
    links = [path for path in (model, weights_beside(model)) if os.path.islink(path)]
    places = [Path(os.path.realpath(path)) for path in links]
    if any(not place.is_relative_to(home) for place in (folder, *places)):
        return True
    if not os.path.islink(model):
        return False
    parts = places[0].relative_to(home).parts
    is_hidden = any(part.startswith(".") for part in parts)
    return is_hidden or places[0].suffix.lower() != os.path.splitext(model)[1].lower()


@lru_cache(maxsize=64)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _models_of(path: str, exclusion: Exclusion, *, follow: bool) -> Iterator[tuple[str, bool]]:
    """Yield each model, and whether a link to it leads out of the folder that was searched.

    Such a model is not opened, so it need not be one. With `follow`, and for a model that `path`
    names itself, the second value is False.
    """
    if os.path.isdir(path):
        yield from _models_in(path, path, exclusion, follow=follow)
        return
    if os.path.lexists(path):
        yield path, False
        return
    require_local(path)
    import glob

    if not glob.has_magic(path):
        raise UsageError(f"{path}: no such file")
    start = path
    while glob.has_magic(start):
        start = os.path.dirname(start)
    for match in sorted(glob.glob(path, recursive=True)):
        if exclusion.leaves_out_below(start, match):
            continue
        if os.path.isfile(match) and Path(match).suffix.lower() in SUFFIXES:
            yield match, not follow and _leaves(match, start)
        elif os.path.isdir(match) and "**" not in path:
            yield from _models_in(match, start, exclusion, follow=follow)


def _models_in(
    folder: str, root: str, exclusion: Exclusion, *, follow: bool
) -> Iterator[tuple[str, bool]]:
    seen: set[str] = set()
    for place, folders, files in os.walk(folder, followlinks=follow):
        # Links can form a cycle.
        folders[:] = [
            name
            for name in sorted(folders)
            if not exclusion.leaves_out(os.path.join(place, name), is_folder=True)
            and _is_new(place, name, seen, follow=follow)
        ]
        for path in (os.path.join(place, name) for name in sorted(files)):
            if Path(path).suffix.lower() not in SUFFIXES:
                continue
            if exclusion.leaves_out(path, is_folder=False):
                continue
            leaves = not follow and _leaves(path, root)
            if leaves or _looks_like_model(path):
                yield path, leaves


def _is_new(place: str, name: str, seen: set[str], *, follow: bool) -> bool:
    if not follow:
        return True
    path = os.path.realpath(os.path.join(place, name))
    known = path in seen
    seen.add(path)
    return not known


def _looks_like_model(path: str) -> bool:
    """Return whether a file with a suffix of models is a model, so far as its beginning tells.

    Folders contain other XML, too: an IR has a weights file, or starts with <net.
    """
    if not path.lower().endswith(".xml") or os.path.exists(weights_beside(path)):
        return True
    try:
        with open_regular(path) as file:
            return b"<net" in file.read(4096)
    except OSError as error:
        # A pipe or a device is not a model; an unreadable file may be one, and is reported.
        return error.errno != EINVAL
