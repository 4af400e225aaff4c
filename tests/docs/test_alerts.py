"""Every alert of the page on operations fires on scrapes of a real server in trouble, and stops when the trouble is over.

A server is scraped before, in and after each trouble. Prometheus's `promtool` evaluates the rules of deploy/alerts.yaml on series of these
values: the gauges as they were scraped, the counters rising in each interval by what the trouble moved them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from pages import DOCS
from troubles import TROUBLES, Trouble, in_trouble

RULES = DOCS.parent / "deploy" / "alerts.yaml"
PAGE = (DOCS / "operations.md").read_text(encoding="utf-8")
ALERTS = re.findall(r"^      - alert: (\w+)", PAGE, re.MULTILINE)
#: Made by Prometheus itself: whether it could scrape.
DOWN = "ResonateDown"
INTERVAL = 30
#: The number of intervals before, in and after the trouble. The last is longer than any range in the rules.
BEFORE, DURING, AFTER = 20, 90, 260
COUNTERS = ("_total", "_bucket", "_count", "_sum")

Scrape = dict[str, float]


def series_of(name: str, labels: dict[str, str]) -> str:
    pairs = {"job": "resonate", "instance": "server:8001", **labels}
    return name + "{" + ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(pairs.items())) + "}"


def scraped(trouble: Trouble, folder: Path) -> tuple[Scrape, Scrape, Scrape]:
    """The samples before, in and after the outage, by series."""
    with in_trouble(trouble, folder / "a.db") as on:

        def scrape() -> Scrape:
            return {series_of(name, labels): value for name, labels, value in on.samples()}

        trouble.before(on)
        before = scrape()
        trouble.begins(on)
        during = scrape()
        trouble.ends(on)
        return before, during, scrape()


def values_of(series: str, before: Scrape, during: Scrape, after: Scrape, times: int) -> str:
    """Returns one series in promtool's notation."""

    def level(value: float | None, intervals: int) -> str:
        return f"_x{intervals}" if value is None else f"{value}x{intervals - 1}"

    first, second, third = before.get(series), during.get(series), after.get(series)
    if not series.partition("{")[0].endswith(COUNTERS):
        return f"{level(first, BEFORE)} {level(second, DURING)} {level(third, AFTER)}"
    start = first or 0.0
    step = ((second or start) - start) * times
    reached = start + step * DURING
    return f"{level(first, BEFORE)} {start + step}+{step}x{DURING - 1} {reached}x{AFTER - 1}"


def case(name: str, series: dict[str, str]) -> dict[str, object]:
    """Returns a test for promtool: the alert is silent at first, fires in the outage, and is silent at the end."""
    firing = f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) > bool 0'
    minutes = {"silent": BEFORE * INTERVAL // 60 - 1, "firing": (BEFORE + DURING) * INTERVAL // 60 - 1}
    minutes["over"] = (BEFORE + DURING + AFTER) * INTERVAL // 60 - 1
    return {
        "name": name,
        "interval": f"{INTERVAL}s",
        "input_series": [{"series": key, "values": values} for key, values in sorted(series.items())],
        "promql_expr_test": [
            {"expr": firing, "eval_time": f"{minutes['silent']}m", "exp_samples": []},
            {"expr": firing, "eval_time": f"{minutes['firing']}m", "exp_samples": [{"labels": "{}", "value": 1}]},
            {"expr": firing, "eval_time": f"{minutes['over']}m", "exp_samples": []},
        ],
    }


def promtool(*arguments: str | Path) -> None:
    program = shutil.which("promtool")
    assert program, "promtool is not installed (Debian: prometheus)"
    ran = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def judge(folder: Path, name: str, series: dict[str, str]) -> None:
    """Runs promtool on the rules of one alert: it would evaluate those of the others at each instant too."""
    file, own = folder / "test.yaml", folder / "rules.yaml"
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    for group in groups:
        group["rules"] = [rule for rule in group["rules"] if rule.get("alert") in (None, name)]
    own.write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    tests = {"rule_files": [str(own)], "evaluation_interval": f"{INTERVAL}s", "tests": [case(name, series)]}
    file.write_text(yaml.safe_dump(tests), encoding="utf-8")
    promtool("test", "rules", file)


def test_every_alert_is_tried() -> None:
    assert set(ALERTS) == {*TROUBLES, DOWN}


def test_promtool_accepts_the_rules() -> None:
    promtool("check", "rules", RULES)


@pytest.mark.parametrize("name", TROUBLES)
def test_an_alert_fires_and_is_resolved(tmp_path: Path, name: str) -> None:
    trouble = TROUBLES[name]
    before, during, after = scraped(trouble, tmp_path)
    series = {key: values_of(key, before, during, after, trouble.times) for key in {*before, *during, *after}}
    judge(tmp_path, name, series)


def test_a_server_that_does_not_answer(tmp_path: Path) -> None:
    judge(tmp_path, DOWN, {series_of("up", {}): f"1x{BEFORE - 1} 0x{DURING - 1} 1x{AFTER - 1}"})
