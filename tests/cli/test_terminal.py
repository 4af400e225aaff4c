"""No text of others reaches a terminal as anything but text: every command, with a hostile store and a hostile server, over a pty."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import Asked, enemy, http
from resonate_core.cli.app import command_for

FAR = 2**52
#: What an enemy puts into a text: ESC with a colour and a title, C1, DEL, a bell, marks that turn the direction of writing, characters
#: without a width, separators of lines, a link of a terminal, and the end of a line.
EVIL = (
    "k\x1b[41m\x1b]0;T\x07\x9b32m\x90q\x9c\x7f\u202e\u2066\u200e\u200f\u061c\u200b\u2060\ufeff\u3164\u034f\ufe0f"
    "\u2028\u2029\x85\x0b\x0c\x08\r\x1b]8;;http://e\x1b\\é\U000e0041\n2026-01-01 forged"
)
#: The sequences that the commands themselves write: styles, and the moves of a live view.
OWN = re.compile(r"\x1b\[(?:[0-9;]*m|\?25[lh]|\?1049[lh]|H|2J|\d*[AK]|\?2026[\$hl]p?)")
_HIDDEN = set("\u3164\u034f\ufe0f")

#: Commands that end at once, with arguments for a store and a server, by their path. `{evil}` is the text, `{F}` a file.
COMMANDS: dict[str, list[str]] = {
    "promises get": ["p{evil}"],
    "promises create": ["new{evil}", "--timeout", "+1h", "--tag", "{evil}={evil}"],
    "promises resolve": ["r{evil}"],
    "promises reject": ["r{evil}"],
    "promises cancel": ["r{evil}"],
    "promises settle": ["r{evil}", "--state", "resolved"],
    "promises wait": ["p{evil}", "--limit", "1ms"],
    "promises search": ["--all"],
    "promises callback": ["p{evil}", "t{evil}"],
    "promises listen": ["p{evil}", "poll://any@{evil}"],
    "tasks get": ["t{evil}"],
    "tasks create": ["tn{evil}", "--pid", "{evil}", "--target", "poll://any@x"],
    "tasks acquire": ["t{evil}", "--task-version", "0", "--pid", "{evil}"],
    "tasks release": ["t{evil}", "--task-version", "1"],
    "tasks fulfill": ["t{evil}", "--task-version", "1"],
    "tasks suspend": ["t{evil}", "--task-version", "1", "--awaiting", "p{evil}"],
    "tasks heartbeat": ["--pid", "{evil}"],
    "tasks halt": ["t{evil}"],
    "tasks continue": ["t{evil}"],
    "tasks search": ["--all"],
    "schedules get": ["s{evil}"],
    "schedules create": ["sn{evil}", "--cron", "* * * * *", "--tag", "{evil}={evil}"],
    "schedules delete": ["sd{evil}"],
    "schedules pause": ["s{evil}"],
    "schedules resume": ["s{evil}"],
    "schedules search": ["--all"],
    "jobs list": [],
    "jobs tail": ["--once"],
    "jobs show": ["j{evil}"],
    "jobs graph": ["j{evil}"],
    "jobs enqueue": ["t{evil}", "--payload", "{evil}", "--raw", "--queue", "q{evil}", "--tag", "{evil}={evil}"],
    "jobs run": ["j{evil}", "jr{evil}"],
    "jobs archive": ["j{evil}"],
    "jobs delete": ["j{evil}", "none{evil}"],
    "jobs cancel": ["--all", "--type", "t{evil}", "--yes"],
    "jobs stats": [],
    "workflows list": [],
    "workflows show": ["j{evil}"],
    "workflows tree": ["j{evil}"],
    "workflows send": ["j{evil}", "{evil}", "--value", '"{evil}"'],
    "workflows cancel": ["w{evil}"],
    "workflows fork": ["j{evil}", "j{evil}:1"],
    "queues list": [],
    "queues show": ["q{evil}"],
    "queues set": ["q{evil}", "--weight", "3"],
    "queues pause": ["q{evil}"],
    "queues resume": ["q{evil}"],
    "workers": [],
    "messages": [],
    "tree": ["p{evil}"],
    "why": ["p{evil}"],
    "dash": ["--once"],
    "invoke": ["in{evil}", "--func", "f{evil}"],
    "bench": ["--cycles", "1", "--connections", "1"],
}
#: Commands of files.
FILES: dict[str, list[str]] = {
    "check": ["{F}"],
    "backup": ["{F}", "{F}.{evil}"],
    "copy": ["{F}", "{F}.copy{evil}"],
    "migrate": ["--db", "{F}"],
    "purge": ["--db", "{F}", "--older-than", "1h", "--yes"],
    "vacuum": ["--db", "{F}"],
    "clock reset": ["{F}.none{evil}", "--yes"],
    "config show": ["--config", "{F}.none{evil}"],
    "jobs types": ["no_{evil}:worker"],
    "worker": ["no_{evil}:worker"],
    "workflows rehearse": ["no_{evil}:worker"],
    "conformance": ["http://127.0.0.1:9/{evil}"],
    "ui": ["{F}.none{evil}"],
    "serve": ["--{evil}"],
}

PROGRAM = """
import json, sys
from resonate_core.cli import main
for arguments in json.load(open(sys.argv[1])):
    print(flush=True)
    code = main(arguments)
    sys.stdout.flush(); sys.stderr.flush()
    print(f"== {code} ==", flush=True)
"""


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if getattr(command, "commands", None):
        for name, one in command.commands.items():
            yield from _leaves(one, (*path, name))
    else:
        yield " ".join(path)


def test_every_command_is_here() -> None:
    assert sorted(_leaves(command_for(()))) == sorted({*COMMANDS, *FILES})


def test_one_function_prints() -> None:
    """Whatever a command prints goes through `show.put`, `put_json` or `Output.draw`, which escape texts of others."""
    import resonate_core.cli

    folder = Path(resonate_core.cli.__path__[0])
    others = [path for path in sorted(folder.glob("*.py")) if path.name != "show.py"]
    printing = re.compile(r"(?<![\w.>])print\(|console\.print\(|typer\.(?:s?echo|secho)\(|\.(?:stdout|stderr)\.write\(")
    lines = [
        f"{path.name}: {line.strip()}"
        for path in others
        for line in path.read_text(encoding="utf-8").splitlines()
        if printing.search(line) and not line.strip().startswith((">>>", "..."))
    ]
    assert len(others) > 30 and lines == []


def _forbidden(text: str) -> list[str]:
    """What a terminal would do something with, or not show."""
    rest = OWN.sub("", text)
    found = [
        one for one in rest if one not in "\r\n" and (unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") or one in _HIDDEN)
    ]
    return found + re.findall(r"\x1b\[41m", text) + re.findall(r"^2026-01-01 forged", rest, re.MULTILINE)


def _on_a_terminal(folder: Path, commands: Sequence[Sequence[str]], **environment: str) -> list[str]:
    """Run commands on a terminal; return what each has written, with its exit code at the end."""
    import pty

    path = folder / "commands.json"
    path.write_text(json.dumps(commands))
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200", "LINES": "50", **environment}
    with subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", PROGRAM, str(path)], stdin=theirs, stdout=theirs, stderr=theirs, env=env
    ) as child:
        os.close(theirs)
        read = bytearray()
        until = time.monotonic() + 300
        while time.monotonic() < until:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                part = os.read(ours, 65_536)
            except OSError:  # the child has ended
                break
            if not part:
                break
            read += part
        child.wait(60)
    os.close(ours)
    found = re.split(r"(?<=== )(\d+)(?= ==)", read.decode("utf-8", "surrogateescape"))
    outputs = [f"{text}{code}" for text, code in zip(found[::2], found[1::2], strict=False)]
    assert len(outputs) == len(commands), read[-2000:].decode("utf-8", "replace")
    return outputs


def _store(path: Path | None = None) -> rc.Store:
    """A store whose clients are enemies."""
    store = rc.Store(path, clock=rc.ManualClock(1000)) if path is None else rc.Store(path)
    tags = {EVIL: EVIL, "resonate:target": f"poll://any@{EVIL}"}
    for name in ("p", "r"):
        store.promises.create(f"{name}{EVIL}", FAR, param={"func": EVIL, "args": [EVIL]}, tags={EVIL: EVIL}, headers={EVIL: EVIL})
    store.promises.create(f"p{EVIL}.1", FAR, param={"func": EVIL}, tags={**tags, "resonate:parent": f"p{EVIL}"})
    store.promises.create(f"t{EVIL}", FAR, tags=tags, param=EVIL)
    store.tasks.create(f"held{EVIL}", FAR, pid=EVIL, ttl=10**9, target=f"poll://any@{EVIL}")
    for name in ("s", "sd"):
        store.schedules.create(f"{name}{EVIL}", "0 0 1 1 *", promise_timeout=1000, tags={EVIL: EVIL}, param=EVIL)
    for name in ("j", "jr", "jf"):
        store.jobs.enqueue(
            f"t{EVIL}", EVIL, id=f"{name}{EVIL}", queue=f"q{EVIL}", tags={EVIL: EVIL}, headers={EVIL: EVIL}, group=None
        )
    held = {job.id: job for job in store.jobs.claim(f"q{EVIL}", 3, worker=f"w{EVIL}", lease=10**9, start=3)}
    store.jobs.report(f"jr{EVIL}", held[f"jr{EVIL}"].version, progress=0.5, lines=[EVIL])
    for name in ("j", "jf"):
        store.jobs.report(f"{name}{EVIL}", held[f"{name}{EVIL}"].version, lines=[EVIL])
        store.jobs.fail(f"{name}{EVIL}", held[f"{name}{EVIL}"].version, EVIL, EVIL, EVIL.partition("\n")[0], retryable=name == "j")
    store.queues.set(f"q{EVIL}", weight=3)
    return store


def _filled(arguments: Sequence[str], file: Path) -> list[str]:
    return [one.format(evil=EVIL, F=file) for one in arguments]


def _judge(commands: Sequence[Sequence[str]], outputs: Sequence[str]) -> None:
    bad = {
        " ".join(map(ascii, command[:3])): found
        for command, text in zip(commands, outputs, strict=True)
        if (found := _forbidden(text))
    }
    assert not bad
    raised = {command[0]: text for command, text in zip(commands, outputs, strict=True) if "Traceback" in text}
    assert not raised


def test_a_store_of_enemies(tmp_path: Path) -> None:
    file = tmp_path / "app.db"
    _store(file).close()
    commands = []
    for path, arguments in COMMANDS.items():
        given = [*path.split(), *_filled(arguments, file), "--db", str(file)]
        commands += [given, [*given, "--json"]] if path != "bench" else [given]
    commands += [[*path.split(), *_filled(arguments, file)] for path, arguments in FILES.items()]
    outputs = _on_a_terminal(tmp_path, commands)
    _judge(commands, outputs)
    shown = dict(zip(map(tuple, commands), outputs, strict=True))
    for path in (
        "promises get",
        "jobs show",
        "schedules get",
        "promises search",
        "jobs list",
        "dash",
        "workers",
        "tree",
        "jobs graph",
        "why",
    ):
        text = shown[(*path.split(), *_filled(COMMANDS[path], file), "--db", str(file))]
        assert "\\x1b" in text.replace("\r\n", ""), path


def test_json_on_a_terminal_is_the_same_value(tmp_path: Path) -> None:
    file = tmp_path / "app.db"
    with _store(file) as store:
        promise = store.promises.get(f"p{EVIL}").to_dict()
    given = ["promises", "get", f"p{EVIL}", "--json", "--db", str(file)]
    (text,) = _on_a_terminal(tmp_path, [given])
    document = text.replace("\r\n", "\n").partition("{")[2].rpartition("}")[0]
    assert json.loads("{" + document + "}")["promise"] == promise
    piped = subprocess.run([sys.executable, "-m", "resonate_core", *given], capture_output=True, check=True, timeout=60)
    assert json.loads(piped.stdout)["promise"] == promise
    assert "\u202e" in piped.stdout.decode("utf-8")  # a pipe gets the characters themselves


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_json_in_an_encoding_without_the_characters(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "app.db"
    with rc.Store(file) as store:
        store.promises.create("p", FAR, tags={"ключ": "\U0001f600"})
    given = ["promises", "get", "p", "--json", "--db", str(file)]
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    piped = subprocess.run([sys.executable, "-m", "resonate_core", *given], capture_output=True, check=True, timeout=60, env=env)
    assert json.loads(piped.stdout.decode(encoding))["promise"]["tags"] == {"ключ": "\U0001f600"}


def _poisoned(value: Any, depth: int = 0) -> Any:
    """A reply with a member more in each of its records, whose name and value are the text."""
    if isinstance(value, dict):
        made = {name: _poisoned(one, depth + 1) for name, one in value.items()}
        return {**made, EVIL: EVIL, "more": {EVIL: [EVIL]}} if "id" in value or "name" in value else made
    return [_poisoned(one, depth + 1) for one in value] if isinstance(value, list) else value


def test_a_server_of_an_enemy(tmp_path: Path) -> None:
    store = _store()

    def respond(asked: Asked) -> bytes:
        if asked.method == "GET":
            return http(json.dumps({"error": EVIL}).encode(), "content-security-policy: x", status="403 Forbidden")
        reply = store.apply(asked.envelope)
        data = _poisoned(reply["data"]) if isinstance(reply["data"], dict) else f"{reply['data']}{EVIL}"
        return http(json.dumps({**reply, "data": data}).encode())

    with enemy(respond) as server:
        commands = []
        for path, arguments in COMMANDS.items():
            given = [*path.split(), *_filled(arguments, tmp_path), "--url", server.url]
            commands += [given, [*given, "--json"]] if path != "bench" else [given]
        commands.append(["conformance", server.url, "--requests", "10", "--effort", "quick"])
        _judge(commands, _on_a_terminal(tmp_path, commands))


def test_a_page_of_an_enemy(tmp_path: Path) -> None:
    """The first line of what is no reply is quoted in the error."""
    with enemy(lambda asked: http(EVIL.encode(), status=f"404 {EVIL[:20]}".replace("\n", ""))) as server:
        commands = [["promises", "get", "x", "--url", server.url], ["promises", "get", "x", "--json", "--url", server.url]]
        _judge(commands, _on_a_terminal(tmp_path, commands))
