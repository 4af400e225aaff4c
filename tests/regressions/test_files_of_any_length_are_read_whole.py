"""`resonate-core promises create --param @/dev/zero` read until the memory was full; a `resonate.toml` of 100,000 brackets was a traceback;
`serve --auth-public-key` of a pipe waited for ever. What a person gives as a text has a limit, and a file that a setting names is a regular
one, of a bounded size, before it is read."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import resonate_core as rc
from command_line import run_command
from resonate_core.base.files import MOST_OF_A_TEXT

_MEMORY = 2_000_000_000


def run(
    *arguments: str, cwd: Path, stdin: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of bounded memory."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith(("RESONATE_", "SSL_"))}
    with open(stdin or os.devnull, "rb") as given:
        return subprocess.run(
            [sys.executable, "-m", "resonate_core", *arguments],
            stdin=given,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd,
            env=surroundings | (env or {}),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY)),
        )


def is_one_line(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    """Checks that a command has refused its options with one line, which contains some texts."""
    assert done.returncode == 2, (done.returncode, done.stderr[-2000:])
    assert len(done.stderr.splitlines()) == 1, done.stderr[-2000:]
    assert all(text in done.stderr for text in texts), done.stderr


TEXTS = {
    "param": ("promises", "create", "x", "--param"),
    "raw": ("promises", "create", "x", "--raw", "--param"),
    "value": ("promises", "resolve", "x", "--value"),
    "payload": ("jobs", "enqueue", "t", "--payload"),
    "arg": ("invoke", "x", "--func", "f", "--arg"),
}


@pytest.mark.parametrize("name", ["param", "raw"])
def test_a_device_without_end_is_an_error(name: str, tmp_path: Path) -> None:
    rc.Store(tmp_path / "a.db").close()
    for given, stdin in (("@/dev/zero", None), ("-", Path("/dev/zero"))):
        done = run(*TEXTS[name], given, "--db", "a.db", cwd=tmp_path, stdin=stdin)
        is_one_line(done, "--param", f"must have at most {MOST_OF_A_TEXT} bytes")


@pytest.mark.parametrize("name", TEXTS)
def test_each_text_of_a_file_has_a_limit(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resonate_core.base.files.MOST_OF_A_TEXT", 100)
    monkeypatch.chdir(tmp_path)
    rc.Store(tmp_path / "a.db").close()
    long = tmp_path / "long.json"
    long.write_text('"' + "ä" * 50 + '"')
    for given in (f"@{long}", "-"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(long.read_bytes()), "utf-8"))
        ran = run_command(capsys, *TEXTS[name], given, "--db", "a.db")
        assert ran.code == 2 and "must have at most 100 bytes" in ran.err, ran.err
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), "utf-8"))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff")
    for given in (f"@{binary}", "-"):
        ran = run_command(capsys, *TEXTS[name], given, "--db", "a.db")
        assert ran.code == 2 and "it is not UTF-8" in ran.err, ran.err


def test_a_pipe_of_the_shell_is_still_a_text(tmp_path: Path) -> None:
    """`--param @<(…)`, of a program that is slow to write."""
    rc.Store(tmp_path / "a.db").close()
    command = (
        f"{sys.executable} -m resonate_core promises create x --db a.db --param @<(sleep 0.3; echo '[1,'; sleep 0.3; echo '2]')"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with rc.Store(tmp_path / "a.db") as store:
        assert store.promises.get("x").param.json() == [1, 2]


CONFIGURATIONS = {
    "deep": b"a=" + b"[" * 100_000,
    "deep tables": b"[" + b"a." * 100_000 + b"a]",
    "nested": b"[log]\nlevel=" + b"[" * 300 + b"]" * 300,
    "huge": b"# " + b"x" * 3_000_000,
    "binary": bytes(range(256)) * 100,
    "digits": b"[server]\nport = " + b"9" * 5000,
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_is_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / "resonate.toml").write_bytes(CONFIGURATIONS[name])
    (tmp_path / "empty").mkdir()
    for arguments, cwd in (
        (("config", "show", "--config", str(tmp_path / "resonate.toml")), tmp_path / "empty"),
        (("promises", "get", "x"), tmp_path),
    ):
        is_one_line(run(*arguments, cwd=cwd), "log.level" if name == "nested" else "resonate.toml")


def pipe(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


def test_a_setting_names_a_regular_file(tmp_path: Path) -> None:
    made = pipe(tmp_path)
    for arguments in (
        ("config", "show", "--config", made),
        ("promises", "get", "x", "--config", "/dev/zero"),
        ("promises", "get", "x", "--config", str(tmp_path)),
    ):
        is_one_line(run(*arguments, cwd=tmp_path), arguments[-1])


@pytest.mark.parametrize("place", ["pipe", "/dev/zero"])
def test_a_key_and_a_certificate_are_regular_files(place: str, tmp_path: Path) -> None:
    made = pipe(tmp_path)
    place = made if place == "pipe" else place
    for options in (
        ("--auth-public-key", place),
        ("--tls-certificate", place, "--tls-key", place),
    ):
        done = run("serve", "--port", "0", *options, cwd=tmp_path)
        assert done.returncode == 3, (done.returncode, done.stderr[-2000:])
        assert "it is not a regular file" in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_long_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(b"x" * 2_000_000)
    done = run("serve", "--port", "0", "--auth-public-key", "key.pem", cwd=tmp_path)
    assert done.returncode == 3 and "must have at most 262144 bytes" in done.stderr, done.stderr


def test_a_recording_is_a_regular_file(tmp_path: Path) -> None:
    done = run("ui", pipe(tmp_path), cwd=tmp_path)
    assert done.returncode == 3 and "it is not a regular file" in done.stderr, done.stderr


def test_the_lines_of_a_recording_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from resonate_core.history import History

    monkeypatch.setattr("resonate_core.explain.recordings.MOST_OF_A_LINE", 1000)
    (tmp_path / "long.jsonl").write_bytes(b" " * 1001)
    with pytest.raises(rc.Invalid, match=r"trace line 1: a line must have at most 1000 bytes"):
        History(tmp_path / "long.jsonl")
    with pytest.raises(rc.Invalid, match=r"trace line 1: a line must have at most 1000 bytes"):
        History("/dev/zero")
