"""The notebooks run from top to bottom, and give the stored output."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pages import ROOT

# The module notebook_outputs, and nbformat, take seconds to import: each process of a run collects this file, but one runs its tests.
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SHOWN = {
    "01_promises_tasks_time": [
        "409 version of task",
        "Replay(ok=True",
        "17,519 steps",
        "'rejected_canceled'",
        "<caption>Promise</caption>",
    ],
    "02_jobs": [
        "25 retries over  20.47 days",
        "horsies, fixed         36,000 attempts; {'completed': 7200, 'failed': 7200}",
        "run by hand: 5008",
        "left alone: all charged 10.6 h after the service was back",
    ],
    "03_durability": [
        "killed by signal 9 after answering at least 101 times: True",
        "lost: [] broken: []",
        "held by the dead process: True - expired later: True",
        "in the file nothing has moved: True",
        "purged what is settled: True - left: True",
        "in the backup they are all there: True",
    ],
    "04_test_your_workflows": [
        "charges: ['order-1']",
        "payload $.cents: got 8400, expected 4800",
        "it is a job of type 'charge' in queue 'orders': scheduled, process_at 60000",
        "charged 2 times",
        "ann crashes",
        "3000 runs without a failure: True",
        "with the version in the key: charged 2 times",
    ],
    "05_a_week_of_a_shop": [
        "Friday 14:00 bob crashes with",
        "orders were charged late",
        "minutes after the provider was back",
        "'Sat': 23, 'Sun': 18",
        "less than 1 MB: True",
        "From the shop at 2026-06-08",
        "Replay(ok=True",
    ],
    "06_workflows": [
        "day 3.00  a reminder to bob",
        "{'ann': 'active', 'bob': 'gave up', 'cleo': 'gave up'}",
        "ConnectionError: the mail server does not answer",
        "in the fork: active - in the store: gave up",
        "always 'each mail once': it does not hold",
        "runs with crashes, without a failure: True",
    ],
}
PICTURES = {
    "01_promises_tasks_time": 3,
    "02_jobs": 5,
    "03_durability": 0,
    "04_test_your_workflows": 1,
    "05_a_week_of_a_shop": 4,
    "06_workflows": 1,
}


@pytest.fixture(autouse=True)
def quiet_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lets the kernel use files in a folder of its own, instead of the home directory."""
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    import notebook_outputs

    notebook_outputs.keep_kernels_in(tmp_path)


def test_every_notebook_is_known_here() -> None:
    import notebook_outputs

    assert notebook_outputs.NOTEBOOKS == NOTEBOOKS
    assert {notebook.stem for notebook in NOTEBOOKS} == set(SHOWN) == set(PICTURES)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_stored_with_what_it_shows(notebook: Path) -> None:
    import nbformat
    import notebook_outputs

    stored = nbformat.read(notebook, as_version=4)
    assert notebook_outputs.problems_of(stored) == []
    outputs = [output for cell in stored.cells for output in cell.get("outputs", [])]
    pictures = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert [len(picture) > notebook_outputs.SMALLEST_PICTURE for picture in pictures] == [True] * PICTURES[notebook.stem]
    assert notebook.stat().st_size < 500_000


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_and_shows_what_is_stored(notebook: Path) -> None:
    import nbformat
    import notebook_outputs

    fresh = notebook_outputs.run(notebook)
    outputs = [output for cell in fresh.cells for output in cell.get("outputs", [])]
    shown = "\n".join(str(output.get("text", "")) + "".join(map(str, output.get("data", {}).values())) for output in outputs)
    assert not [word for word in SHOWN[notebook.stem] if word not in shown]
    assert notebook_outputs.problems_of(fresh) == []
    assert notebook_outputs.differences(nbformat.read(notebook, as_version=4), fresh) == []


def one_cell(output: object, **options: object) -> object:
    from nbformat.v4 import new_code_cell, new_notebook

    return new_notebook(cells=[new_code_cell("pass", outputs=[output], execution_count=1, **options)])


def test_what_counts_as_a_difference() -> None:
    import notebook_outputs
    from nbformat.v4 import new_code_cell, new_notebook, new_output

    def text(shown: str, **options: object) -> object:
        return one_cell(new_output("stream", name="stdout", text=shown), **options)

    def picture(data: str) -> object:
        return one_cell(new_output("display_data", data={"image/png": data, "text/plain": "<Figure>"}))

    compare = notebook_outputs.differences
    assert compare(text("3 jobs in 1.25 s at 0x7f00aa"), text("3 jobs in 0.75 s at 0x7f11bb")) == []
    assert compare(text("3 jobs"), text("4 jobs")) == [
        "cell 0: stored [{'streamstdout': '3 jobs'}], got [{'streamstdout': '4 jobs'}]"
    ]
    varies = {"metadata": {"tags": ["varies"]}}
    assert compare(text("3 jobs", **varies), text("4 jobs")) == []
    assert compare(text("3 jobs", **varies), new_notebook(cells=[new_code_cell("pass")])) != []
    assert compare(picture("a" * 5000), picture("b" * 6000)) == []
    assert compare(picture("a" * 5000), picture("b" * 100)) != []
    assert compare(picture("a" * 5000), text("no picture")) != []


def test_what_is_stored_of_a_widget() -> None:
    import notebook_outputs
    from nbformat.v4 import new_notebook, new_output

    data = {
        "application/vnd.jupyter.widget-view+json": {},
        "text/html": "<svg>",
        "image/svg+xml": "<svg>",
        "image/png": "x",
        "text/plain": "T",
    }
    cell, warned = (
        notebook_outputs.kept(one_cell(output)).cells[0]
        for output in (
            new_output("display_data", data=data, metadata={"image/png": {"width": 5}}),
            new_output("stream", name="stderr", text="beware"),
        )
    )
    assert set(cell.outputs[0]["data"]) == {"image/png", "text/plain"}
    assert notebook_outputs.problems_of(new_notebook(cells=[cell, warned])) == [
        "not run from top to bottom",
        "code cell 2 shows an error or a warning",
    ]
