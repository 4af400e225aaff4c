"""While the store was unavailable, a server with an open stream of jobs logged an error with a traceback every second."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.server import job_streams
from resonate_core.server.job_streams import JobStreams
from server.live_server import serving
from server.test_job_streams import reading, until

FAILURES = 5


def test_an_outage_is_logged_when_it_begins_and_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(job_streams, "_PAUSE", 0.01)
    read = JobStreams._stats
    failed = 0

    def fails_at_first(self: JobStreams, name: str) -> Any:
        nonlocal failed
        if failed < FAILURES:
            failed += 1
            raise rc.StoreError("the database is away")
        return read(self, name)

    monkeypatch.setattr(JobStreams, "_stats", fails_at_first)
    caplog.set_level(logging.INFO, "resonate_core.server")
    with rc.Store() as store, serving(store) as server, reading(server.port, "mail") as reader:
        until(lambda: failed == FAILURES)
        store.jobs.enqueue("send", {}, queue="mail")
        assert reader.hears_of("mail") == {"mail"}
    logged = [record.message for record in caplog.records if "queues of job streams" in record.message]
    assert [message.split(";")[0] for message in logged] == [
        "the queues of job streams could not be read: the database is away",
        "the queues of job streams are read again",
    ]
