"""A test that a plugin repeats got the closed store of its first attempt, an explored coroutine failed in pytest-asyncio's auto mode, and
without the plugin `tmpdir` no fixture worked.

Each run of pytest is a process of its own, which loads the plugins that it names and no others.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tiers import every

HEAD = "import pytest\nimport resonate_core as rc\n"
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs pytest on a file with this text; returns its output if it passed."""

    def run(text: str, *arguments: str) -> str:
        (tmp_path / "test_it.py").write_text(HEAD + text)
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RESONATE_"))}
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        command = [sys.executable, "-m", "pytest", "-p", "resonate_core_pytest", "-p", "no:cacheprovider", "-q", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


#: Tests that fail at their first attempt. The second gets a new clock, store, worker and server.
REPEATED = {
    "store": "def test_flaky(resonate_store):\n    {}resonate_store.promises.create('a', timeout=1000); assert len(runs) > 1\n",
    "clock": "def test_flaky(resonate_clock):\n    {}assert resonate_clock.now == 0; resonate_clock.advance(5); assert len(runs) > 1\n",
    "worker": "def test_flaky(resonate_worker, resonate_clock):\n"
    "    {}assert resonate_worker.client.store.clock is resonate_clock\n"
    "    resonate_worker.task('t')(lambda: 1).enqueue(id='a')\n"
    "    assert len(resonate_worker.run_until_idle()) == 1 and len(runs) > 1\n",
    "server": "def test_flaky(resonate_server):\n"
    "    {}resonate_server.client().promises.create('a', timeout=10**6); assert len(runs) > 1\n",
    "sqlite": "@pytest.mark.resonate_backends('sqlite', 'memory')\n"
    "def test_flaky(resonate_store):\n"
    "    {}resonate_store.promises.create('a', timeout=1000); assert len(runs) not in (1, 3)\n",
    "explored": "@pytest.mark.resonate_explore(runs=2)\n"
    "def test_flaky(resonate_choices, resonate_store):\n"
    "    {}resonate_store.promises.create('a', timeout=1000); assert len(runs) > 20\n",
}


@pytest.mark.parametrize("case", every(2, REPEATED))
def test_a_test_that_is_run_again(run: Run, case: str):
    pytest.importorskip("pytest_rerunfailures")
    out = run("runs = []\n" + REPEATED[case].format("runs.append(1); "), "-p", "pytest_rerunfailures", "--reruns", "5")
    assert "rerun" in out


@pytest.mark.parametrize("case", every(3, [case for case in REPEATED if case != "explored"]))
def test_a_flaky_test(run: Run, case: str):
    pytest.importorskip("flaky")
    text = "runs = []\n" + REPEATED[case].format("runs.append(1); ")
    run(text.replace("def test_flaky", "@pytest.mark.flaky(max_runs=5)\ndef test_flaky"), "-p", "flaky.flaky_pytest_plugin")


WORLD = """
seen = []

@pytest.mark.resonate_explore(runs=2)
async def test_world(resonate_world):
    seen.append(1)

class TestClass:
    @pytest.mark.resonate_explore(runs=2)
    async def test_world(self, resonate_world):
        seen.append(1)

def test_they_ran():
    assert len(seen) == 4
"""


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_an_explored_coroutine_beside_pytest_asyncio(run: Run, mode: str):
    pytest.importorskip("pytest_asyncio")
    text = WORLD + "\nasync def test_plain(resonate_store):\n    await resonate_store.aio.promises.create('a', timeout=1000)\n"
    if mode == "strict":
        text = re.sub(r"^( *)async def", r"\1@pytest.mark.asyncio\n\1async def", text, flags=re.MULTILINE)
    assert "4 passed" in run(text, "-p", "pytest_asyncio.plugin", "-o", f"asyncio_mode={mode}")


def test_a_failure_of_an_explored_coroutine_is_shown(run: Run):
    pytest.importorskip("pytest_asyncio")
    text = (
        "@pytest.mark.xfail(strict=True)\n@pytest.mark.resonate_explore(runs=2)\nasync def test_it(resonate_world):\n    assert 0\n"
    )
    assert "1 xfailed" in run(text, "-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto")


def test_without_folders_of_pytest(run: Run):
    text = """
@pytest.mark.resonate_backends("memory", "sqlite")
def test_store(resonate_store, resonate_worker):
    resonate_worker.task("t")(lambda: 1).enqueue()
    assert len(resonate_worker.run_until_idle()) == 1

@pytest.mark.xfail(strict=True)
def test_failing(resonate_store):
    resonate_store.promises.create("a", timeout=1000)
    assert 0
"""
    assert "2 passed, 1 xfailed" in run(text, "-p", "no:tmpdir")


def test_a_failure_without_folders_of_pytest_has_its_trace(run: Run, tmp_path: Path):
    text = "def test_failing(resonate_store):\n    resonate_store.promises.create('a', timeout=1000)\n    assert 0\n"
    with pytest.raises(AssertionError) as failed:
        run(text, "-p", "no:tmpdir")
    assert "INTERNALERROR" not in str(failed.value) and "run it again with --resonate-seed=0" in str(failed.value)
