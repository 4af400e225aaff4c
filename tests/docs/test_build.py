"""The pages build without a warning and fetch nothing, and every file and link that they name exists."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, PAGES, ROOT, texts_of

import resonate_core.errors
import resonate_core.worker
from once import made_once

PICTURE = DOCS / "pictures" / "order.svg"
SCRIPT = r"""<(?:script|img|iframe|source)[^>]*\bsrc=["'](?:https?:)?//"""
STYLE = r"""<link[^>]*\bhref=["'](?:https?:)?//|@import|url\(["']?https?:"""
FETCHED = re.compile(f"{SCRIPT}|{STYLE}")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages."""

    def make(out: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            # Without each function in the table of contents of its page, which Sphinx copies for each other page: a third of the time.
            "-D",
            "toc_object_entries=0",
            "-d",
            out / "doctrees",
            DOCS,
            out / "html",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stderr  # a warning is an error; the kernels of the notebooks may log

    return made_once(tmp_path_factory, "docs", make) / "html"


def test_every_page_is_built(built: Path) -> None:
    wanted = {page.relative_to(DOCS).with_suffix(".html") for page in PAGES if page.is_relative_to(DOCS)}
    assert wanted <= {page.relative_to(built) for page in built.rglob("*.html")}


def test_the_notebooks_have_the_outputs_of_a_run(built: Path) -> None:
    page = (built / "notebooks" / "02_jobs.html").read_text(encoding="utf-8")
    assert "25 retries over  20.47 days" in page
    assert list((built / "_images").glob("*.png"))


def test_the_pages_fetch_nothing_from_elsewhere(built: Path) -> None:
    found = {page.name: FETCHED.findall(page.read_text(encoding="utf-8")) for page in built.rglob("*.html")}
    assert not {name: hits for name, hits in found.items() if hits}


def test_the_reference_has_everything_that_is_exported(built: Path) -> None:
    reference = (built / "api.html").read_text(encoding="utf-8")
    names = set(resonate_core.__all__) - {"__version__", "display", "errors"}
    described = set(re.findall(r'id="resonate_core\.(?:errors\.)?(\w+)"', reference))
    assert not names - described
    for module in (resonate_core.errors, resonate_core.worker):
        described = set(re.findall(rf'id="{re.escape(module.__name__)}\.(\w+)"', reference))
        assert not set(module.__all__) - described - {"JobRecord"}, module.__name__  # another name of Job
    server = (built / "server.html").read_text(encoding="utf-8")
    assert 'id="resonate_core.asgi.create_app"' in server


def test_files_that_the_pages_name_exist() -> None:
    named = re.compile(r"`((?:cpp|python|tests|docs|bench|notebooks|examples|scripts)/[\w./-]*)`")
    linked = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    missing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        missing += [f"{page.name}: {path}" for path in named.findall(text) if not (ROOT / path).exists()]
        missing += [f"{page.name}: {path}" for path in linked.findall(text) if not (page.parent / path).exists()]
    assert not missing


def test_the_committed_picture_is_what_the_order_looks_like(tmp_path: Path) -> None:
    runpy.run_path(str(DOCS / "pictures" / "order.py"))["draw"](tmp_path / "order.svg")
    assert texts_of(PICTURE) == texts_of(tmp_path / "order.svg")
    assert {"order.charge", "held by cleo", "lease expired", "409"} <= set(texts_of(PICTURE))
