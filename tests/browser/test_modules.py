"""The files of the dashboard: small, without inline code, without addresses of other hosts, and with vendored libraries unchanged."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

import resonate_core

UI = Path(resonate_core.__file__).parent / "ui"
MODULES = UI / "modules"
VENDOR = MODULES / "vendor"
PINS = json.loads((VENDOR / "pins.json").read_text())
MOST = 300 * 1024
OURS = sorted(path for path in MODULES.rglob("*") if path.suffix in (".js", ".css") and VENDOR not in path.parents)


def loaded() -> dict[str, int]:
    """Returns the sizes of all files that the page may load: the named ones, and the files named in these."""
    sizes: dict[str, int] = {}
    waiting = [UI / "index.html"]
    while waiting:
        path = waiting.pop()
        name = path.relative_to(UI).as_posix()
        if name in sizes:
            continue
        content = path.read_bytes()
        sizes[name] = len(content)
        named = re.findall(r"""(?:src=|href=|from |import\(|import |URL\()["']([^"'#]+\.(?:js|css|svg))["']""", content.decode())
        waiting += [(path.parent / target).resolve() for target in named]
    return sizes


def test_a_browser_loads_less_than_300_kb() -> None:
    sizes = loaded()
    assert {"modules/vendor/uplot.js", "modules/timeline.js", "modules/diff.js", "modules/views/job.js"} <= set(sizes)
    assert sum(sizes.values()) < MOST, sorted(sizes.items(), key=lambda item: -item[1])[:8]
    packed = sum(len(gzip.compress((UI / name).read_bytes())) for name in sizes)
    assert packed < 120_000, f"{packed} bytes are sent to a browser, which accepts gzip"
    unused = {path.relative_to(UI).as_posix() for path in MODULES.rglob("*.js")} - set(sizes)
    assert unused <= {"modules/timeline_widget.js"}, "only notebooks load the widget"


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: pin["package"])
def test_vendored_files_are_the_published_ones(pin: dict[str, object]) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", str(pin["version"]))
    assert str(pin["integrity"]).startswith("sha512-")
    assert pin["licence"] in ("MIT", "Apache-2.0", "OFL-1.1", "BSD-3-Clause")
    files = pin["files"]
    assert isinstance(files, list)
    assert any(file["to"].startswith("LICENSE") for file in files), "the licence comes with it"
    for file in files:
        assert hashlib.sha256((VENDOR / file["to"]).read_bytes()).hexdigest() == file["sha256"], file["to"]


def test_every_vendored_file_has_a_pin() -> None:
    pinned = {file["to"] for pin in PINS for file in pin["files"]}
    assert {path.name for path in VENDOR.iterdir()} == {*pinned, "pins.json"}


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(MODULES).as_posix())
def test_a_module_needs_nothing_from_elsewhere(path: Path) -> None:
    text = path.read_text()
    addresses = [
        found
        for found in re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}", re.sub(r"^\s*(//|/\*|\*).*$", "", text, flags=re.M))
        if "www.w3.org" not in found
    ]
    assert addresses == []
    assert not re.search(
        r"\beval\(|new Function|innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|setAttribute\(.style",
        text,
    )
    for target in re.findall(r"""(?:from|import)\s*\(?\s*["']([^"']+)["']""", text):
        assert target.startswith("."), f"{target} must be a relative path"
        assert (path.parent / target).resolve().is_file(), f"{target} must exist"


def test_the_page_has_no_inline_code() -> None:
    page = (UI / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\bstyle=|\bon\w+=", page) == []
    for target in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert not target.startswith(("/", "http")), "the dashboard may be mounted anywhere"
        assert (UI / target).is_file(), target


def test_the_comparison_names_tests_that_exist() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs" / "dashboard_compared.md").read_text()
    targets = dict(re.findall(r"^\[(\w+)\]: (.+)$", page, flags=re.M))
    used = set(re.findall(r"\[yes\]\[(\w+)\]", page))
    assert used == set(targets)
    for target in targets.values():
        file, name = re.fullmatch(r'\.\./(tests/browser/\w+\.py) "(\w+)"', target).groups()  # type: ignore[union-attr]
        assert f"def {name}(" in (root / file).read_text(), target
