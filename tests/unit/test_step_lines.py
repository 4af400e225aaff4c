"""The lines of a report about steps: each one that was written is read again, and no other line is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from resonate_core.base.step_lines import ToldStep, raised_line, read_lines, running_line
from resonate_core.worker.report_buffer import LINE_BYTES


def line(text: str, at: int = 5000, attempt: int = 1) -> dict[str, Any]:
    return {"at": at, "attempt": attempt, "text": text}


NAMES = st.text(min_size=1, max_size=60).filter(lambda name: name.strip() and "), attempt " not in name)


@given(name=NAMES, job=st.text(min_size=1, max_size=40), attempt=st.integers(1, 10**6), since=st.integers(0, 2**62))
def test_what_is_written_is_read(name: str, job: str, attempt: int, since: int) -> None:
    id = f"{job}:3:0:12"
    text = running_line(name, id, attempt, since)
    assert "\n" not in text.replace(job, "")
    if "\n" in job:  # a report has single lines
        return
    assert read_lines(job, [line(text)]) == {id: ToldStep(id, " ".join(name.split()), 1, attempt, since)}


@given(error=st.text(min_size=1, max_size=900), again=st.none() | st.integers(0, 10**12))
def test_an_error_is_one_line(error: str, again: int | None) -> None:
    text = raised_line("charge", "o:1", 2, f"Boom: {error}", again)
    assert len(text.splitlines()) == 1
    (told,) = read_lines("o", [line(text)]).values()
    assert (told.attempt, told.since, told.begins_at) == (3, None, None if again is None else 5000 + again)
    assert told.error is not None and told.error.startswith("Boom:") and len(told.error) < 500


def test_the_newest_line_of_a_step_counts() -> None:
    lines = [
        line(running_line("charge", "o:1", 1, 1000)),
        line(raised_line("charge", "o:1", 1, "OSError: no", 2000)),
        line(running_line("pack", "o:2", 1, 1500)),
        line(running_line("charge", "o:1", 2, 7000), attempt=2),
    ]
    assert list(read_lines("o", lines).values()) == [
        ToldStep("o:2", "pack", 1, 1, 1500),
        ToldStep("o:1", "charge", 2, 2, 7000, error="OSError: no"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "half done",
        "step charge (other:1), attempt 1: runs since 1970-01-01T00:00:05.000Z",
        "step charge (o), attempt 1: runs since 1970-01-01T00:00:05.000Z",
        "step charge (o:x), attempt 1: runs since 1970-01-01T00:00:05.000Z",
        "step charge (o:1), attempt x: OSError: no",
        "step charge (o:1), attempt 1: ",
        "step (o:1), attempt 1: OSError",
    ],
)
def test_other_lines_are_passed_over(text: str) -> None:
    assert read_lines("o", [line(text)]) == {}


def test_an_id_is_no_pattern() -> None:
    assert read_lines("a.*", [line(running_line("s", "abc:1", 1, 5))]) == {}
    assert list(read_lines("a.*(", [line(running_line("s", "a.*(:1", 1, 5))])) == ["a.*(:1"]


def test_a_line_that_was_cut_says_as_much_as_is_left() -> None:
    text = raised_line("s", "o:1", 1, "E: " + "ü" * 2000, 5)
    assert len(text.encode()) <= LINE_BYTES
    assert read_lines("o", [line(text)])["o:1"].begins_at == 5005
