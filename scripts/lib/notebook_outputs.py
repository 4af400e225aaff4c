"""Runs notebooks, and stores or compares what they show."""

from __future__ import annotations

import argparse
import copy
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
#: The tag of a cell whose text is not the same in each run; only the kinds of its outputs are compared.
VARIES = "varies"
#: A picture has at least so many characters, in Base64: an empty one has fewer.
SMALLEST_PICTURE = 2000
_WIDGET = "application/vnd.jupyter.widget-view+json"
#: What a widget hides while it runs: the class is of one run.
_STILL = re.compile(r'^<div class="resonate-still-\w+">(.*)</div>$', re.DOTALL)
_VARYING = [
    (re.compile(r"0x[0-9a-f]{6,}"), "0x…"),
    (re.compile(r"\b[\d,]+(?:\.\d+)? ?(?:µs|ms|s|seconds)\b"), "… s"),
    (re.compile(r"/tmp/[\w./-]+"), "/tmp/…"),
]


def run(path: Path) -> Any:
    """Run a notebook in a kernel of its own, from top to bottom, and return it with outputs as they are stored."""
    document = nbformat.read(path, as_version=4)
    execute(document, resources={"metadata": {"path": str(path.parent)}})
    return kept(document)


def execute(document: Any, **options: Any) -> None:
    """Run the cells of a document in a kernel of its own, whose sockets are files: another process may take a port before a kernel does."""
    with tempfile.TemporaryDirectory(prefix="kernel-") as folder:
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/s"}})
        NotebookClient(document, timeout=300, kernel_name="python3", config=sockets, **options).execute()


def keep_kernels_in(folder: Path) -> None:
    """Give the kernels files of their own, not of the home directory, and a log of errors only."""
    profile = folder / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text("get_config().IPKernelApp.log_level = 'ERROR'\n", encoding="utf-8")
    os.environ |= {"JUPYTER_RUNTIME_DIR": str(folder), "IPYTHONDIR": str(folder)}


def kept(document: Any) -> Any:
    """Return a notebook without what differs from run to run or needs a kernel: times, widgets, the names of machines."""
    result = copy.deepcopy(document)
    result.metadata.pop("widgets", None)
    result.metadata["language_info"] = {"name": "python"}
    for cell in result.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined([_kept_output(output) for output in cell.outputs if not _is_widget_alone(output)])
    return result


def _joined(outputs: list[Any]) -> list[Any]:
    """What a cell printed as one text: in how many parts it came is chance."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.get("name") is not None and output.get("name") == last.get("name"):
            last["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def _is_widget_alone(output: Any) -> bool:
    """Whether an output is a widget whose picture is an output of its own."""
    data = output.get("data", {})
    return _WIDGET in data and not any(value for kind, value in data.items() if kind != _WIDGET)


def _kept_output(output: Any) -> Any:
    data = output.get("data")
    if data is None:
        return output
    data.pop(_WIDGET, None)
    if "text/html" in data:
        data["text/html"] = _STILL.sub(r"\1", data["text/html"])
    if "image/png" in data:  # a page of a repository shows this one everywhere; it leaves out the SVG of a page
        for name in ("text/html", "image/svg+xml"):
            data.pop(name, None)
        output.metadata = {}
    return output


def differences(stored: Any, fresh: Any) -> list[str]:
    """Return what a stored notebook shows otherwise than the run of its code, one line for each cell."""
    found = []
    for number, (old, new) in enumerate(zip(stored.cells, fresh.cells, strict=True)):
        if old.cell_type != "code":
            continue
        before, after = (_told(cell) for cell in (old, new))
        if VARIES in old.metadata.get("tags", []):
            before, after = ([sorted(output) for output in told] for told in (before, after))
        if before != after:
            found.append(f"cell {number}: stored {before!r}, got {after!r}")
    return found


def _told(cell: Any) -> list[dict[str, Any]]:
    return [_told_output(output) for output in cell.outputs]


def _told_output(output: Any) -> dict[str, Any]:
    """An output by its kinds: texts without what varies, pictures only by being there."""
    if "data" not in output:
        return {output["output_type"] + output.get("name", ""): _steady(str(output.get("text", output.get("evalue", ""))))}
    told = {}
    for kind, value in output["data"].items():
        if kind.startswith("image/"):
            told[kind] = "a picture" if len(str(value)) >= SMALLEST_PICTURE else f"{len(str(value))} characters only"
        else:
            told[kind] = _steady(str(value))
    return told


def _steady(text: str) -> str:
    for pattern, stands in _VARYING:
        text = pattern.sub(stands, text)
    return text


def problems_of(document: Any) -> list[str]:
    """Return what a stored notebook lacks: a run of each cell, in order, without errors and warnings."""
    found = []
    cells = [cell for cell in document.cells if cell.cell_type == "code"]
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        found.append("not run from top to bottom")
    for number, cell in enumerate(cells, start=1):
        if any(output["output_type"] == "error" or output.get("name") == "stderr" for output in cell.outputs):
            found.append(f"code cell {number} shows an error or a warning")
    return found


def main() -> int:
    """Store the outputs, or with --check say which notebooks show something else."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, help="the notebooks; all if there is none")
    parser.add_argument("--check", action="store_true", help="compare, change nothing")
    options = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        keep_kernels_in(Path(folder))
        for path in options.notebooks or NOTEBOOKS:
            fresh = run(path)
            found = problems_of(fresh)
            if options.check:
                found += differences(nbformat.read(path, as_version=4), fresh)
            elif not found:
                nbformat.write(fresh, path)
            failed |= bool(found)
            print(f"{path.name}: {'; '.join(found) if found else 'the same' if options.check else 'stored'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
