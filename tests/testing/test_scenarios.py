"""Names of scenarios, kinds of failures, and lines of stories."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from scenarios_to_explore import overdrawn

import resonate_core as rc
from resonate_core.testing import Choices
from resonate_core.testing.recording_story import StoryWriter, sentence, step_sentence
from resonate_core.testing.regressions import ScenarioSource
from resonate_core.testing.scenarios import failure_of, kind_of, name_of, source_of, summary_of


class Called:
    """An object that is a scenario."""

    def __call__(self, choices: Choices) -> None: ...


def test_names():
    assert name_of(overdrawn) == "scenarios_to_explore:overdrawn"
    assert source_of(overdrawn) == ScenarioSource("scenarios_to_explore", "overdrawn")
    assert name_of(functools.partial(functools.partial(overdrawn))) == "scenarios_to_explore:overdrawn"
    assert name_of(Called()).endswith(":Called")
    assert name_of(lambda choices: None).endswith(":test_names.<locals>.<lambda>")
    for scenario in (functools.partial(overdrawn), Called(), lambda choices: None, Called().__call__):
        assert source_of(scenario) is None


def test_a_program_that_runs_as_a_file_has_the_name_of_the_file(tmp_path: Path):
    program = tmp_path / "my_program.py"
    program.write_text(
        "from resonate_core.testing.scenarios import source_of\ndef scenario(choices): pass\nprint(source_of(scenario).module)\n"
    )
    run = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=True)
    assert run.stdout == "my_program\n"


def kind(function) -> str:
    error = failure_of(lambda choices: function(), Choices.from_tape([]))
    assert error is not None
    return kind_of(error)


def test_failures_of_one_line_are_one_kind():
    def fails(value: int) -> None:
        if value < 5:
            raise ValueError(f"got {value}")
        raise ValueError("five or more")

    assert kind(lambda: fails(1)) == kind(lambda: fails(2))


def test_failures_of_other_lines_classes_or_properties_are_other_kinds():
    def fails(value: int) -> None:
        if value == 0:
            raise ValueError
        if value == 1:
            raise ValueError
        error = AssertionError()
        error.__resonate_kind__ = f"property {value}"
        raise error

    assert len({kind(lambda value=value: fails(value)) for value in range(4)}) == 4
    assert kind(lambda: fails(3)) == "property 3"


def test_a_refusal_of_the_store_is_known_by_the_line_that_made_the_request():
    store = rc.Store(clock=rc.ManualClock(start=0))

    def first() -> None:
        store.promises.get("a")

    def second() -> None:
        store.promises.get("b")

    assert kind(first) != kind(second)
    assert kind(first) == kind(first)


def test_summaries():
    assert summary_of(ValueError("one\ntwo")) == "ValueError: one"
    assert summary_of(KeyError()) == "KeyError"


def recorded(use) -> list[str]:
    """Returns the story of a run in which `use` uses a store."""
    lines: list[str] = []
    store = rc.Store(clock=rc.ManualClock(start=0))
    with store.record(StoryWriter(lines.append)):  # type: ignore[arg-type]
        use(store)
    return lines


def test_the_story_of_jobs():
    def use(store) -> None:
        store.jobs.enqueue("x", id="j", lifecycle="asynq")
        store.jobs.claim("default", worker="a", lease=1_000)
        store.jobs.claim("default", worker="a", lease=1_000)
        store.jobs.search()
        store.clock.advance(1_000)
        with pytest.raises(rc.Conflict):
            store.jobs.complete("j", 1)
        store.jobs.cancel("j")

    assert recorded(use) == [
        "job.enqueue j (pending)",
        "job.claim j (running, version 1)",
        "the lease of job j expires",
        'job.complete j is refused with 409: job "j" is retry and cannot be completed',
        "job.cancel j (cancelled, version 1)",
    ]


def test_the_story_of_promises_and_schedules():
    def use(store) -> None:
        store.promises.create("p", timeout=500_000, tags={"resonate:target": "poll://any@g"})
        store.schedules.create("s", "* * * * *", promise_timeout=1_000)
        store.clock.advance(60_000)
        store.promises.resolve("p", 1)

    lines = recorded(use)
    assert lines[:3] == ["promise.create p (pending)", "task p is dispatched", "schedule.create s"]
    assert "schedule s fires" in lines
    assert lines[-1] == "promise.settle p (resolved)"


def test_every_step_of_the_engine_has_a_sentence():
    """The names of the steps are those of cpp/src/engine/replay: a new one needs a sentence."""
    source = next(path for path in (Path(__file__).parents[2] / "cpp" / "src").rglob("*.cpp") if "kSteps[]" in path.read_text())
    text = source.read_text()
    names = text[text.index("kSteps[]") :].partition("{")[2].partition("}")[0]
    for name in json.loads(f"[{names}]"):
        assert step_sentence(name, "the-id") != f"{name.replace('_', ' ')} the-id", name
        assert "the-id" in step_sentence(name, "the-id")
    assert step_sentence("new_step", "x") == "new step x"


def test_a_recording_may_be_cut_anywhere():
    lines: list[str] = []
    writer = StoryWriter(lines.append)
    text = json.dumps({"kind": "step.job_ready", "now": 1, "req": {"id": "j", "at": 1}, "res": {}}) + "\n"
    for character in text * 2:
        writer.write(character)
    assert lines == ["job j becomes runnable"] * 2
    assert sentence({"kind": "open", "now": 0, "req": {}, "res": {}}) is None
