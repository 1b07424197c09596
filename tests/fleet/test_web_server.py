"""A sweep over the models that a web server lists and serves."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.fleet.conftest import Verdicts
from tests.fleet.test_driver import EXPECTED


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing to the output of the tests."""


@pytest.fixture
def address(zoo: Path) -> Iterator[str]:
    """The address of a server with the folder of models."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(zoo.parent)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/zoo/"
    server.shutdown()
    server.server_close()


def test_models_of_a_web_server(
    address: str,
    tmp_path: Path,
    irloop: Callable[..., subprocess.CompletedProcess[str]],
    verdicts: Callable[[Path | str], Verdicts],
) -> None:
    """Folders are listed, and the weights of an IR are fetched with it."""
    results = tmp_path / "results"
    done = irloop(
        "sweep", address, "-o", results, "--do", "validate,convert", "--workers", 1, no_proxy="*"
    )
    assert done.returncode == 1, done.stderr
    assert verdicts(results) == EXPECTED
    assert len(list((results / "models").rglob("*.onnx"))) == 2
