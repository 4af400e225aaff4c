"""`resonate-core copy` with a configuration. tests/integration/storage/test_copy_command.py tests the copy itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from protocol_server import FAR, Run

import resonate_core as rc


@pytest.mark.parametrize("interval", [1000, 60_000])
def test_the_interval_of_dispatches_is_that_of_the_configuration(run: Run, tmp_path: Path, interval: int) -> None:
    """An undelivered message delays the next dispatch to an instant that depends on the interval."""
    for name, content in (("own.toml", f"[store]\nretry_timeout_ms = {interval}\n"), ("resonate.toml", "")):
        (tmp_path / name).write_text(content)
    options = {"clock": rc.ManualClock(0), "retry_timeout": interval}
    with rc.Store(tmp_path / "a.db", **options) as store:
        store.promises.create("job", FAR, tags={"resonate:target": "poll://any@shop"})
        store.clock.advance(12_345)
        store.promises.create("later", FAR)
        expected = store.snapshot()
    assert run("copy", "a.db", "b.db", "--config", "own.toml").code == 0
    with rc.Store(tmp_path / "b.db", clock=rc.ManualClock(0), retry_timeout=interval) as store:
        assert store.snapshot() == expected


def test_the_place_of_the_configuration_is_not_used(run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESONATE_STORE__PATH", "other.db")
    ran = run("copy", db, "b.db", "--json")
    assert (ran.code, ran.json["from"], ran.json["to"]) == (0, str(db), "b.db")
    assert not (tmp_path / "other.db").exists()
    assert run("copy", db).code == 2


def test_a_copy_is_durable(run: Run, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command syncs its commit to the disk, even if the configuration sets another durability for a server."""
    opened = []
    make = rc.Store

    def store(*arguments: object, **options: object) -> rc.Store:
        opened.append(options.get("durability"))
        return make(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(rc, "Store", store)
    (tmp_path / "resonate.toml").write_text('[store]\ndurability = "normal"\n')
    assert run("copy", db, "b.db").code == 0
    assert opened == ["normal", "full"]


def test_a_folder_that_does_not_exist(run: Run, db: Path) -> None:
    ran = run("copy", db, "none/b.db")
    assert (ran.code, ran.out) == (3, "")
    assert "the folder" in ran.err
