"""Transactions that run beside those of other processes (decision 51)."""

from __future__ import annotations

import base64
import json

import pytest

import libpq
import resonate_core as rc
from postgres_urls import plain, schema_of

FAR = 10**15


def shared(url: str, writers: str = "shared") -> str:
    return f"{url}&writers={writers}"


def b64(value: str) -> str:
    """The data of a value that was given as Python object."""
    return base64.b64encode(json.dumps(value).encode()).decode()


def shared_commits() -> int:
    return rc.database_counts()["shared_commits"]


def test_creates_and_settlements_share(postgres_url: str) -> None:
    with rc.Store(shared(postgres_url)) as store:
        before = shared_commits()
        assert store.promises.create("p", FAR).state == "pending"
        assert store.promises.create("p", FAR).state == "pending"
        assert store.promises.resolve("p", "1").state == "resolved"
        assert store.promises.resolve("p", "2").value.data == b64("1")
        assert shared_commits() - before == 2  # the other two have changed nothing
        with pytest.raises(rc.NotFound):
            store.promises.resolve("missing")
        assert shared_commits() - before == 2
        assert store.check() == []
