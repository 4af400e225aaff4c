"""The outcome of a simulated run: its value, its story and its trace."""

from __future__ import annotations

import json
from typing import Any

from ...notebook.html import report_text
from ..recording_story import sentence

__all__ = ["Run"]

#: Lines that say nothing of what became of a promise or a job.
_SILENT = ("job.heartbeat", "task.heartbeat")
_VERBS = {"job.complete_many": "completes", "job.start_many": "starts", "job.complete": "completes", "job.start": "starts"}


class Run:
    """What a simulated run did.

    Attributes:
        value: What the scenario returned.
        steps: The number of callbacks that ran.
        now: The instant at which it ended, in Unix ms.
        tape: The choices that were drawn.
    """

    def __init__(self, raw: list[Any], steps: int, now: int, tape: list[int]) -> None:
        self._raw = raw
        self.value: Any = None
        self.steps = steps
        self.now = now
        self.tape = tape

    def __repr__(self) -> str:
        return f"<Run of {self.steps} steps until t={self.now}>"

    @property
    def trace(self) -> list[str]:
        """Everything that happened, one line each: equal runs have equal traces."""
        lines = []
        for one in self._raw:
            if len(one) == 3:
                lines.append(f"{one[1]} note {one[2]}")
            elif isinstance(one[0], int):
                lines.append(f"{one[0] / 1000:.3f} step {one[1]}")
            else:
                lines.append(f"{one[0]} {one[1].rstrip()}")
        return lines

    @property
    def story(self) -> list[str]:
        """The events that a person wants to see: crashes, faults, and claims, starts, completions and settlements, with instants in ms."""
        sentences: list[tuple[int, str]] = []
        for one in self._raw:
            if len(one) == 3:
                sentences.append((one[1], one[2]))
            elif isinstance(one[0], str):
                for text in one[1].splitlines():
                    sentences += [(line["now"], said) for line in [json.loads(text)] for said in _said(one[0], line)]
        width = max((len(str(now)) for now, _ in sentences), default=0)
        return [f"{now:>{width}} ms  {text}" for now, text in sentences]

    @property
    def recording(self) -> list[str]:
        """The recording of the store, as `Store.record` writes it: a source for `resonate_core.display.timeline`."""
        return [line for one in self._raw if len(one) == 2 and isinstance(one[0], str) for line in one[1].splitlines()]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The faults, crashes and notes, as the events of a timeline."""
        return [_event(one[1], one[2]) for one in self._raw if len(one) == 3]


def _said(name: str, line: dict[str, Any]) -> list[str]:
    kind, res = line["kind"], line["res"]
    if kind in _SILENT:
        return []
    if kind.startswith("step."):
        said = sentence(line)
        return [said] if said is not None else []
    data = res.get("data") if "head" in res and res["head"]["status"] < 300 else None
    if kind == "job.claim" and data is not None:
        return [f"{job.get('claimedBy', name)} {_took(job)}" for job in data["jobs"]]
    if kind in _VERBS and isinstance(data, dict):
        asked = line["req"]["data"].get("jobs", [line["req"]["data"]])
        answers = data.get("jobs", [{"status": 200}])
        return [f"{name} {_VERBS[kind]} {job['id']}{_refused(answer)}" for job, answer in zip(asked, answers, strict=False)]
    if kind == "job.fail" and data is not None:
        job, error = data["job"], line["req"]["data"].get("error", {})
        return [f"{name} fails {job['id']} ({job['state']}): {error.get('code')} {error.get('message', '')}".rstrip()]
    if kind == "job.report" and data is not None:
        return [f"{name} reports on {data['job']['id']}: {report_text(data['job']['report'])}"]
    said = sentence(line)
    return [f"{name}: {said}"] if said is not None else []


def _took(job: dict[str, Any]) -> str:
    verb = "claims and starts" if job["state"] == "running" else "claims"
    return f"{verb} {job['id']}, attempt {len(job['attempts']) or 1}, lease until {job.get('leaseUntil')} ms"


def _refused(answer: dict[str, Any]) -> str:
    status = answer.get("status", 200)
    return "" if status < 300 else f": refused with {status}, {answer.get('error')}"


def _event(at: int, text: str) -> dict[str, Any]:
    name, colon, rest = text.partition(": ")
    if not colon:
        return {"at": at, "kind": "note", "text": text}
    kind = "crash" if rest.startswith("crashes") else "deploy" if rest.startswith("starts again") else "fault"
    return {"at": at, "kind": kind, "text": text, "worker": name}
