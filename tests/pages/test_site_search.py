"""The search of the documentation works on pages that are opened from disk.

The search script is a worker, but Chromium starts no workers for such pages, so the site replaces
the worker by a class.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.browser import Browser, chromium

SHIM = Path(__file__).resolve().parents[2] / "docs/pages/javascripts/iframe-worker.js"

PAGE = """<!doctype html><body><p></p><script src="shim.js"></script><script>
const worker = new Worker("worker.js")
worker.addEventListener("message", event => {
  document.querySelector("p").textContent += event.data + ";"
})
for (const number of [1, 2]) worker.postMessage(number)
</script></body>"""

WORKER = 'addEventListener("message", event => postMessage(10 * event.data))'


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_a_page_from_disk_runs_its_worker(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "shim.js").write_bytes(SHIM.read_bytes())
    (tmp_path / "worker.js").write_text(WORKER)
    (tmp_path / "page.html").write_text(PAGE)
    browser.driver.get((tmp_path / "page.html").as_uri())
    browser.wait("return document.querySelector('p').textContent === '10;20;'")
    assert browser.run("return document.querySelector('p').textContent") == "10;20;"
