"""`manage.py check` names each wrong setting, and no right one."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from unittest import mock

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import SimpleTestCase, override_settings

from resonate_core.contrib.django import ResonateBackend, ResonateTestBackend, checks
from resonate_core.contrib.django.places import postgres_url, sqlite_path

OWN = {"DATABASE", "SCHEMA", "PARAMETERS", "STORE", "DURABILITY", "BUSY_TIMEOUT", "DISPATCH_ON_COMMIT", "JOB", "WORKER"}
GOOD = [
    {},
    {"DURABILITY": "normal", "BUSY_TIMEOUT": timedelta(seconds=1), "DISPATCH_ON_COMMIT": False},
    {"JOB": {"max_retries": 3, "retention": "kept", "timeout": timedelta(minutes=1), "lifecycle": "asynq"}},
    {"WORKER": {"concurrency": 2, "grace": timedelta(seconds=30)}},
    {"STORE": "jobs.db"},
]
BAD = [
    ({"DATABASES": "default"}, "'DATABASES'] is no setting; there are DATABASE, SCHEMA,"),
    ({"DATABASE": "other"}, "'DATABASE'] must be an alias in DATABASES (default), got 'other'"),
    ({"SCHEMA": "Jobs"}, "'SCHEMA'] must be 1 to 63 of a-z, 0-9 and _, got 'Jobs'"),
    ({"STORE": 7}, "'STORE'] must be the path of a file or a URL of PostgreSQL, got 7"),
    (
        {"STORE": "http://localhost:8001"},
        "'STORE'] must be the path of a SQLite file or a URL sqlite:/// or postgresql://, got 'http://localhost:8001': ",
    ),
    (
        {"STORE": "host=db dbname=app password=s3cret"},
        "'STORE'] must be the path of a SQLite file or a URL sqlite:/// or postgresql://, got a connection string: write 'postgresql://db/app'",
    ),
    ({"STORE": "a.db", "SCHEMA": "jobs"}, "'SCHEMA'] must be left out beside STORE"),
    ({"PARAMETERS": {"prepared": False}}, "'PARAMETERS'] must be a dict of str by str"),
    ({"DURABILITY": "none"}, "'DURABILITY'] must be 'full' or 'normal', got 'none'"),
    ({"BUSY_TIMEOUT": -1}, "'BUSY_TIMEOUT'] must be a timedelta, or ms, of at least 0, got -1"),
    ({"BUSY_TIMEOUT": True}, "'BUSY_TIMEOUT'] must be a timedelta, or ms, of at least 0, got True"),
    ({"DISPATCH_ON_COMMIT": 1}, "'DISPATCH_ON_COMMIT'] must be True or False, got 1"),
    ({"JOB": []}, "'JOB'] must be a dict of options of jobs, got []"),
    ({"JOB": {"retries": 3}}, "'JOB'] must have options out of "),
    ({"JOB": {"max_retries": -1}}, "'JOB'] must be options of a job: maxRetries must be at least 0, got -1"),
    ({"WORKER": {"threads": 3}}, "'WORKER'] must have options out of "),
    ({"WORKER": {"concurrency": 0}}, "'WORKER'] must be options of a worker: concurrency must be at least 1, got 0"),
]


def backend(**options):
    return ResonateBackend("default", {"BACKEND": "x", "QUEUES": ["default"], "OPTIONS": options})


class Settings(SimpleTestCase):
    databases = frozenset({"default"})

    def test_good_ones(self):
        for options in GOOD:
            with self.subTest(options=options):
                assert backend(**options).check() == []
                assert backend(**options).settings is not None

    def test_bad_ones(self):
        for options, message in BAD:
            with self.subTest(options=options):
                (found,) = backend(**options).check()
                assert found.id == "resonate.E001"
                assert f"TASKS['default']['OPTIONS'][{message}" in found.msg
                with pytest.raises(ImproperlyConfigured) as raised:
                    _ = backend(**options).settings
                assert str(raised.value) == found.msg

    def test_every_setting_has_a_bad_example(self):
        assert {name for options, _ in BAD for name in options} - {"DATABASES"} == OWN

    def test_queues(self):
        for queues in ("default", [""], [7]):
            (found,) = ResonateBackend("default", {"QUEUES": queues}).check()
            assert found.id == "resonate.E002"

    def test_without_the_app(self):
        with override_settings(INSTALLED_APPS=[name for name in settings.INSTALLED_APPS if not name.startswith("resonate")]):
            assert [found.id for found in backend().check()] == ["resonate.W001"]

    def test_sqlite(self):
        if connection.vendor != "sqlite":
            self.skipTest("of SQLite")
        with mock.patch.dict(connection.settings_dict, {"OPTIONS": {}}):
            assert [found.id for found in backend().check()] == ["resonate.W002"]
        with mock.patch.dict(connection.settings_dict, {"NAME": ":memory:"}):
            (found,) = backend().check()
            assert "cannot be in a SQLite database in memory" in found.msg
        with mock.patch.dict(connection.settings_dict, {"NAME": "file:memorydb_default?mode=memory&cache=shared"}):
            assert backend().check() == []  # tests may override TASKS
            with pytest.raises(ImproperlyConfigured, match="ResonateTestBackend"):
                _ = backend().store
            assert ResonateTestBackend("default", {}).check() == []
        (found,) = backend(SCHEMA="jobs").check()
        assert "must be left out for a SQLite database" in found.msg

    def test_another_copy_of_the_sqlite_library(self):
        if connection.vendor != "sqlite":
            self.skipTest("of SQLite")
        with mock.patch.object(checks, "sqlite_library", lambda: ("another", True)):  # noqa: PT008
            (found,) = backend().check()
        assert found.id == "resonate.E003"
        assert sqlite3.sqlite_version  # the module that Django uses

    def test_a_database_that_cannot_hold_a_store(self):
        with mock.patch.object(connection, "vendor", "oracle"):
            (found,) = backend().check()
        assert "must name a database of sqlite or postgresql, or STORE must be" in found.msg
        assert "got one of oracle" in found.msg


class Places(SimpleTestCase):
    def test_urls(self):
        whole = {"NAME": "shop", "USER": "ann@x", "PASSWORD": "p/w", "HOST": "db.internal", "PORT": 5433}
        assert postgres_url(whole, "resonate", {}) == "postgresql://ann%40x:p%2Fw@db.internal:5433/shop?schema=resonate"
        assert postgres_url({"NAME": "shop"}, "jobs", {"prepared": "no"}) == "postgresql:///shop?schema=jobs&prepared=no"
        socket = postgres_url({"NAME": "shop", "HOST": "/run/postgresql", "PORT": ""}, "resonate", {})
        assert socket == "postgresql:///shop?schema=resonate&host=%2Frun%2Fpostgresql"
        options = {
            "NAME": "shop",
            "OPTIONS": {"sslmode": "require", "pool": True, "server_side_binding": True, "connect_timeout": 3},
        }
        assert postgres_url(options, "resonate", {}) == "postgresql:///shop?sslmode=require&connect_timeout=3&schema=resonate"
        service = postgres_url({"NAME": "", "OPTIONS": {"service": "shop"}}, "resonate", {})
        assert service == "postgresql:///?service=shop&schema=resonate"

    def test_paths(self):
        assert sqlite_path({"NAME": "/data/site.db"}) == "/data/site.db"
        with pytest.raises(ImproperlyConfigured, match=r"must be a path, got the URI 'file:a\.db'"):
            sqlite_path({"NAME": "file:a.db"})
