"""A real Chromium for the tests of pages; without Chromium these tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["PATIENCE", "Browser", "chromium"]

#: Run Chromium without a window, and without connections of its own.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)

#: The maximum time in seconds until a page has reacted; only slow machines need it.
PATIENCE = 60


#: The address space that Chromium reserves for JavaScript, whether it is used or not.
NEEDED = 1 << 40


def _address_space() -> int | None:
    """The limit of this process in bytes, or None if there is no limit or the system has no such
    limits.
    """
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


class Browser:
    """A page in Chromium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """Open a page and wait for its picture."""
        self.driver.get(path.resolve().as_uri())
        self.settle()

    def settle(self) -> None:
        """Wait until there is a picture."""
        self.wait("const s = document.querySelector('.status'); return Boolean(s && s.textContent)")

    def wait(self, script: str) -> None:
        """Wait until a script returns true."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, PATIENCE, 0.05).until(
            lambda driver: driver.execute_script(script)
        )

    def run(self, script: str, *arguments: Any) -> Any:
        """The result of a script."""
        return self.driver.execute_script(script, *arguments)

    def click(self, selector: str) -> None:
        """Click an element; for a part of a picture, the event is sent by a script."""
        self.run(
            "document.querySelector(arguments[0])"
            ".dispatchEvent(new MouseEvent('click', {bubbles: true}))",
            selector,
        )

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that match."""
        found = self.run(
            "return [...document.querySelectorAll(arguments[0])].map(item => item.textContent)",
            selector,
        )
        return [str(item) for item in found]

    def complaints(self) -> list[str]:
        """The errors and warnings on the console since the last call."""
        return [str(item["message"]) for item in self.driver.get_log("browser")]


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Start Chromium with an empty profile in `folder`; skip the test if Chromium is missing."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("chromium and chromedriver (Debian: chromium, chromium-driver) are missing")
    limit = _address_space()
    if limit is not None and limit < NEEDED:
        pytest.skip(
            f"chromium reserves more address space than the {limit:,} bytes it may (ulimit)"
        )
    pytest.importorskip("selenium", reason="needs selenium: pip install selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(running)
    finally:
        running.quit()
