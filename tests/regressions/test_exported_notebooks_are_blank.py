"""An exported notebook was blank where a timeline or a diff stands.

Exporters show one form of each output and prefer a widget, whose scripts they load from other hosts. The picture is an output of its
own now, so that each export has it, also of a notebook that was saved with the states of its widgets.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WIDGET = "application/vnd.jupyter.widget-view+json"
CELLS = [
    """import io
import resonate_core as rc
clock = rc.ManualClock(start=1_767_225_600_000)
store = rc.Store(clock=clock)
trace = io.StringIO()
with store.record(trace):
    store.jobs.enqueue("mail", id="m", max_retries=1)
    (job,) = store.jobs.claim("default", worker="w1", lease=60_000, start=1)
    clock.advance(5_000)
    store.jobs.fail("m", job.version, "Down", "no")
other = store.fork()
_ = other.jobs.enqueue("mail", id="only-here")""",
    "rc.display.timeline(trace, title='One <b>mail</b>')",
    "rc.display.explore(store, 60_000)",
    "rc.display.timeline(store).widget()",
    "rc.diff(store, other)",
    "for shown in (rc.display.timeline(trace), rc.diff(store, other)):\n    display(shown)",
]
PICTURES, TABLES = 4, 2


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook after a run, with the states of its widgets, as `nbconvert --execute` has it."""
    pytest.importorskip("anywidget")
    pytest.importorskip("nbclient")
    v4: Any = pytest.importorskip("nbformat.v4")

    sys.path.insert(0, str(ROOT / "scripts" / "lib"))
    import notebook_outputs

    document = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, "")
        notebook_outputs.keep_kernels_in(tmp_path_factory.mktemp("kernel"))
        notebook_outputs.execute(document)
    assert document.metadata["widgets"], "the states of the widgets are there"
    return document


class Seen(HTMLParser):
    """What a page shows without its scripts: pictures that need no other host, and the cells of tables."""

    def __init__(self) -> None:
        super().__init__()
        self.pictures: list[str] = []
        self.cells: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        source = dict(attributes).get("src") or ""
        if tag == "img" and re.match("data:image/(png|svg)", source) and len(source) > 2_000:
            self.pictures.append(str(dict(attributes).get("alt", "")))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open == "td":
            self.cells.append(data)


@pytest.mark.parametrize("template", ["lab", "classic", "basic"])
def test_a_page_shows_each_picture(notebook: Any, template: str) -> None:
    exporters = pytest.importorskip("nbconvert.exporters")
    page, _ = exporters.HTMLExporter(template_name=template).from_notebook_node(notebook)
    seen = Seen()
    seen.feed(page)
    assert len(seen.pictures) == PICTURES
    assert "One <b>mail</b>" in seen.pictures
    assert seen.cells.count("only-here") >= TABLES


@pytest.mark.parametrize("exporter", ["MarkdownExporter", "LatexExporter", "RSTExporter", "SlidesExporter"])
@pytest.mark.filterwarnings("error:Your element with mimetype")
def test_other_exports_show_each_picture(notebook: Any, exporter: str) -> None:
    exporters = pytest.importorskip("nbconvert.exporters")
    made = getattr(exporters, exporter)()
    made.exclude_input = True
    text, resources = made.from_notebook_node(notebook)
    seen = Seen()
    seen.feed(text)
    files = [name for name in resources.get("outputs") or {} if name in text and name.endswith((".png", ".svg"))]
    assert max(len(seen.pictures), len(files)) == PICTURES
    assert text.count("only-here") >= TABLES


def test_a_page_of_a_repository_shows_each_picture(notebook: Any) -> None:
    """It takes the first form that it knows, HTML, leaves out SVG and scripts, and runs no widget."""
    shown = [output["data"] for cell in notebook.cells for output in cell.outputs if set(output["data"]) - {WIDGET, "text/plain"}]
    assert len(shown) == PICTURES + TABLES
    for data in shown:
        assert WIDGET not in data, "an exporter would choose the widget"
        assert not re.search("<(svg|script)", data["text/html"])
        assert "<table" in data["text/html"] or ("image/png" in data and "data:image/png" in data["text/html"])


def test_a_widget_without_a_picture_is_not_stored(notebook: Any) -> None:
    import notebook_outputs

    kept = notebook_outputs.kept(notebook)
    kinds = [set(output["data"]) for cell in kept.cells for output in cell.outputs]
    assert "resonate-still" not in str(kept), "the class is of one run"
    assert kinds == [{"image/png", "text/plain"}] * 3 + [{"text/html", "text/plain"}, {"image/png", "text/plain"}] + [
        {"text/html", "text/plain"}
    ]


def test_without_anywidget_the_page_of_a_repository_shows_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    import resonate_core as rc
    from resonate_core.timeline import result

    published: list[Any] = []
    monkeypatch.setitem(sys.modules, "resonate_core.timeline.widget", None)
    monkeypatch.setattr(result, "publish", lambda *shown: published.append(shown))
    rc.display.timeline(rc.Store(clock=rc.ManualClock()))._ipython_display_()
    ((widget, picture),) = published
    assert widget is None and "data:image/png" in picture["text/html"] and "<svg" not in picture["text/html"]


@pytest.mark.parametrize("form", ["timeline", "explore", "diff"])
def test_outside_of_a_notebook_the_other_forms_are_shown(form: str) -> None:
    import resonate_core as rc

    store = rc.Store(clock=rc.ManualClock())
    if form == "explore":
        pytest.importorskip("anywidget")
    shown: Any = rc.diff(store, store.fork()) if form == "diff" else getattr(rc.display, form)(store)
    # A display method refuses with this error; IPython then shows another form of the object.
    with pytest.raises(NotImplementedError):
        shown._ipython_display_()
