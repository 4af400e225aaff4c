"""Stores in files, in Python: opening, closing, copying, errors, files of released versions."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import resonate_core as rc

FAR = 10**12


def head():
    return {"corrId": "1", "version": "2026-04-01"}


def create(name, timeout_at=FAR):
    return {"kind": "promise.create", "head": head(), "data": {"id": name, "timeoutAt": timeout_at, "param": {}, "tags": {}}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.db"


def open_store(path, **options):
    return rc.Store(path, clock=rc.ManualClock(0), **options)


@pytest.mark.parametrize("spelling", [str, Path, os.fsencode, lambda path: f"sqlite:///{path}"])
def test_a_path_may_be_spelt_in_several_ways(path, spelling):
    with open_store(path) as store:
        store.promises.create("a", FAR)
    with open_store(spelling(path)) as store:
        assert store.promises.get("a").state == "pending"
        assert repr(str(path)) in repr(store)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("", rc.Invalid, "name a file"),
        (":memory:", rc.Invalid, "left out"),
        ("a\0b", rc.Invalid, "NUL"),
        ("mysql://localhost/x", rc.Unsupported, "mysql"),
        ("none/app.db", rc.StoreError, "none"),
    ],
)
def test_a_path_that_is_none_is_refused_by_name(given, error, words):
    with pytest.raises(error, match=words):
        rc.Store(given)


@pytest.mark.parametrize(("option", "value"), [("durability", "half"), ("busy_timeout", -1), ("durability", "")])
def test_options_of_files_are_judged(path, option, value):
    with pytest.raises(rc.Invalid, match=option):
        rc.Store(path, **{option: value})
    assert not path.exists()


def test_a_read_only_store_in_memory_makes_no_sense():
    with pytest.raises(rc.Invalid, match="read_only"):
        rc.Store(read_only=True)


def test_everything_is_there_after_a_restart(path):
    with open_store(path) as store:
        store.promises.create("awaited", FAR, param={"n": 1}, tags={"resonate:external": "true", "ключ": "значение"})
        store.promises.create("worker", FAR, tags={"resonate:target": "poll://any@w", "resonate:branch": "b"})
        store.tasks.acquire("worker", 0, pid="one", ttl=5000)
        store.tasks.suspend("worker", 1, ["awaited"])
        store.promises.register_listener("awaited", "poll://uni@l/1")
        store.promises.resolve("awaited", b"\x00\xff")
        store.schedules.create("nightly", "0 3 * * *", promise_id="report-{{.timestamp}}", promise_timeout=1000)
        before, digest, messages = store.snapshot(), store.digest(), store.messages()
    with open_store(path) as store:
        assert store.snapshot() == before
        assert store.digest() == digest
        assert store.messages() == messages
        assert store.check() == []
        assert store.promises.get("awaited").value.bytes() == b"\x00\xff"


def test_a_closed_store_says_so_and_lets_the_file_go(path):
    store = open_store(path)
    store.promises.create("a", FAR)
    store.close()
    store.close()
    with pytest.raises(rc.Closed):
        store.promises.get("a")
    assert not path.with_name("app.db-wal").exists()  # all data is in the file itself


def test_a_fork_never_touches_the_file(path):
    with open_store(path) as store:
        store.promises.create("a", FAR)
        fork = store.fork()
        fork.promises.resolve("a")
        assert store.promises.get("a").state == "pending"
        assert fork.check() == []


def test_restore_and_reset_replace_what_the_file_holds(path):
    other = rc.Store(clock=rc.ManualClock())
    other.promises.create("restored", FAR)
    with open_store(path) as store:
        store.promises.create("old", FAR)
        store.restore(other.snapshot())
        with pytest.raises(rc.NotFound):
            store.promises.get("old")
    with open_store(path) as store:
        assert store.digest() == other.digest()
        assert store.apply({"kind": "debug.reset", "head": head(), "data": {}})["head"]["status"] == 200
    with open_store(path) as store:
        assert store.counts()["promises"] == {}


def test_a_trace_of_a_file_replays(path, tmp_path):
    trace = tmp_path / "trace.jsonl"
    with open_store(path) as store, store.record(trace):
        store.promises.create("a", 1000, tags={"resonate:timer": "true"})
        store.tick(2000)
        store.purge(settled_before=2000)
    with trace.open() as lines:
        assert rc.replay(lines).ok


def test_a_backup_is_a_store_and_replaces_nothing(path, tmp_path):
    copy = tmp_path / "copy.db"
    with open_store(path) as store:
        store.promises.create("a", FAR)
        store.backup(copy)
        store.promises.create("b", FAR)
        with pytest.raises(rc.StoreError, match=r"copy\.db"):
            store.backup(copy)
    with open_store(copy) as store:
        assert [one.id for one in store.promises.search()] == ["a"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["app.db", "copy.db"]


def test_a_store_in_memory_can_be_backed_up_too(tmp_path):
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("a", FAR)
    store.backup(tmp_path / "copy.db")
    with open_store(tmp_path / "copy.db") as copy:
        assert copy.digest() == store.digest()


def test_purge_and_vacuum_give_the_room_back(path):
    with open_store(path, durability="normal") as store:
        store.promises.create_many([f"p{i}" for i in range(2000)], FAR, params=[b"x" * 500] * 2000)
        store.promises.settle_many([f"p{i}" for i in range(2000)])
        store.clock.advance(10)
        store.vacuum()
        full = path.stat().st_size
        assert store.purge(settled_before=10) == 2000
        store.vacuum()
        assert path.stat().st_size < full / 10
        created = store.promises.create("p0", FAR)
        assert (created.state, created.created_at) == ("pending", 10)
        assert store.check() == []


def test_a_promise_stays_as_long_as_a_task_has_to_be_told_of_it():
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("awaited", FAR, tags={"resonate:external": "true"})
    store.promises.create("worker", FAR, tags={"resonate:target": "poll://any@w"})
    store.tasks.acquire("worker", 0, pid="one", ttl=5000)
    store.tasks.suspend("worker", 1, ["awaited"])
    store.promises.resolve("awaited")
    store.clock.advance(10)
    assert store.purge(settled_before=10) == 0
    store.take_messages()
    store.tasks.acquire("worker", 1, pid="one", ttl=5000)
    store.tasks.fulfill("worker", 2)
    store.clock.advance(10)
    assert store.purge(settled_before=20) == 2


@pytest.mark.parametrize("kept_in", ["memory", "file"])
def test_ids_that_were_purged_can_wait_for_each_other_again(path, kept_in):
    with rc.Store(path if kept_in == "file" else None, clock=rc.ManualClock()) as store:
        for _ in range(3):
            store.promises.create("awaited", FAR, tags={"resonate:external": "true"})
            version = store.tasks.create("worker", FAR, pid="one", ttl=5000, target="poll://any@w").task.version
            assert store.tasks.suspend("worker", version, ["awaited"]).status == 200
            store.promises.resolve("awaited")
            store.take_messages()
            version = store.tasks.acquire("worker", version, pid="one", ttl=5000).task.version
            store.tasks.fulfill("worker", version)
            store.clock.advance(10)
            assert store.purge(settled_before=store.now) == 2
        assert store.check() == []


def test_groups_whose_type_and_name_read_alike_are_two_groups(path):
    with open_store(path) as store:
        store.queues.set("default", groups={"size": 2, "grace": 1000})
        for type, group in (("a", "bc"), ("ab", "c")):
            store.jobs.enqueue(type, group=group)
        assert list(store.jobs.claim("default", 10, worker="w", lease=1000)) == []
        store.jobs.enqueue("a", group="bc")
        assert [job.type for job in store.jobs.claim("default", 10, worker="w", lease=1000)] == ["a", "a"]


def test_two_stores_on_one_file_take_turns(path):
    with open_store(path, durability="normal") as one, open_store(path, durability="normal") as other:
        for number in range(50):
            (one if number % 2 else other).promises.create(f"p{number}", FAR)
        assert one.digest() == other.digest()
        assert len(one.promises.search(limit=100)) == 50


def test_the_number_of_messages_is_the_same_for_another_store_and_after_a_restart(path):
    with open_store(path) as store:
        for name in ("a", "b", "c"):
            store.promises.create(name, timeout=FAR, tags={"resonate:target": "poll://any@workers"})
        store.take_messages(limit=2)
        assert store.outbox_counts()["waiting"] == 1
        with open_store(path) as other:
            assert other.outbox_counts()["waiting"] == len(other.messages()) == 1
    with open_store(path) as store:
        assert store.outbox_counts()["waiting"] == len(store.messages()) == 1


def test_threads_share_commits_and_get_their_own_answers(path):
    with rc.Store(path) as store:
        answers = {}

        def work(number):
            for i in range(20):
                name = f"p{number}-{i}"
                answers[name] = store.promises.create(name, FAR, param=name)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 320
        assert all(answer.id == name and answer.param.json() == name for name, answer in answers.items())
        assert store.check() == []


def test_a_commit_that_fails_fails_for_all_who_share_it_and_leaves_no_half(path):
    with rc.Store(path, busy_timeout=10) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        outcomes = []

        def work(number):
            try:
                store.promises.create(f"p{number}", FAR)
                outcomes.append("done")
            except rc.StoreBusy:
                outcomes.append("busy")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        other.execute("ROLLBACK")
        other.close()
        assert outcomes == ["busy"] * 8
        assert store.counts()["promises"] == {}
        store.promises.create("afterwards", FAR)


def test_an_atomic_batch_is_undone_in_the_file(path):
    with open_store(path) as store:
        replies = store.apply([create("a"), {"kind": "promise.get", "head": head(), "data": {"id": "nobody"}}], atomic=True)
        assert [reply["head"]["status"] for reply in replies] == [409, 404]
    with open_store(path) as store:
        assert store.counts()["promises"] == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_parent_and_child_both_go_on_after_a_fork(path):
    with open_store(path) as store:
        store.promises.create("before", FAR)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                store.promises.get("before")
                store.promises.create("child", FAR)
                code = 0
            finally:
                os._exit(code)
        store.promises.create("parent", FAR)
        assert os.waitpid(child, 0)[1] == 0
        assert [one.id for one in store.promises.search()] == ["before", "child", "parent"]
        assert store.check() == []


def test_tasks_of_a_loop_share_transactions_and_get_their_own_answers(path):
    async def main(store):
        names = [f"p{number}" for number in range(50)]
        replies = await asyncio.gather(*(store.apply_async(create(name)) for name in names))
        assert [reply["data"]["promise"]["id"] for reply in replies] == names
        assert await store.apply_async([create("p0"), "nonsense"]) == store.apply([create("p0"), "nonsense"])
        undone = await store.apply_async([create("undone"), "nonsense"], atomic=True)
        assert [reply["head"]["status"] for reply in undone] == [409, 400]
        moved = await store.apply_async(create("later"), now=500)
        assert moved["head"]["status"] == 200
        assert store.now == 500

    with open_store(path) as store:
        asyncio.run(main(store))
        asyncio.run(main_again(store))
        assert store.counts()["promises"] == {"pending": 51}


async def main_again(store):
    """Runs in another event loop, on the same store."""
    assert (await store.apply_async(create("p1")))["head"]["status"] == 200


def test_an_error_reaches_every_task_that_shared_the_transaction(path):
    async def main():
        store = open_store(path)
        store.close()
        return await asyncio.gather(*(store.apply_async(create(name)) for name in "abc"), return_exceptions=True)

    assert [type(one) for one in asyncio.run(main())] == [rc.Closed] * 3


def command(*arguments):
    run = subprocess.run([sys.executable, "-m", "resonate_core", *arguments], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout, run.stderr


def test_the_check_command_tells_sound_from_broken(path, tmp_path):
    with open_store(path) as store:
        store.promises.create("a", FAR)
    assert command("check", str(path)) == (0, f"{path}: sound; 1 promise, 0 schedules, 0 messages\n", "")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE resonate_promises SET settled_at = 5")
    code, out, _ = command("check", str(path))
    assert code == 1
    assert "(a)" in out
    code, out, err = command("check", str(tmp_path / "nothing.db"))
    assert (code, out) == (2, "")
    assert "nothing.db" in err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize(
    ("name", "words"), [("old.db", "Permission denied"), ("new.db", "cannot create a file in its folder: Permission denied")]
)
def test_no_permission_is_said_so(name, words):
    with tempfile.TemporaryDirectory() as folder:
        open_store(Path(folder) / "old.db").close()
        (Path(folder) / "old.db").chmod(0)
        Path(folder).chmod(0o555)
        child = os.fork()
        if child == 0:
            said = ""
            try:
                if os.geteuid() == 0:  # root has every permission
                    os.setuid(65534)
                rc.Store(Path(folder) / name)
            except rc.StoreError as error:
                said = str(error)
            finally:
                os._exit(0 if words in said and name in said else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert [one.name for one in Path(folder).iterdir()] == ["old.db"]
        Path(folder).chmod(0o755)


RELEASED = sorted((Path(__file__).parents[1] / "data").glob("store-*.db"))


@pytest.mark.parametrize("released", RELEASED, ids=lambda path: path.stem)
def test_a_file_of_a_released_version_opens(released, path):
    """`tests/data` has a file of each version, with its snapshot from when it was written."""
    shutil.copy(released, path)
    with open_store(path) as store:
        assert store.snapshot() == json.loads(released.with_suffix(".json").read_text())
        assert store.check() == []
        assert store.tasks.get("held").state == "acquired"
        store.promises.create("afterwards", FAR)
        for schedule in store.schedules.search():
            assert schedule.next_run_at in {
                step.at for step in store.clock.advance_to(schedule.next_run_at) if step.id == schedule.id
            }
    assert rc.check_file(path) == []


def test_there_is_a_file_of_a_released_version():
    assert RELEASED
