"""The files in deploy/ name settings, metrics and commands that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from resonate_core.server.metrics import Metrics
from resonate_core.server.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def document(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))


SERVICES: dict[str, Any] = document("compose.yaml")["services"]
RULES: list[dict[str, Any]] = [rule for group in document("alerts.yaml")["groups"] for rule in group["rules"]]


def samples() -> set[str]:
    """Returns the names of the samples that a server exposes."""
    endings = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "gauge": [""]}
    return {family.name + ending for family in Metrics().registry.collect() for ending in endings[family.type]}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    used = set(re.findall(r"\bresonate_\w+", rule["expr"]))
    assert used <= samples()
    assert used or rule["expr"].startswith("up{")
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"].endswith(" ({{ $labels.instance }})")


BOARD: dict[str, Any] = json.loads((DEPLOY / "dashboard.json").read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = [panel for panel in BOARD["panels"] if panel["type"] != "row"]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel(panel: dict[str, Any]) -> None:
    """A panel has a description, and reads only metrics that a server exposes."""
    assert panel["description"].endswith(".") and panel["targets"]
    for target in panel["targets"]:
        used = set(re.findall(r"\bresonate_\w+", target["expr"]))
        assert used <= samples() and (used or "up{" in target["expr"])


def test_the_panels_share_the_board() -> None:
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in BOARD["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_the_alerts_are_those_of_the_page() -> None:
    (written,) = re.findall(r"^```yaml\n(.*?)^```$", OPERATIONS, flags=re.DOTALL | re.MULTILINE)
    (group,) = yaml.safe_load(written)["groups"]
    assert [{key: rule[key] for key in rule if key not in ("labels", "annotations")} for rule in RULES] == group["rules"]


def test_the_image_is_that_of_the_page() -> None:
    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    assert f"```text\n{image}```\n" in OPERATIONS


def names_of_settings() -> set[str]:
    return {
        f"RESONATE_{table}__{key}".upper()
        for table, field in Settings.model_fields.items()
        for key in field.annotation.model_fields
    }  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "postgres"])
def test_a_service(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environment: dict[str, str] = SERVICES[name]["environment"]
    ours = {key: value for key, value in environment.items() if key.startswith("RESONATE_")}
    assert set(ours) <= names_of_settings()
    assert set(environment) - set(ours) == {"PGPASSWORD"}
    for key, value in ours.items():
        monkeypatch.setenv(key, value)
    settings = Settings.load(None)
    database = SERVICES["postgres"]["environment"]
    assert settings.store.path == f"postgresql://{database['POSTGRES_USER']}@postgres/{database['POSTGRES_DB']}"
    assert environment["PGPASSWORD"] == database["POSTGRES_PASSWORD"]


def test_the_variables_of_the_image_are_settings() -> None:
    image = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    found = set(re.findall(r"\bRESONATE_\w+", image))
    assert found
    assert found <= names_of_settings()


def test_the_servers_differ_where_they_must() -> None:
    servers = [service for name, service in SERVICES.items() if name.startswith("server-")]
    assert len(servers) == 2
    environments = [one["environment"] for one in servers]
    assert {one["RESONATE_DELIVERY__PROCESSES"] for one in environments} == {"2"}
    assert len({one["RESONATE_SERVER__URL"] for one in environments}) == 2
    assert all(port.startswith("127.0.0.1:") for one in servers for port in one["ports"]), "they check no tokens"
    for one in servers:
        assert one["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
        assert int(one["stop_grace_period"].removesuffix("s")) > Settings().server.graceful_timeout
