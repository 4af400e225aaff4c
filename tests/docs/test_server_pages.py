"""The tables of the pages about the server agree with its models, its metrics and the tests of clients."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from pages import DOCS, table

from integration.clients import own_tests
from integration.clients.published import CLIENTS
from integration.clients.table import PROGRAMS
from resonate_core.server.metrics import Metrics
from resonate_core.server.settings import Settings

METRIC = re.compile(r"\bresonate_\w+")


def page(name: str) -> str:
    """Returns a page's text."""
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_tables_of_settings_are_what_the_models_say() -> None:
    script = runpy.run_path(str(DOCS / "settings_tables.py"))
    text = page("server.md")
    assert script["written"](text) == text, "run docs/settings_tables.py"
    assert all(f"### `[{table}]`" in text for table in Settings.model_fields)


def test_the_configuration_of_the_unit_is_one(tmp_path: Path) -> None:
    (written,) = re.findall(r"^```toml\n(.*?)^```$", page("operations.md"), flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "resonate.toml").write_text(written)
    settings = Settings.load(tmp_path / "resonate.toml")
    assert settings.server.url == "https://resonate.example" and settings.log.format == "json"


def exposed() -> set[str]:
    """Returns the names of the metrics of a server on a database; a histogram is one name."""
    names = set()
    for family in Metrics(in_database=True).registry.collect():
        names.add(family.name + ("_total" if family.type == "counter" else ""))
    return names


def test_the_table_of_metrics_has_all_of_them() -> None:
    seen = [row[0].strip("`") for row in table(page("operations.md"), "name")]
    assert set(seen) == exposed() and len(seen) == len(set(seen))


def test_alerts_are_about_metrics_that_there_are() -> None:
    (rules,) = re.findall(r"^```yaml\n(.*?)^```$", page("operations.md"), flags=re.DOTALL | re.MULTILINE)
    used = {name.removesuffix("_bucket") for name in METRIC.findall(rules)}
    assert used <= exposed() and len(used) > 5
    assert len(re.findall(r"- alert: ", rules)) == len(re.findall(r"  expr: ", rules))


def test_the_table_of_clients_is_the_one_that_is_run() -> None:
    text = page("clients.md")
    heads = re.findall(r"^\| program \| (`.*) \|$", text, flags=re.MULTILINE)[0]
    assert [head.strip("` ") for head in heads.split("|")] == [client.name for client in CLIENTS]
    seen = {row[0].strip("`"): row[1:] for row in table(text, "program | `python-0.8`") if row[0]}
    expected = {one.name: ["limit" if client.name in one.limits else "ok" for client in CLIENTS] for one in PROGRAMS}
    assert seen == expected
    assert [row[0].strip("`") for row in table(text, "program | expected result")] == list(expected)
    own = {row[1]: row[3] for row in table(text, "SDK | version | fetched from")}
    assert own == {own_tests.RUST: f"{own_tests.RUST_TESTS} pass", own_tests.GO: f"{own_tests.GO_TESTS} pass"}
