"""Pages of the dashboard in a browser, and the servers that they read from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python

from resonate_core.ui import create_ui
from server.live_server import live

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
        page.set_default_timeout(60_000)
        page.add_init_script(VIOLATIONS)
        page.on(
            "console", lambda message: message.type in ("error", "warning") and self.problems.append(f"console: {message.text}")
        )
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def go(self, route: str = "overview") -> Any:
        """Opens a view and waits until it has loaded."""
        self.page.goto(f"{self.base}#/{route}")
        return self.ready()

    def ready(self) -> Any:
        """Waits until nothing loads any more."""
        self.page.wait_for_selector("main h1")
        self.page.wait_for_selector("main .loading", state="detached")
        return self.page

    def axe(self, *rules: str) -> list[str]:
        """Returns the violations that axe finds in the page, by these rules or by all."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        return list(self.page.evaluate(RUN_AXE, list(rules)))

    def check(self) -> None:
        """Fails if the page logged an error, or requested something that it must not."""
        problems = [problem for problem in self.problems if not any(part in problem for part in self.expected)]
        if not self.page.is_closed():
            problems += self.page.evaluate("[...(window.violations ?? []), ...(window.errors ?? [])]")
            if self.page.evaluate("'ran' in window"):
                problems.append("a stored script ran")
        if problems:
            raise AssertionError("\n".join(problems))

    def end(self) -> None:
        """Closes the page, and deletes what it stored in the browser."""
        if not self.page.is_closed():
            if self.page.url.startswith("http"):
                self.page.evaluate("localStorage.clear()")
            self.page.close()


Opener = Callable[..., Ui]


@contextlib.contextmanager
def showing(store: Any, **options: Any) -> Iterator[str]:
    """Serves the dashboard of a store; gives its URL."""
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
