"""Flags override the environment, which overrides the file; an error names the wrong value and its rule, but no secret."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from protocol_server import Run

from resonate_core.cli.configuration import flag_of
from resonate_core.cli.flags import parameters
from resonate_core.server.settings import Settings

SECRET = "correct-horse-battery-staple-32-bytes"


def shown(run: Run, *arguments: object) -> dict[str, dict[str, dict[str, Any]]]:
    ran = run("config", "show", "--json", *arguments)
    assert ran.code == 0, ran.err
    return ran.json["settings"]


PRECEDENCE = [
    (None, None, None, 8001, "default"),
    (1001, None, None, 1001, "file"),
    (None, 1002, None, 1002, "environment"),
    (None, None, 1003, 1003, "flag"),
    (1001, 1002, None, 1002, "environment"),
    (1001, None, 1003, 1003, "flag"),
    (None, 1002, 1003, 1003, "flag"),
    (1001, 1002, 1003, 1003, "flag"),
]


@pytest.mark.parametrize(("file", "environment", "flag", "value", "origin"), PRECEDENCE)
def test_who_wins(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: int | None,
    environment: int | None,
    flag: int | None,
    value: int,
    origin: str,
) -> None:
    written = tmp_path / "c.toml"
    written.write_text(f"[server]\nhost = '127.0.0.9'\n{'' if file is None else f'port = {file}'}\n")
    if environment is not None:
        monkeypatch.setenv("RESONATE_SERVER__PORT", str(environment))
    settings = shown(run, "--config", written, *(() if flag is None else ("--port", flag)))
    port = settings["server"]["port"]
    assert (port["value"], port["origin"]) == (value, origin)
    # What only the file says holds whatever else is said of its table.
    assert settings["server"]["host"] == {"value": "127.0.0.9", "origin": "file", "source": str(written)}


def test_where_the_file_is_looked_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("config", "show", "--json").json["file"] is None
    Path("resonate.toml").write_text("[server]\nport = 1\n")
    assert shown(run)["server"]["port"]["value"] == 1
    (tmp_path / "named.toml").write_text("[server]\nport = 2\n")
    monkeypatch.setenv("RESONATE_CONFIG", str(tmp_path / "named.toml"))
    assert shown(run)["server"]["port"]["value"] == 2
    (tmp_path / "given.toml").write_text("[server]\nport = 3\n")
    assert shown(run, "--config", tmp_path / "given.toml")["server"]["port"]["value"] == 3


def test_every_setting_has_a_flag_of_its_own() -> None:
    flags = [flag_of(table, key) for table, field in Settings.model_fields.items() for key in field.annotation.model_fields]
    assert len(flags) == len(set(flags)) == len(parameters())
    assert {"--db", "--port", "--host", "--durability", "--workers", "--tls-certificate", "--tls-key", "--debug"} <= set(flags)
    assert not {"--config", "--json", "--help"} & set(flags)


def test_lists_switches_and_numbers_or_words(run: Run) -> None:
    settings = shown(
        run,
        "--push-allow",
        "10.0.0.0/8,127.0.0.0/8",
        "--push-allow",
        "::1/128",
        "--debug",
        "--no-metrics",
        "--retry-timeout-ms",
        "ttl",
    )
    assert settings["push"]["allow"]["value"] == ["10.0.0.0/8", "127.0.0.0/8", "::1/128"]
    assert settings["server"]["debug"]["value"] is True
    assert settings["server"]["metrics"] == {"value": False, "origin": "flag", "source": "--metrics"}
    assert settings["store"]["retry_timeout_ms"]["value"] == "ttl"
    assert shown(run, "--retry-timeout-ms", "77")["store"]["retry_timeout_ms"]["value"] == 77


WRONG = [
    (["--port", "99999"], {}, "", ["server.port = '99999'", "flag --port", "65535"]),
    (["--port", "many"], {}, "", ["server.port = 'many'", "integer"]),
    ([], {"RESONATE_SERVER__PORT": "-1"}, "", ["server.port = '-1'", "RESONATE_SERVER__PORT"]),
    ([], {}, "[server]\nport = 'x'", ["server.port = 'x'", "file c.toml"]),
    ([], {}, "[server]\nprot = 1", ["server.prot", "no such setting", "c.toml"]),
    ([], {}, "[severs]\nport = 1", ["severs", "no such setting"]),
    ([], {"RESONATE_SERVER__PROT": "1"}, "", ["server.prot", "no such setting"]),
    ([], {}, "[server\nport = 1", ["c.toml"]),
    (["--durability", "none"], {}, "", ["store.durability = 'none'", "full"]),
    (["--workers", "2"], {}, "", ["store.path"]),
    (["--tls-key", "k.pem"], {}, "", ["server", "tls_certificate and tls_key"]),
    (["--engine", "granian"], {}, "", ["engine must be left out", "'granian'", "create_app", "docs/server.md"]),
    ([], {"RESONATE_SERVER__ENGINE": "uvicorn"}, "", ["engine must be left out", "'uvicorn'"]),
    ([], {}, "[server]\nengine = 'granian'", ["engine must be left out", "'granian'"]),
    (["--push-allow", "localhost"], {}, "", ["push.allow", "localhost"]),
    ([], {"RESONATE_STORE": "{"}, "", ["environment", "store"]),
]


@pytest.mark.parametrize(("flags", "environment", "written", "words"), WRONG)
@pytest.mark.parametrize("command", [["serve"], ["config", "show"]], ids=" ".join)
def test_what_breaks_a_rule_is_named(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    flags: list[str],
    environment: dict[str, str],
    written: str,
    words: list[str],
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Path("c.toml").write_text(written)
    ran = run(*command, *flags, "--config", "c.toml")
    assert (ran.code, ran.out) == (2, "")
    assert all(word in ran.err for word in words), ran.err
    assert "Traceback" not in ran.err


def test_a_variable_that_names_no_table_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be meant for another server; here it would silently mean nothing."""
    monkeypatch.setenv("RESONATE_TASKS__RETRY_TIMEOUT", "500")
    ran = run("config", "show")
    assert ran.code == 2
    assert "RESONATE_TASKS__RETRY_TIMEOUT must name a table of settings, got 'tasks'; tables: store, server," in ran.err
    monkeypatch.delenv("RESONATE_TASKS__RETRY_TIMEOUT")
    monkeypatch.setenv("RESONATE_URL", "http://localhost:1")  # the clients'
    assert run("config", "show").code == 0


def test_a_configuration_file_that_is_missing_is_named(run: Run) -> None:
    ran = run("config", "show", "--config", "gone.toml")
    assert ran.code == 2
    assert "gone.toml" in ran.err


SECRETS: list[tuple[list[str], dict[str, str], str]] = [
    (["--auth-secret", SECRET], {}, ""),
    ([], {"RESONATE_AUTH__SECRET": SECRET, "RESONATE_PUSH__TOKEN": SECRET}, ""),
    ([], {}, f"[auth]\nsecret = '{SECRET}'\n[push]\ntoken = '{SECRET}'"),
    (["--auth-secret", SECRET[:20]], {}, ""),
    (["--auth-secret", SECRET, "--auth-public-key", "k.pem"], {}, ""),
    (["--auth-secret", SECRET, "--auth-leeway", "-1"], {}, ""),
    ([], {"RESONATE_AUTH": f'{{"secret": "{SECRET}'}, ""),
    ([], {}, f"[auth]\nsecret = ['{SECRET}']"),
    ([], {}, f"[auth]\nsecrets = '{SECRET}'"),
    ([], {}, f"[auth]\nsecret = '{SECRET}"),
    ([], {}, f"auth = '{SECRET}'"),
]


@pytest.mark.parametrize(("flags", "environment", "written"), SECRETS)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_secrets_are_never_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch, flags: list[str], environment: dict[str, str], written: str, form: list[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    Path("c.toml").write_text(written)
    ran = run("config", "show", *flags, "--config", "c.toml", *form)
    assert SECRET[:20] not in ran.out + ran.err
    if ran.code == 0:
        assert "********" in ran.out


class Served:
    """Replaces the server that would start."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.settings: list[Settings] = []

    def __call__(self, settings: Settings) -> int:
        self.settings.append(settings)
        return self.code


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    stand_in = Served(5)
    module = types.ModuleType("resonate_core.server.run")
    module.serve = stand_in  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "resonate_core.server.run", module)
    return stand_in


def test_serve_hands_the_settings_over_and_ends_as_the_server_does(run: Run, served: Served) -> None:
    ran = run("serve", "--db", "a.db", "--port", "0", "--durability", "normal", "--access-log")
    assert (ran.code, ran.out, ran.err) == (5, "", "")
    (settings,) = served.settings
    assert (settings.store.path, settings.store.durability, settings.server.port, settings.log.access) == (
        "a.db",
        "normal",
        0,
        True,
    )


def test_serve_says_when_nothing_is_kept(run: Run, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "from memory" in run("serve").err
    monkeypatch.setenv("RESONATE_STORE__PATH", "b.db")
    assert run("serve").err == ""
    assert [one.store.path for one in served.settings] == [None, "b.db"]


def test_commands_on_a_file_use_its_table(run: Run, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("resonate.toml").write_text(f"[store]\npath = '{db}'\nrules = 'strict'\n")
    assert run("promises", "get", "done").code == 0
    assert run("promises", "listen", "open", "poll://uni@g/i").code == 6  # strict: it is internal
    monkeypatch.setenv("RESONATE_STORE__RULES", "compatible")
    assert run("promises", "listen", "open", "poll://uni@g/i").code == 0
    monkeypatch.setenv("RESONATE_STORE__RULES", "lax")
    assert run("promises", "get", "done").code == 2
