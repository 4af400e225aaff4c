"""The story of a recording: what a store did, one line for each request and step that changed it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..explain.recordings import LineReader

__all__ = ["StoryWriter", "sentence", "step_sentence", "story_of_recording"]

#: Requests that change nothing.
_READS = (".get", ".search", ".list", ".stats")

_STEPS = {
    "callback_drain": "the awaiters of {id} are notified",
    "cancel_drain": "the jobs that {id} awaits are cancelled",
    "dispatch": "task {id} is dispatched",
    "job_batch": "the batch of job {id} is ready",
    "job_expiry": "job {id} expires",
    "job_lease": "the lease of job {id} expires",
    "job_ready": "job {id} becomes runnable",
    "job_retention": "job {id} is deleted: its retention has ended",
    "job_retention_put_off": "job {id} stays, although its retention has ended: something refers to it",
    "job_timeout": "the attempt of job {id} times out",
    "lease_expiry": "the lease of task {id} expires",
    "listener_drain": "the listeners of {id} are notified",
    "promise_timeout": "promise {id} times out",
    "schedule": "schedule {id} fires",
    "schedule_set_aside": "schedule {id} is set aside",
}


class StoryWriter:
    """Writes the lines of a recording into a story. It is the target of ``store.record``.

    Args:
        note: Takes each line of the story.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._rest = ""
        self._reader = LineReader()

    def write(self, text: str) -> int:
        """Take lines of the recording."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            note = sentence(self._reader.read(line))
            if note is not None:
                self._note(note)
        return len(text)


def story_of_recording(trace: str) -> list[str]:
    """Return the lines of a recording as a story: what each request and internal step did, and when.

    Args:
        trace: The text of a recording (`Store.record`).

    Example:
        >>> import io
        >>> import resonate_core as rc
        >>> from resonate_core.testing.recording_story import story_of_recording
        >>> clock, trace = rc.ManualClock(), io.StringIO()
        >>> store = rc.Store(clock=clock)
        >>> with store.record(trace):
        ...     _ = store.jobs.enqueue("email", id="mail-1", good_for=5000)
        ...     _ = clock.advance(5000)
        >>> for line in story_of_recording(trace.getvalue()):
        ...     print(line)
             0  job.enqueue mail-1 (pending)
          5000  job mail-1 expires
    """
    lines = [json.loads(line) for line in trace.splitlines()]
    sentences = [(line["now"], text) for line in lines if (text := sentence(line)) is not None]
    width = max([6, *(len(str(at)) for at, _ in sentences)])
    return [f"{at:>{width}}  {text}" for at, text in sentences]


def step_sentence(kind: str, id: str) -> str:
    """Return what an internal step did.

    Example:
        >>> step_sentence("job_lease", "order-1")
        'the lease of job order-1 expires'
    """
    if kind not in _STEPS:  # only the texts above are formats: a name that others chose is none
        return f"{kind.replace('_', ' ')} {id}"
    return _STEPS[kind].format(id=id)


def sentence(line: dict[str, Any]) -> str | None:
    """Return what one line of a recording says, or None for a read, an empty claim and the head of the recording.

    Example:
        >>> sentence({"kind": "step.promise_timeout", "now": 5, "req": {"id": "p", "at": 5}, "res": {}})
        'promise p times out'
        >>> request = {"kind": "promise.create", "data": {"id": "p"}}
        >>> sentence({"kind": "promise.create", "now": 5, "req": request, "res": {"head": {"status": 409}, "data": "p exists"}})
        'promise.create p is refused with 409: p exists'
    """
    kind = line["kind"]
    if kind.startswith("step."):
        return step_sentence(kind.removeprefix("step."), str(line["req"].get("id", "")))
    if "." not in kind or kind.endswith(_READS) or "head" not in line["res"]:
        return None
    asked, status, data = line["req"].get("data", {}), line["res"]["head"]["status"], line["res"]["data"]
    subject = str(asked.get("id", ""))
    if status >= 400:
        return f"{kind} {subject}".rstrip() + f" is refused with {status}: {data}"
    if kind == "job.claim":
        jobs = data["jobs"]
        return f"job.claim {', '.join(_versioned(job) for job in jobs)}" if jobs else None
    shown = [
        _versioned(data[noun]) for noun in ("job", "task", "promise") if isinstance(data, dict) and isinstance(data.get(noun), dict)
    ]
    return f"{kind} {shown[0] if shown else subject}".rstrip()


def _versioned(record: dict[str, Any]) -> str:
    version = f", version {record['version']}" if record.get("version") else ""
    return f"{record['id']} ({record['state']}{version})"
