"""A server that answers the calls with which huggingface_hub lists and reads a repository."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["serving"]

REPOSITORY = "owner/zoo"


class _Hub(BaseHTTPRequestHandler):
    folder: Path

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if path.startswith(f"/api/models/{REPOSITORY}/tree/main"):
            self._tree(path.partition("/tree/main")[2].strip("/"))
        elif path.startswith(f"/api/models/{REPOSITORY}"):
            self._json({"id": REPOSITORY, "sha": "0" * 40, "siblings": []})
        elif path.startswith(f"/{REPOSITORY}/resolve/main/"):
            self._file(path.partition("/resolve/main/")[2])
        else:
            self._json({"error": "Repository not found"}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = [self.folder / name for name in json.loads(body)["paths"]]
        self._json([self._entry(path) for path in found if path.exists()])

    def _tree(self, name: str) -> None:
        folder = self.folder / name
        if not folder.is_dir():
            self._json({"error": "Entry not found"}, 404)
            return
        self._json([self._entry(path) for path in sorted(folder.iterdir())])

    def _entry(self, path: Path) -> dict[str, Any]:
        name = str(path.relative_to(self.folder))
        if path.is_dir():
            return {"type": "directory", "path": name, "oid": "1" * 40, "size": 0}
        data = path.read_bytes()
        # The identifier of a blob in git.
        oid = hashlib.sha1(b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()
        return {"type": "file", "path": name, "oid": oid, "size": len(data)}

    def _file(self, name: str) -> None:
        path = self.folder / name
        if not path.is_file():
            self._json({"error": "Entry not found"}, 404)
            return
        data = path.read_bytes()
        asked = self.headers.get("Range")
        if asked is None:
            self._send(200, data)
            return
        first, _, last = asked.removeprefix("bytes=").partition("-")
        part = data[int(first) : int(last or len(data)) + 1]
        self._send(206, part)

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode())

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing to the output of the tests."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder as the repository `owner/zoo`, and yield the address for HF_ENDPOINT."""
    hub = type("Hub", (_Hub,), {"folder": folder})
    server = ThreadingHTTPServer(("127.0.0.1", 0), hub)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
