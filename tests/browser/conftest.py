"""Fixtures of the browser tests: pages that fail their test if anything goes wrong in them, and a shop to look at."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import axe_playwright_python
import chromium
import scene
from server.live_server import live

import resonate_core as rc

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
RUN_AXE = """async (rules) => {
  const found = await axe.run({ resultTypes: ["violations"], elementRef: false, ...(rules.length ? { runOnly: rules } : {}) });
  return found.violations.map((one) => `${one.id} (${one.impact}): ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(" | ")}`);
}"""
VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
window.errors = [];
window.addEventListener("unhandledrejection", (event) => window.errors.push(String(event.reason)));
"""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs tests that use a page in the browser's thread."""
    if "open_page" not in pyfuncitem.fixturenames:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    chromium.within(pyfuncitem.obj, **arguments)
    return True


def pytest_sessionfinish() -> None:
    """Ends the browser of this process."""
    chromium.close()


class Ui:
    """A page of the dashboard.

    Attributes:
        page: Playwright's page.
        base: The URL of the dashboard.
        expected: Parts of messages on the console that the test expects.
    """

    def __init__(self, page: Any, base: str) -> None:
        self.page, self.base = page, base
        self.expected: list[str] = []
        self.problems: list[str] = []
        page.set_default_timeout(10_000)
        page.on("console", lambda message: message.type in ("error", "warning") and self.problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def go(self, route: str = "overview") -> Any:
        """Opens a view and waits until it is read."""
        self.page.goto(f"{self.base}#/{route}")
        return self.ready()

    def ready(self) -> Any:
        """Waits until nothing loads any more."""
        self.page.wait_for_selector("main h1")
        self.page.wait_for_selector("main .loading", state="detached")
        return self.page

    def axe(self, *rules: str) -> list[str]:
        """What the rules of axe find in the page: these rules, or all."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        return list(self.page.evaluate(RUN_AXE, list(rules)))

    def check(self) -> None:
        """Fails if the page said or did anything that it should not."""
        assert [problem for problem in self.problems if not any(part in problem for part in self.expected)] == []
        if not self.page.is_closed():
            assert self.page.evaluate("[...(window.violations ?? []), ...(window.errors ?? [])]") == []
            assert self.page.evaluate("window.ran ?? null") is None, "a stored script ran"


Opener = Callable[..., Ui]


@pytest.fixture
def open_page() -> Iterator[Opener]:
    """Opens pages: `open_page(base, dark=, width=, …)`. Each has its own storage, and is checked at the end."""
    chromium.require()
    opened: list[tuple[Ui, Any]] = []

    def open(base: str, *, dark: bool = False, width: int = 1280, height: int = 860, **more: Any) -> Ui:
        options = {"color_scheme": "dark" if dark else "light", "timezone_id": "Europe/Berlin", "locale": "en-GB", "reduced_motion": "reduce", **more}
        context = chromium.browser().new_context(viewport={"width": width, "height": height}, **options)
        context.add_init_script(VIOLATIONS)
        ui = Ui(context.new_page(), base)
        opened.append((ui, context))
        return ui

    def end() -> list[AssertionError]:
        failed = []
        for ui, context in opened:
            try:
                ui.check()
            except AssertionError as error:
                failed.append(error)
            context.close()
        return failed

    yield open
    if opened:
        failed = chromium.within(end)
        if failed:
            raise failed[0]


@contextlib.contextmanager
def showing(store: Any, **options: Any) -> Iterator[str]:
    """Serves the dashboard of a store; gives its URL."""
    from resonate_core.ui import create_ui

    options.setdefault("role", "operate")
    app = create_ui(store, prefix="/ui", **options)
    with live(app) as running:
        try:
            yield f"http://127.0.0.1:{running.port}/ui/"
        finally:
            running.run(app.aclose())


class Shop:
    """The scene, served.

    Attributes:
        store: The store.
        clock: Its clock.
        base: The URL of the dashboard.
    """

    def __init__(self, store: Any, clock: Any, base: str) -> None:
        self.store, self.clock, self.base = store, clock, base


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """The scene in memory, for tests that only look."""
    clock = scene.clock()
    store = rc.Store(clock=clock)
    scene.fill(store, clock)
    with showing(store) as base:
        yield Shop(store, clock, base)


@pytest.fixture
def own_shop() -> Iterator[Shop]:
    """The last hours of the scene in memory, for one test that changes it."""
    clock = scene.clock()
    store = rc.Store(clock=clock)
    scene.fill(store, clock, hours=2)
    with showing(store) as base:
        yield Shop(store, clock, base)


@pytest.fixture(scope="module")
def empty() -> Iterator[str]:
    """The URL of the dashboard of an empty store."""
    with showing(rc.Store(clock=scene.clock())) as base:
        yield base
