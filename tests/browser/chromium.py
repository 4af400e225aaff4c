"""Debian's Chromium, driven by Playwright in a thread of its own.

Playwright's synchronous API keeps an event loop in its thread. The other tests of a process call `asyncio.run`, which a running loop
refuses: so the browser, its pages and the tests that use them live in one thread beside the main one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

EXECUTABLE = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--font-render-hinting=none", "--renderer-process-limit=1",
]  # fmt: skip

_thread: ThreadPoolExecutor | None = None
_browser: Any = None
_context: Any = None
_driver: Any = None


def missing() -> str | None:
    """Returns why no browser can be started here, or None."""
    if not os.path.exists(EXECUTABLE):
        return f"there is no {EXECUTABLE}; scripts/setup --all installs it"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed (extra dev)"
    return None


def require() -> None:
    """Skips the test if there is no browser; fails it if everything is required."""
    why = missing()
    if why is not None:
        refuse = pytest.fail if os.environ.get("RESONATE_REQUIRE_BACK_ENDS") else pytest.skip
        refuse(why)


def within(function: Callable[..., T], *args: Any, **more: Any) -> T:
    """Runs a function in the browser's thread."""
    global _thread
    if _thread is None:
        _thread = ThreadPoolExecutor(1, "browser")
    return _thread.submit(function, *args, **more).result(timeout=300)


def browser() -> Any:
    """The browser of this process; called in its thread."""
    global _browser, _driver
    if _browser is None:
        from playwright.sync_api import sync_playwright

        _driver = sync_playwright().start()
        _browser = _driver.chromium.launch(executable_path=EXECUTABLE, args=ARGUMENTS, timeout=120_000)
    return _browser


def new_page(width: int = 1280, height: int = 860, *, dark: bool = False, permissions: tuple[str, ...] = ()) -> Any:
    """A page. All share one context, so that the files of a dashboard are read and compiled once."""
    global _context
    if _context is None:
        _context = browser().new_context(timezone_id="Europe/Berlin", locale="en-GB")
    if permissions:
        _context.grant_permissions(list(permissions))
    else:
        _context.clear_permissions()
    page = _context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    return page


def close() -> None:
    """Ends the browser and its thread."""
    global _thread, _browser, _context, _driver
    if _browser is not None:
        within(_end)
    if _thread is not None:
        _thread.shutdown()
    _thread = _browser = _context = _driver = None


def _end() -> None:
    _browser.close()
    _driver.stop()
