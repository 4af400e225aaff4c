"""Rule (j): calls in a workflow's own code that are not deterministic give a warning with the replacement, on each Python."""

from __future__ import annotations

import asyncio
import functools
import json
import random
import re
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from workflow_runs import drained, last

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.worker.workflows import determinism
from resonate_core.workflow import NonDeterministicWarning, gather, run, step

HERE = Path(__file__).parent


def pythons() -> list[str]:
    """This Python, and those of other versions beside it or on the path."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    for version in ("3.10", "3.11", "3.12", "3.13"):
        candidates = [str(each) for each in Path(sys.base_prefix).parent.glob(f"{version}*/bin/python")]
        for candidate in [*candidates, shutil.which(f"python{version}")]:
            if candidate and version not in found and _runs(candidate, version):
                found[version] = candidate
    return [found[version] for version in sorted(found)]


def _runs(python: str, version: str) -> bool:
    code = "import sys; print(*sys.version_info[:2], sep='.')"
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip() == version


def expected() -> list[tuple[int, str]]:
    lines = (HERE / "warned_programs.py").read_text().splitlines()
    return [(number, line.partition("# warned: ")[2]) for number, line in enumerate(lines, 1) if "# warned: " in line]


@pytest.mark.parametrize("python", pythons())
def test_what_is_called_is_warned_of_and_nothing_else(python: str) -> None:
    modules = Path(determinism.__file__).parent
    ran = subprocess.run([python, HERE / "found_warnings.py", modules], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert [tuple(each) for each in json.loads(ran.stdout)] == expected()


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No code was read before."""
    monkeypatch.setattr(determinism, "_seen", set())


@pytest.mark.usefixtures("seen")
def test_a_warning_names_the_workflow_the_call_and_the_replacement_at_its_place(worker: Worker) -> None:
    async def code() -> float:
        await asyncio.sleep(5)  # the place
        return time.time() + random.random()

    with pytest.warns(NonDeterministicWarning) as caught:
        worker.workflow("order:fulfil")(code)
    assert [str(each.message) for each in caught] == [
        "workflow 'order:fulfil' calls asyncio.sleep, which holds the worker, and begins anew in each replay: use sleep() of "
        "resonate_core.workflow, or call it in a step",
        "workflow 'order:fulfil' calls time.time, which is another value in each replay: use now() of resonate_core.workflow, or call it "
        "in a step",
        "workflow 'order:fulfil' calls random.random, which is another value in each replay: use random() or run() of "
        "resonate_core.workflow, or call it in a step",
    ]
    assert caught[0].filename == __file__
    assert "the place" in Path(__file__).read_text().splitlines()[caught[0].lineno - 1]


@pytest.mark.usefixtures("seen")
def test_code_is_looked_at_once(worker: Worker) -> None:
    async def code() -> float:
        return time.time()

    with pytest.warns(NonDeterministicWarning):
        worker.workflow("a")(code)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        worker.workflow("b")(code)


@pytest.mark.usefixtures("seen")
def test_wrapped_and_partial_functions_are_looked_at(worker: Worker) -> None:
    async def code(add: int) -> float:
        return time.time() + add

    @functools.wraps(code)
    async def wrapped(add: int) -> float:
        return await code(add)

    with pytest.warns(NonDeterministicWarning, match=r"time\.time"):
        worker.workflow("a")(wrapped)


@pytest.mark.usefixtures("seen")
def test_a_coroutine_in_gather_is_looked_at_once(store: rc.Store, worker: Worker) -> None:
    clock = time.time

    async def branch(of: Any) -> float:
        return clock() * 0 + of()  # a call of a variable of the function around it, and of an argument

    @worker.workflow("w")
    async def w() -> list[float]:
        return list(await gather(branch(random.random), branch(random.random), run(len, "a")))

    w.using(id="a").delay()
    w.using(id="b").delay()
    with pytest.warns(NonDeterministicWarning) as caught:
        drained(worker)
    said = [str(each.message) for each in caught]
    assert len(said) == 2
    assert "branch() in workflow 'w' calls time.time" in said[0] and "branch() in workflow 'w' calls random.random" in said[1]


@pytest.mark.usefixtures("seen")
def test_steps_and_tasks_may_call_anything(store: rc.Store, worker: Worker) -> None:
    @step
    async def steps() -> float:
        await asyncio.sleep(0)
        return time.time() * 0 + random.random() * 0

    @worker.task("plain")
    def plain() -> float:
        return time.time()

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @worker.workflow("w")
        async def w() -> float:
            return await steps() + await run(time.monotonic) * 0

        w.delay()
        assert last(worker) == 0


@pytest.mark.usefixtures("seen")
def test_it_can_be_silenced_as_any_warning(worker: Worker) -> None:
    async def code() -> float:
        return time.time()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=NonDeterministicWarning)
        worker.workflow("w")(code)


@pytest.mark.usefixtures("seen")
def test_callables_without_bytecode_are_no_error(worker: Worker) -> None:
    class Callable_:
        def __call__(self) -> float:
            return 1.0

    worker.workflow("object")(Callable_())
    worker.workflow("builtin")(time.time)


def test_each_replacement_exists() -> None:
    import resonate_core.workflow as names

    for warned in determinism._WARNED.values():
        for name in re.findall(r"(\w+)\(", warned.instead):
            assert hasattr(names, name), warned
