"""The additions to the report of a failed test: the seed, the shortest story, and the path of its timeline."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from _pytest._code.code import ExceptionChainRepr, ExceptionRepr, ReprEntry

from ..base.extras import how_to_install
from .differences import cut
from .pytest_fixtures import FIXTURES
from .recording_story import story_of_recording

__all__ = ["FAILURE", "TRACES", "describe"]

TITLE = "resonate"
"""The title of the section of the report."""

MOST_PICTURES = 20
"""The most timelines that one process draws: each takes tenths of a second."""

MOST_STORY = 60
"""The most lines of a story in a report: the last ones."""

FAILURE: pytest.StashKey[Any] = pytest.StashKey()
"""Where an explored test leaves its `Failure`."""

TRACES: pytest.StashKey[str] = pytest.StashKey()
"""Where an explored test leaves the recording of its shortest failing run."""

_FOLDER: pytest.StashKey[Path | None] = pytest.StashKey()
"""Where a run without folders of pytest has the folder of its pictures, which stays."""

_pictures = itertools.count()


def describe(item: pytest.Item, report: pytest.TestReport, raised: pytest.ExceptionInfo[BaseException] | None, seed: int) -> None:
    """Add the seed, the story and the places of the picture and the trace to the report of a failed test.

    Args:
        item: The test.
        report: Its report.
        raised: Its exception.
        seed: The seed of the run of pytest.
    """
    failure = item.stash.get(FAILURE, None)
    trace = item.stash.get(TRACES, "") or (item.stash[FIXTURES].trace.getvalue() if FIXTURES in item.stash else "")
    lines = [f"seed {seed}; run it again with --resonate-seed={seed}"]
    facts: dict[str, object] = {"resonate_seed": seed}
    if failure is not None:
        lines = [] if failure.seed is None else [f"seed {failure.seed}, run {failure.run}"]
        lines.append(f"run it again with --resonate-replay={failure.token}")
        facts["resonate_token"] = failure.token
        if failure.seed is not None:
            facts["resonate_seed"] = failure.seed
        story = []  # it is in the message of the failure
    else:
        story = story_of_recording(trace)
    if story:
        left_out = len(story) - MOST_STORY
        lines.append("story:" if left_out <= 0 else f"story, the last {MOST_STORY} of {len(story)} lines:")
        lines += story[-MOST_STORY:]
    if failure is not None and (folder := item.config.getoption("resonate_write_regressions")):
        written = failure.write_regression(item.config.rootpath / folder)
        given = str(written) if written else "not written: the scenario must be a function at the top of a module"
        lines.append(f"regression test: {_from_here(given, item.config)}")
    for name, value in _files(item, trace):
        lines.append(f"{name}: {_from_here(value, item.config)}")
        facts[f"resonate_{name}"] = value
    text = "\n".join(lines)
    if isinstance(report.longrepr, ExceptionChainRepr):
        for shown, _, _ in report.longrepr.chain:
            if not any(entry.reprfileloc for entry in shown.reprentries if isinstance(entry, ReprEntry)):
                shown.extraline = None  # "All traceback entries are hidden": they are ours, and the story says more
    if isinstance(report.longrepr, ExceptionRepr):
        report.longrepr.addsection(TITLE, text)  # is shown with every --show-capture, and is in the JUnit file
    else:
        report.sections.append((TITLE, text))
    added = [(name, str(value)) for name, value in facts.items()]
    item.user_properties += [one for one in added if one not in item.user_properties]
    report.user_properties = list(item.user_properties)


def _files(item: pytest.Item, trace: str) -> Iterator[tuple[str, str]]:
    """Write the trace and its timeline, and yield their names and places, or why there is none."""
    if len(trace.splitlines()) < 2:
        return
    folder = folder_of(item.config)
    stem = re.sub(r"[^\w.\-]+", "-", item.nodeid).strip("-")[-150:]
    recorded = folder / f"{stem}.jsonl"
    recorded.write_text(trace, encoding="utf-8")
    if next(_pictures) < MOST_PICTURES:
        yield "timeline", _draw(trace, folder / f"{stem}.svg", item.name)
    yield "trace", str(recorded)


def _from_here(value: str, config: pytest.Config) -> str:
    """A path as a person types it: relative, if it is below the folder in which pytest was started."""
    try:
        return str(Path(value).relative_to(config.invocation_params.dir))
    except ValueError:
        return value


def folder_of(config: pytest.Config) -> Path:
    """Return the folder of pictures and traces, which is made."""
    given = config.getoption("resonate_pictures") or config.getini("resonate_pictures")
    folder: Path
    if given:
        folder = config.rootpath / given
    elif (factory := getattr(config, "_tmp_path_factory", None)) is not None:
        folder = Path(factory.getbasetemp()) / "resonate"
    else:  # -p no:tmpdir
        folder = config.stash.setdefault(_FOLDER, None) or Path(mkdtemp(prefix="resonate-"))
        config.stash[_FOLDER] = folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _draw(trace: str, place: Path, title: str) -> str:
    """Draw the timeline of a recording, and return its place, or why it cannot be drawn."""
    from .. import display

    try:
        import matplotlib as mpl

        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": title}):
            figure = display.timeline(trace.splitlines(), title=title)
            figure.savefig(place, format="svg", bbox_inches="tight", metadata={"Date": None})
    except ModuleNotFoundError as error:
        return f"not drawn: {error.name} is not installed; {how_to_install('notebook')}"
    except Exception as error:  # the report of a failed test must not fail on its picture
        return f"not drawn: {type(error).__name__}: {cut(str(error).splitlines(), 1)[0] if str(error) else ''}"
    return str(place)
