"""The widgets of notebooks in a real browser, without a notebook."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from browser import chromium

#: Renders a widget by its module, and tells whether its picture is seen: before, while it runs, and after it has ended.
SEEN = """async ([module, still, traits]) => {
  document.body.innerHTML = `<div id="widget"></div><div class="${still}">the picture</div><div class="other">of another widget</div>`;
  const widget = (await import(`data:text/javascript;base64,${btoa(unescape(encodeURIComponent(module)))}`)).default;
  const model = { get: (name) => traits[name] ?? null, set() {}, save_changes() {}, on() {}, off() {} };
  const seen = () => [document.getElementsByClassName(still)[0].checkVisibility(), document.querySelector(".other").checkVisibility()];
  const before = seen();
  const end = widget.render({ model, el: document.getElementById("widget") });
  const running = [...seen(), document.getElementById("widget").childElementCount > 0];
  end();
  return [before, running, seen()];
}"""


def _shown(widget: Any) -> Any:
    page = chromium.new_page()
    try:
        return page.evaluate(
            SEEN,
            [widget._esm, widget.still, {name: getattr(widget, name) for name in widget.keys if name[0] != "_"} | {"layout": None}],
        )
    finally:
        page.close()


@pytest.mark.parametrize("kind", ["timeline", "explore", "diff"])
def test_a_widget_hides_its_picture_while_it_runs(kind: str) -> None:
    chromium.require()
    pytest.importorskip("anywidget")
    from resonate_core.notebook.diff_widget import DiffWidget

    store = rc.Store(clock=rc.ManualClock(start=1_767_225_600_000))
    store.jobs.enqueue("mail", id="m")
    other = store.fork()
    other.jobs.enqueue("mail", id="n")
    widget = {
        "timeline": lambda: rc.display.timeline(store).widget(),
        "explore": lambda: rc.display.explore(store),
        "diff": lambda: DiffWidget(rc.diff(store, other).to_dict(), {}),
    }[kind]()
    before, running, after = chromium.within(_shown, widget)
    assert before == [True, True] and running == [False, True, True] and after == [True, True]
