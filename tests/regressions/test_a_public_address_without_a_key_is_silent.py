"""A server that listened on all addresses of its machine, without tokens, started without a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.served import served

SECRET = "RESONATE_AUTH__SECRET"


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        (("--host", "0.0.0.0"), "WARNING"),
        (("--host", "::"), "WARNING"),
        (("--host", "0.0.0.0", "--debug"), "CRITICAL"),
        (("--host", "127.0.0.1", "--debug"), None),
        (("--host", "localhost"), None),
    ],
)
def test_it_is_said_at_the_start(tmp_path: Path, flags: tuple[str, ...], level: str | None) -> None:
    with served(tmp_path, *flags) as server:
        said = [line for line in server.said().splitlines() if "no key" in line]
        assert len(said) == (level is not None), server.said()
        if level is not None:
            assert f" {level}" in said[0] and "127.0.0.1" in said[0]
            assert ("DELETE ALL DATA" in said[0]) == ("--debug" in flags)


def test_with_a_key_there_is_nothing_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "resonate.toml"
    config.write_text('[auth]\nsecret = "a secret of the tests, thirty-two bytes or more"\n')
    with served(tmp_path, "--host", "0.0.0.0", "--config", config) as server:
        assert "no key" not in server.said()
