"""Tests the judge of the kill run: it reports each error, which the tests make on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

import resonate_core as rc
from integration.jobs.kill_workers import judge


def store_of_completed_jobs(ids: list[str]) -> rc.Store:
    """A store in which every job was claimed, started and completed once."""
    store = rc.Store(clock=rc.ManualClock())
    for id in ids:
        store.jobs.enqueue("t", id=id)
        (job,) = store.jobs.claim("default", worker="w", lease=1000)
        store.jobs.start(job.id, job.version)
        store.jobs.complete(job.id, job.version)
    return store


GOOD = ["claimed a 1 p0/0", "running a 1 p0/0", "completing a 1 p0/0", "completed a 1 p0/0"]


def test_all_is_well(tmp_path: Path) -> None:
    (tmp_path / "p0").write_text("\n".join(GOOD))
    verdict = judge(store_of_completed_jobs(["a"]), ["a"], tmp_path)
    assert (verdict.jobs, verdict.attempts, verdict.completions, verdict.wrong) == (1, 1, 1, [])


def test_a_kill_between_the_end_and_its_line_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "p0").write_text("\n".join(GOOD[:3]))
    assert judge(store_of_completed_jobs(["a"]), ["a"], tmp_path).wrong == []


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["claimed a 1 p1/0"], "claimed_twice"),
        (["running a 1 p1/0"], "claimed_twice"),
        (["completed a 2 p1/0"], "completed_twice"),
        (["completed a 1 p0/0"], "completed_twice"),
    ],
)
def test_what_two_workers_say_of_one_job(tmp_path: Path, lines: list[str], what: str) -> None:
    (tmp_path / "p0").write_text("\n".join(GOOD))
    (tmp_path / "p1").write_text("\n".join(lines))
    verdict = judge(store_of_completed_jobs(["a"]), ["a"], tmp_path)
    assert getattr(verdict, what) == 1 and verdict.wrong


def test_a_job_that_is_not_done(tmp_path: Path) -> None:
    store = store_of_completed_jobs([])
    store.jobs.enqueue("t", id="a")
    verdict = judge(store, ["a"], tmp_path)
    assert verdict.lost == 1 and verdict.wrong == ["a is pending"]


def test_a_job_that_was_completed_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "p0").write_text("\n".join(GOOD[:1]))
    assert judge(store_of_completed_jobs(["a"]), ["a"], tmp_path).wrong == ["a completed at version 1, which nobody ran"]
