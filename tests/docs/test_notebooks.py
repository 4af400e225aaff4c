"""The notebooks run from top to bottom, and none is committed with what it printed."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from pages import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SHOWN = {
    "01_promises_tasks_time": [
        "409 version of task",
        "Replay(ok=True",
        "17,519 steps",
        "'rejected_canceled'",
        "<caption>Promise</caption>",
        "held by bob",
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
        "held by ann",
        "3000 runs without a failure: True",
        "with the version in the key: charged 2 times",
    ],
}


@pytest.fixture(autouse=True)
def quiet_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The kernel talks through files of its own, not through ports and a home directory."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))


def test_every_notebook_is_known_here() -> None:
    assert {notebook.stem for notebook in NOTEBOOKS} == set(SHOWN)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_committed_without_outputs(notebook: Path) -> None:
    for cell in nbformat.read(notebook, as_version=4).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs(notebook: Path) -> None:
    document = nbformat.read(notebook, as_version=4)
    NotebookClient(document, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(notebook.parent)}}).execute()
    outputs = [output for cell in document.cells for output in cell.get("outputs", [])]
    shown = "\n".join(str(output.get("text", "")) + "".join(map(str, output.get("data", {}).values())) for output in outputs)
    assert not [word for word in SHOWN[notebook.stem] if word not in shown]
    assert not any(output.get("name") == "stderr" for output in outputs)
