"""The exit code of each error, and that an error is one line (or one JSON object) on standard error and nothing else."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from protocol_server import FAR, Run, Server

import resonate_core as rc
from free_ports import free_port

REFUSALS = [
    (["promises", "get", "nobody"], 4, 404),
    (["tasks", "get", "done"], 4, 404),
    (["schedules", "get", "nobody"], 4, 404),
    (["tree", "nobody"], 4, 404),
    (["tasks", "acquire", "job", "-v", "7", "--pid", "w"], 5, 409),
    (["tasks", "release", "job", "-v", "0"], 5, 409),
    (["promises", "create", "", "--timeout", "+1m"], 6, 400),
    (["schedules", "create", "x", "--cron", "never"], 6, 400),
    (["promises", "search", "--limit", "0"], 6, 400),
    (["promises", "callback", "open", "done"], 6, 422),
]
MISUSES = [
    ["promises", "create", "x", "--timeout", "soon"],
    ["promises", "create", "x", "--param", "{no json"],
    ["promises", "create", "x", "--param", "@missing.json"],
    ["promises", "create", "x", "--param", "NaN"],
    ["promises", "create", "x", "--param", "1e400"],
    ["promises", "create", "x", "--param", "[" * 100_000],
    ["promises", "create", "x", "--tag", "no-equals"],
    ["promises", "create", "x", "--tag", "a=1", "--tag", "a=2"],
    ["tasks", "create", "x", "--pid", "w", "--ttl", "-5"],
    ["tasks", "heartbeat", "job", "--pid", "w"],
    ["promises", "search", "--all", "--cursor", "x"],
    ["promises", "get"],
    ["promises", "got", "x"],
    ["nothing"],
    ["promises", "get", "x", "--no-such-flag"],
]


def one_error(ran, code: int, status: int | None) -> None:
    assert (ran.code, ran.out) == (code, "")
    assert ran.error["error"]
    assert (ran.error["status"], ran.error["exit"]) == (status, code)


@pytest.mark.parametrize(
    ("asked", "code", "status"), REFUSALS, ids=lambda value: " ".join(value) if isinstance(value, list) else None
)
def test_refusals_of_the_protocol(run: Run, store_flags: list[str], asked: list[str], code: int, status: int) -> None:
    one_error(run(*asked, *store_flags, "--json"), code, status)
    said = run(*asked, *store_flags)
    assert (said.code, said.out) == (code, "")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("asked", MISUSES, ids=lambda asked: " ".join(asked)[:60])
def test_misuse_is_2_before_anything_is_asked(run: Run, db: Path, asked: list[str]) -> None:
    one_error(run(*asked, "--db", db, "--json"), 2, None)
    said = run(*asked, "--db", db)
    assert (said.code, said.out) == (2, "")
    assert "Traceback" not in said.err


def test_no_store_is_named(run: Run, tmp_path: Path) -> None:
    assert "--db FILE" in run("promises", "get", "x").err
    assert run("promises", "get", "x").code == 2
    assert run("promises", "get", "x", "--db", "a", "--url", "http://h").code == 2
    assert run("promises", "get", "x", "--db", "a", "--token", "t").code == 2
    assert run("purge", "--older-than", "1d").code == 2


@pytest.mark.parametrize(
    "command",
    [
        ["promises", "get", "x"],
        ["promises", "create", "x"],
        ["invoke", "x", "-f", "f"],
        ["purge", "--older-than", "1d"],
        ["vacuum"],
        ["migrate"],
        ["messages"],
        ["bench"],
    ],
)
def test_a_file_that_is_not_there_is_named_and_not_made(run: Run, tmp_path: Path, command: list[str]) -> None:
    missing = tmp_path / "missing.db"
    ran = run(*command, "--db", missing)
    assert (ran.code, ran.out) == (3, "")
    assert "missing.db" in ran.err
    assert not missing.exists()


def test_make_makes_it(run: Run, tmp_path: Path) -> None:
    assert run("promises", "create", "x", "--db", tmp_path / "new.db", "--make").code == 0
    assert run("promises", "get", "x", "--db", tmp_path / "new.db").code == 0


def test_files_that_are_no_stores(run: Run, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("a text that is longer than the head of a database" * 50)
    for path in (tmp_path / "text.db", tmp_path):
        ran = run("promises", "get", "x", "--db", path)
        assert (ran.code, ran.out) == (3, "")
        assert str(path) in ran.err
    assert run("check", tmp_path / "text.db").code == 2
    assert run("check", tmp_path / "missing.db").code == 2
    assert run("backup", tmp_path / "missing.db", tmp_path / "b.db").code == 3


def test_check_takes_the_file_in_each_way(run: Run, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = run("check", db).out
    assert run("check", "--db", db).out == sound
    assert run("check").code == 2
    assert run("check", db, "--db", db).err == "FILE and --db exclude each other\n"
    for place, shown in (("http://127.0.0.1:8001", "http://127.0.0.1:8001"), ("redis://:s3cret@h/0", "redis://...@h/0")):
        for words, name in ((["check", place], "FILE"), (["check", "--db", place], "--db")):
            ran = run(*words)
            assert (ran.code, ran.out) == (2, "")
            rule = "must be the path of a SQLite file or a URL sqlite:/// or postgresql://"
            assert ran.err.startswith(f"{name} {rule}, got '{shown}'")
    monkeypatch.setenv("RESONATE_STORE__PATH", str(db))
    assert run("check").out == sound


def test_check_tells_damage(run: Run, db: Path) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("UPDATE resonate_promises SET settled_at = 5 WHERE id = 'open'")
    ran = run("check", db, "--json")
    assert (ran.code, ran.json["sound"]) == (1, False)
    assert any("(open)" in problem for problem in ran.json["problems"])


def test_nobody_listens(run: Run) -> None:
    unused_port = free_port()
    ran = run("promises", "get", "x", "--url", f"http://127.0.0.1:{unused_port}", "--json")
    one_error(ran, 3, None)
    assert str(unused_port) in ran.error["error"]


@pytest.mark.parametrize("url", ["ftp://h", "h:8001", "http://", "", "http://[::1"])
def test_urls_that_are_none(run: Run, url: str) -> None:
    assert run("promises", "get", "x", "--url", url).code == 2


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, b"<html>hello", 3),
        (404, b"", 3),
        (200, b'{"kind": "x"}', 3),
        (200, b"[]", 3),
        (200, b'{"kind": "promise.get", "head": {"corrId": "another", "status": 200}, "data": {}}', 3),
        (413, b"too large", 6),
        (429, b"later", 3),
        (503, b"later", 3),
        (401, b"Unauthorized", 7),
        (500, b'{"kind": "unknown", "head": {"corrId": "0", "status": 500}, "data": "Internal error"}', 1),
        (400, b'{"kind": "unknown", "head": {"corrId": "0", "status": 400}, "data": "what?"}', 6),
    ],
)
def test_answers_that_are_none_of_the_protocol(run: Run, server: Server, status: int, body: bytes, code: int) -> None:
    server.answer = lambda _: (status, "text/plain", body)
    ran = run("promises", "get", "x", "--url", server.url)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.count("\n") == 1


def test_the_token_goes_into_head_and_header_and_is_never_said(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.token = "secret-token"
    assert run("promises", "get", "done", "--url", server.url).code == 7
    assert run("promises", "get", "done", "--url", server.url, "--token", "secret-token").code == 0
    monkeypatch.setenv("RESONATE_TOKEN", "secret-token")
    assert run("promises", "get", "done", "--url", server.url).code == 0
    assert run("tasks", "create", "x", "--pid", "w", "--target", "poll://any@g", "--url", server.url).code == 0
    assert server.asked[-1]["data"]["action"]["head"]["auth"] == "secret-token"
    assert server.authorizations[-1] == "Bearer secret-token"
    ran = run("promises", "get", "done", "--url", server.url, "--token", "bad secret\n")
    assert ran.code == 2
    assert "secret" not in ran.err


def test_a_server_under_a_path_and_from_the_environment(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("promises", "get", "done", "--url", f"{server.url}/mounted").code == 0
    assert run("promises", "get", "done", "--url", f"{server.url}//").code == 0
    monkeypatch.setenv("RESONATE_URL", server.url)
    assert run("promises", "get", "done").code == 0


def test_bytes_that_are_no_text(run: Run, store_flags: list[str]) -> None:
    ran = run("promises", "get", "\udcff", *store_flags, "--json")
    assert ran.code in (2, 6)
    assert ran.error["error"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_is_said_so(db: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "resonate_core", "promises", "search", "--db", str(db)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "output: No space left on device\n")


def test_an_encoding_without_the_letters(db: Path) -> None:
    with rc.Store(db) as store:
        store.promises.create("ünïcode", FAR)
        store.promises.create("ünïcode.1", FAR)
    done = subprocess.run(
        [sys.executable, "-m", "resonate_core", "tree", "ünïcode", "--db", str(db)],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xfcn\\xefcode.1" in done.stdout


def test_two_stores_in_the_environment_are_not_guessed(run: Run, server: Server, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESONATE_URL", server.url)
    monkeypatch.setenv("RESONATE_STORE__PATH", str(db))
    assert run("promises", "get", "done").code == 2
    assert run("promises", "get", "done", "--db", db).code == 0
    assert run("promises", "get", "done", "--url", server.url).code == 0


def test_a_reader_that_leaves_is_no_error(db: Path) -> None:
    with rc.Store(db) as store:
        store.promises.create_many([f"{'x' * 300}{number}" for number in range(2000)], FAR)
    command = f"{json.dumps(sys.executable)} -m resonate_core promises search --all --db {json.dumps(str(db))} | head -n 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (141, "")
    assert done.stdout.startswith("done\tresolved")


def test_without_typer_check_is_still_there(db: Path) -> None:
    program = (
        "import importlib.util as u, sys; find = u.find_spec; u.find_spec = lambda n, *a: None if n == 'typer' else find(n, *a)\n"
    )
    program += "from resonate_core.cli import main; sys.exit(main(sys.argv[1:]))"

    def bare(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)

    assert bare("check", str(db)).returncode == 0
    assert bare("check", "missing.db").returncode == 2
    assert bare("check", "--db", str(db)).stdout == bare("check", str(db)).stdout
    for arguments in ([], [str(db), "--db", str(db)], ["redis://h/0"], ["--db", "redis://h/0"]):
        refused = bare("check", *arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
    other = bare("promises", "get", "x")
    assert other.returncode == 2
    assert "resonate-core[cli]" in bare("--help").stdout
