"""The interactive timeline and the diff in Debian's Chromium: drawing, keys, the pointer, and accessibility.

Chromium opens a page, runs a script in it and prints what the script found: no driver, no port.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.notebook.js_bundle import bundle, stylesheet
from resonate_core.timeline.data import worker_colour
from resonate_core.timeline.page import json_script

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=20000",
    "--dump-dom",
]
SECOND = 1000
EVIL = '<img src=x onerror="window.stolen=1"></script>'
NAMES = ["ann", "bob", "é", "worker-17", "w1"]

START = """
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const found = {};
const violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
window.addEventListener("error", (event) => (found.error = String(event.message)));
const done = () => {
  found.violations = violations;
  const shown = document.createElement("pre");
  shown.id = "found";
  shown.textContent = JSON.stringify(found);
  document.body.append(shown);
};
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const texts = (selector, within = document) => all(selector, within).map((one) => one.textContent);
"""

TIMELINE = """
const host = document.querySelector("main");
const events = [];
for (const name of ["timeline-select", "timeline-at", "timeline-range", "timeline-mode"]) {
  host.addEventListener(name, (event) => events.push([name, event.detail.id ?? event.detail.at ?? event.detail.mode ?? null]));
}
const { render, colourOf, stateAt, changesOf, formatInstant, formatDuration } = views["timeline.js"];
const data = read("data");
const view = render(host, data);
const list = host.querySelector(".rt-view");
const press = (key) => list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
found.rows = texts(".rt-label .rt-name").length;
found.colours = read("names").map(colourOf);
found.options = all("[role=option]").length;
found.titled = host.querySelector("svg.rt-plot title").textContent;
found.instants = [formatInstant(1500, false), formatInstant(1767225600000, true), formatDuration(5430000), formatDuration(59999)];
found.state = stateAt(data.rows[0], 0);
found.before = stateAt(data.rows[0], -1);
found.changes = changesOf(data).slice(0, 3);
press("ArrowDown");
press("Enter");
found.selected = view.selected;
found.detail = host.querySelector(".rt-detail h3").textContent;
found.active = list.getAttribute("aria-activedescendant");
found.activeIsThere = document.getElementById(found.active) !== null;
press("ArrowLeft");
press("ArrowLeft");
found.at = view.at;
press("+");
found.zoomed = view.range[1] - view.range[0] < data.end - data.start;
press("0");
found.whole = view.range;
press("w");
found.lanes = texts(".rt-label-lane .rt-name");
press("w");
host.querySelector(".rt-search").value = "order";
host.querySelector(".rt-search").dispatchEvent(new Event("input"));
found.filtered = texts(".rt-label").length;
view.setFilter("");
press("t");
found.table = [all("tbody tr").length > 0, texts("thead th").slice(0, 3), document.activeElement.textContent];
view.setMode("rows");
found.events = events.map(([name]) => name);
const plot = host.querySelector(".rt-plot").getBoundingClientRect();
const at = { clientX: plot.left + plot.width / 2, clientY: plot.top + 13, bubbles: true, button: 0 };
host.querySelector(".rt-plot").dispatchEvent(new PointerEvent("pointermove", at));
found.tip = host.querySelector(".rt-tip").textContent;
host.querySelector(".rt-plot").dispatchEvent(new PointerEvent("pointerdown", at));
window.dispatchEvent(new PointerEvent("pointerup", at));
found.clicked = view.selected;
const narrow = { ...data, rows: data.rows.slice(0, 2) };
view.update(narrow);
found.updated = all("[role=option]").length;
view.update({ ...data, rows: [], folds: [], wakes: [] });
found.empty = host.querySelector(".rt-nothing")?.textContent;
view.update(data);
found.stolen = window.stolen ?? null;
found.styles = all("[style]").length;
axe.run(host, { resultTypes: ["violations"] }).then((result) => {
  found.axe = result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).slice(0, 2).join(" | ")}`);
  view.destroy();
  found.left = host.children.length;
  done();
}, (error) => { found.error = String(error); done(); });
"""

DIFF = """
const host = document.querySelector("main");
let chosen = null;
host.addEventListener("diff-select", (event) => (chosen = event.detail));
const view = views["diff.js"].render(host, read("data"));
found.head = host.querySelector(".rd-head").textContent;
found.items = texts(".rd-item summary");
found.hidden = host.querySelector(".rd-more").textContent;
host.querySelector(".rd-more").click();
found.more = all(".rd-item").length;
const first = host.querySelector(".rd-changed details");
first.querySelector("summary").click();
first.open = true;
first.dispatchEvent(new Event("toggle"));
found.table = texts("tr", first).slice(0, 3);
found.chosen = chosen;
host.querySelector(".rd-search").value = "evil";
host.querySelector(".rd-search").dispatchEvent(new Event("input"));
found.filtered = all(".rd-item").length;
found.stolen = window.stolen ?? null;
axe.run(host, { resultTypes: ["violations"] }).then((result) => {
  found.axe = result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).slice(0, 2).join(" | ")}`);
  view.update({ ...read("data"), items: [], counts: { added: 0, removed: 0, changed: 0 } });
  found.empty = host.querySelector(".rd-head").textContent;
  done();
}, (error) => { found.error = String(error); done(); });
"""


def require() -> None:
    """Skips the test if there is no browser; fails it if everything is required."""
    if not CHROMIUM.exists() or find_spec("axe_playwright_python") is None:
        refuse = pytest.fail if os.environ.get("RESONATE_REQUIRE_BACK_ENDS") else pytest.skip
        refuse(f"there is no {CHROMIUM}, or no axe-playwright-python: scripts/setup --all installs both")


def shown(folder: Path, data: Any, script: str, *modules: str, dark: bool = False, size: str = "1000,800") -> dict[str, Any]:
    """Returns what a script finds in a page with the modules."""
    require()
    import axe_playwright_python

    axe = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    page = folder / "page.html"
    theme = ' data-theme="dark"' if dark else ""
    page.write_text(
        f'<!doctype html><html lang="en"{theme}><head><meta charset="utf-8"><title>Test</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'nonce-n'\">"
        f'<style nonce="n">body {{ background: {"#14181d" if dark else "#fff"} }}\n{stylesheet("timeline.css", "diff.css")}</style></head>'
        f'<body><main></main><script type="application/json" id="data">{json_script(data)}</script>'
        f'<script type="application/json" id="names">{json_script(NAMES)}</script>'
        f"<script>{axe}</script><script>{START}{bundle(*modules)}{script}</script></body></html>",
        encoding="utf-8",
    )
    command = [str(CHROMIUM), *FLAGS, f"--window-size={size}", f"--user-data-dir={folder / 'profile'}", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stdout[-2000:]
    from html import unescape

    return dict(json.loads(unescape(found[1])))


def story() -> dict[str, Any]:
    """An order with two jobs, a crash, many jobs of one type, and an id that contains HTML."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    store.record(trace)
    task = store.tasks.create("order", pid="ann", ttl=9 * SECOND, timeout=90 * SECOND, target="poll://any@g").task
    store.jobs.enqueue("charge", id="order.charge-the-customer-for-it", queue="pay", max_retries=1)
    store.tasks.suspend("order", task.version, ["order.charge-the-customer-for-it"])
    store.promises.create(EVIL, timeout=5 * SECOND)
    store.jobs.claim("pay", worker="bob", lease=4 * SECOND, start=1)
    for number in range(45):
        store.jobs.enqueue("mail", id=f"mail-{number}")
        (job,) = store.jobs.claim("default", worker="w1" if number % 2 else "ann", lease=9 * SECOND, start=1)
        clock.advance(SECOND)
        store.jobs.complete(job.id, job.version)
    events = [{"at": 5 * SECOND, "end": 9 * SECOND, "kind": "outage", "text": EVIL}]
    return rc.display.timeline_data(trace, title="A story", events=events)


@pytest.mark.parametrize(("dark", "size"), [(False, "1000,800"), (True, "400,800")], ids=["light", "dark phone"])
def test_a_timeline(tmp_path: Path, dark: bool, size: str) -> None:
    found = shown(tmp_path, story(), TIMELINE, "timeline.js", dark=dark, size=size)
    assert "error" not in found
    assert found["rows"] == found["options"] == 4  # order, its charge, the odd id, and the fold of the mails
    assert found["colours"] == [worker_colour(name) for name in NAMES]
    assert found["titled"] == "A story"
    assert found["instants"] == ["1.5 s", "2026-01-01 00:00:00 UTC", "1 h 31 min", "60 s"]
    assert found["state"] == {"state": "suspended", "span": {"state": "suspended", "start": 0, "end": None}, "since": 0}
    assert found["before"] is None and found["changes"] == [0, 1000, 2000]
    assert found["selected"] == found["detail"] == "order.charge-the-customer-for-it"
    assert found["activeIsThere"] and found["active"].endswith("-row-1")
    assert found["at"] == 43 * SECOND
    assert found["zoomed"] and found["whole"] is None
    assert found["lanes"] == ["ann", "", "bob", "w1"]  # ann held two at instant 0
    assert found["filtered"] == 2
    assert found["table"] == [True, ["Id", "Kind", "State"], "Table"]
    assert found["events"][:2] == ["timeline-select", "timeline-at"] and "timeline-range" in found["events"]
    assert "order" in found["tip"] and found["clicked"] == "order"
    assert found["updated"] == 2 and found["empty"] == "nothing to show"
    assert found["stolen"] is None and found["left"] == 0
    assert found["violations"] == []
    assert found["axe"] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_diff(tmp_path: Path, dark: bool) -> None:
    store = rc.Store(clock=rc.ManualClock(start=0))
    store.promises.create("a", timeout=5 * SECOND)
    store.promises.create("gone", timeout=5 * SECOND)
    fork = store.fork()
    fork.promises.resolve("a", 1)
    for number in range(210):
        fork.promises.create(f"new-{number:03}", timeout=5)
    fork.promises.create(f"evil {EVIL}", timeout=5)
    difference = rc.diff(store, fork, labels=("the store", "a fork")).to_dict()
    found = shown(tmp_path, difference, DIFF, "diff.js", dark=dark)
    assert "error" not in found
    assert found["head"] == "From the store at 0 ms to a fork at 0 ms: 211 added, 1 changed."
    assert found["items"][0] == "±promiseapending → resolved"
    assert (found["hidden"], found["more"]) == ("Show 12 of 12 more", 212)
    assert found["table"][0] == "MemberBeforeAfter" and found["chosen"] == {"kind": "promise", "id": "a"}
    assert found["filtered"] == 1 and found["stolen"] is None and found["violations"] == []
    assert found["empty"].endswith("no difference.")
    assert found["axe"] == []
