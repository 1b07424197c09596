"""A sweep over the models that a web server lists and serves, with and without TLS."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.fleet.conftest import Verdicts
from tests.fleet.test_driver import EXPECTED

Irloop = Callable[..., subprocess.CompletedProcess[str]]
ReadVerdicts = Callable[[Path | str], Verdicts]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing to the output of the tests."""


class Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error of a client that rejects the certificate and ends its connection."""


@contextmanager
def serving(folder: Path, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Start a server with the files of a folder, and yield its port."""
    server = Server(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_models_of_a_web_server(
    zoo: Path, tmp_path: Path, irloop: Irloop, verdicts: ReadVerdicts
) -> None:
    """Folders are listed, and the weights of an IR are fetched with it."""
    results = tmp_path / "results"
    with serving(zoo.parent) as port:
        done = irloop(
            *("sweep", f"http://127.0.0.1:{port}/zoo/", "-o", results),
            *("--do", "validate,convert", "--workers", 1),
            no_proxy="*",
        )
    assert done.returncode == 1, done.stderr
    assert verdicts(results) == EXPECTED
    assert len(list((results / "models").rglob("*.onnx"))) == 2


def test_models_of_a_web_server_over_tls(
    zoo: Path, tmp_path: Path, irloop: Irloop, verdicts: ReadVerdicts
) -> None:
    """The certificate is checked against SSL_CERT_FILE; a server whose certificate is not in it
    causes an error.
    """
    import trustme

    authority = trustme.CA()
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    results = tmp_path / "results"
    with serving(zoo.parent, context) as port:
        address = f"https://127.0.0.1:{port}/zoo/"
        command = ("sweep", address, "-o", results, "--workers", 1)
        refused = irloop(*command, no_proxy="*")
        done = irloop(*command, no_proxy="*", SSL_CERT_FILE=str(trusted))
    assert refused.returncode == 2
    assert f"{address} cannot be read" in refused.stderr
    assert "certificate" in refused.stderr.lower()
    assert done.returncode == 1, done.stderr
    assert verdicts(results) == {key: EXPECTED[key] for key in EXPECTED if key[1] == "validate"}
