"""The data of a `JobError` of more than 100,000 characters was cut, so that `json.loads` of it failed.

JSON that is too long is replaced by a note, which is JSON; of any other text the beginning is kept, with the number of characters that
are left out.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobError, Retry, Skip, Worker
from server.live_server import serving

LONG = {"rows": ["ä" * 10] * 20_000}
TEXT = json.dumps(LONG, ensure_ascii=False, separators=(",", ":"))
MOST = 100_000


def data_of(error: Exception, batch: bool = False) -> str:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)

    def handler(payloads: Any = None) -> None:
        raise error

    task = (worker.batch_task if batch else worker.task)("x", on_exhausted="failed", max_retries=0)(handler)
    id = task.enqueue().id
    (run,) = worker.run_until_idle()
    kept = store.jobs.get(id).error
    assert kept is not None and run.error is not None and run.error.data == kept["data"]
    data: str = kept["data"]
    return data


ERRORS = {
    "a value": JobError("Big", data=LONG),
    "its text": JobError("Big", data=TEXT),
    "a list": JobError("Big", data=LONG["rows"]),
    "retry": Retry(data=LONG),
    "skip": Skip(data=LONG),
    "half a surrogate": JobError("Big", data=["\udc80" * 200_000]),
}


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("batch", [False, True])
def test_json_that_is_too_long_is_replaced_by_a_note(kind: str, batch: bool) -> None:
    error = ERRORS[kind]
    data = data_of(error, batch)  # type: ignore[arg-type]
    note = json.loads(data)
    length = len(error.data if isinstance(error.data, str) else json.dumps(error.data, ensure_ascii=False, separators=(",", ":")))
    assert note["note"] == f"data has {length:,} characters as JSON, and at most 100,000 are kept"
    assert note["beginning"] and len(data) <= MOST
    if kind in ("a value", "its text"):
        assert TEXT.startswith(note["beginning"])


@pytest.mark.parametrize("text", ["x" * 150_000, "{" + "x" * 150_000, "[" * 150_000])
def test_of_another_text_the_beginning_is_kept(text: str) -> None:
    kept = data_of(JobError("Big", data=text))
    assert len(kept) <= MOST
    beginning, _, rest = kept.partition("…")
    assert text.startswith(beginning) and rest == f" ({len(text) - len(beginning):,} characters left out)"


@pytest.mark.parametrize("data", ["x" * MOST, ["x" * (MOST - 4)], {}, 5, False])
def test_the_longest_data_are_kept_whole(data: Any) -> None:
    kept = data_of(JobError("Big", data=data))
    assert kept == data if isinstance(data, str) else json.loads(kept) == data


def test_over_a_url() -> None:
    with rc.Store() as store, serving(store) as server:
        worker = Worker(f"http://127.0.0.1:{server.port}", poll_interval=50)

        @worker.task("x", max_retries=0, on_exhausted="failed", retention=60_000)
        def handler() -> None:
            raise JobError("Big", "no", LONG)

        job = handler.enqueue()
        with worker:
            store.wait(job.id, timeout=30)
        worker.close()
        error = store.jobs.get(job.id).error
    assert error is not None and json.loads(error["data"])["note"].startswith("data has ")
