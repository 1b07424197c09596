"""A page for each fault, with a picture of its minimal model and a test for other versions."""

from __future__ import annotations

import re
import textwrap
from contextlib import suppress
from inspect import cleandoc
from pathlib import Path
from tempfile import TemporaryDirectory

import irloop
from docs.generate.markdown import fenced, table, ticked
from docs.generate.pictures import drawn
from irloop.conformance.suite import write_case
from irloop.errors import InferenceError
from irloop.faults.case import Case
from irloop.faults.catalogue import ENGINES, NOT_MINIMAL, faults
from irloop.faults.fault import SECTIONS, Fault
from irloop.faults.measured import NOT_RUN, fixed_in, releases, spans

__all__ = ["index", "of_engine", "of_releases", "pages"]

_TITLES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


def pages() -> dict[str, str]:
    """A page for each fault, keyed by path."""
    return {f"hazards/{code.lower()}.md": _page(item) for code, item in faults().items()}


def index() -> str:
    """A table of the faults of each engine."""
    parts = []
    for engine in ENGINES:
        rows = [
            (
                f"[{item.code}]({item.code.lower()}.md)",
                ticked(item.title),
                item.effect.value,
                spans(engine, item.code),
                f"[{item.rule}](../rules/{item.rule.lower()}.md)" if item.rule else "",
            )
            for item in faults().values()
            if item.engine == engine
        ]
        head = ("code", "pattern", "effect", "measured in", "rule")
        parts += [f"## {_TITLES[engine]}", table(head, rows)]
    return "\n\n".join(parts)


def of_engine(engine: str) -> str:
    """A table of the faults of one engine: what happens, and what irloop does."""
    rows = []
    for item in faults().values():
        if item.engine != engine:
            continue
        texts = {
            name: " ".join(text.split())
            for name, text in _sections(cleandoc(item.__doc__ or "")).items()
        }
        link = f"[{item.code}](../hazards/{item.code.lower()}.md)"
        cells = (ticked(item.title), ticked(texts[SECTIONS[0]]), ticked(texts[SECTIONS[2]]))
        rows.append((link, *cells))
    return table(("fault", "pattern", "what happens", "what irloop does"), rows)


def of_releases(engine: str) -> str:
    """Two tables: how many faults each release of an engine has, and which it has."""
    known = [item for item in faults().values() if item.engine == engine]
    in_loops = {item.code for item in known if _has_a_body(item.smallest)}
    counts = []
    for release in releases(engine):
        has = [item.code for item in known if release.has(item.code)]
        loops = sum(code in in_loops for code in has)
        unread = sum(release.verdicts.get(item.code) == NOT_RUN for item in known)
        left = "" if release.left is None else str(len(release.left))
        numbers = (release.opset, loops, len(has) - loops, unread)
        counts.append((release.version, *map(str, numbers), left))
    rows = [
        (
            f"[{item.code}]({item.code.lower()}.md)",
            ticked(item.title),
            spans(engine, item.code),
            fixed_in(engine, item.code),
        )
        for item in known
    ]
    head = (
        *("release", "newest opset", "faults of loops and branches", "other faults", "not run"),
        "left by conversion",
    )
    return "\n\n".join(
        [table(head, counts), table(("code", "pattern", "measured in", "right since"), rows)]
    )


def _has_a_body(case: Case) -> bool:
    with TemporaryDirectory() as folder:
        model, _ = write_case(case, Path(folder))
        return any(node.bodies for node in model.graph.nodes)


def _page(fault: type[Fault]) -> str:
    measured = f"{_TITLES[fault.engine]} {spans(fault.engine, fault.code)}"
    parts = [
        f"# {fault.code}: {ticked(fault.title)}",
        f"{fault.effect.value} · measured in {measured}",
    ]
    for heading, text in _sections(cleandoc(fault.__doc__ or "")).items():
        parts += [f"## {heading}", ticked(text)]
    if fault.fix:
        parts += ["## Fix", ticked(fault.fix)]
    if fault.rule:
        rule = f"[{fault.rule}](../rules/{fault.rule.lower()}.md)"
        parts += ["## Found by", f"{rule}, in every `irloop validate`."]
    else:
        parts += ["## Found by", f"`irloop validate --engine {fault.engine}`"]
    command = f"irloop conformance {fault.engine} --case {fault.smallest.name}"
    parts += ["## The minimal model", _picture(fault.smallest)]
    parts += ["## Test your version", fenced(command, "sh")]
    if not fault.minimal:
        parts.append(NOT_MINIMAL)
    if fault.reported:
        parts += ["## Reported", fault.reported]
    return "\n\n".join(parts) + "\n"


def _sections(doc: str) -> dict[str, str]:
    headings = "|".join(map(re.escape, SECTIONS))
    _, *rest = re.split(rf"^({headings}):$", doc, flags=re.MULTILINE)
    texts = (textwrap.dedent(item.strip("\n")) for item in rest[1::2])
    return dict(zip(rest[::2], texts, strict=True))


def _picture(case: Case) -> str:
    with TemporaryDirectory() as folder:
        model, _ = write_case(case, Path(folder))
        with suppress(InferenceError):
            # Without types the picture has no shapes; a file with this fault may contradict its
            # shapes.
            irloop.infer(model)
        return drawn(model)
