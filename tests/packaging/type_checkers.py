"""Runs mypy and pyright on Python files, as `scripts/check` does on the package."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[2]


def mypy(folder: Path, *options: str) -> list[tuple[str, int, str]]:
    """Returns the errors in the files of a folder: file, line and text.

    By default the version is that of `scripts/check`, and no option is another one: so mypy knows the package from that run.
    """
    version = () if "--python-version" in options else ("--python-version", "3.12")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--show-absolute-path",
        *version,
        *options,
    ]
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(.+?):(\d+): error: (.*)$", done.stdout, re.M)
    return [(Path(file).name, int(line), text) for file, line, text in found]


def pyright(folder: Path, **settings: object) -> list[tuple[str, int, str]]:
    """Returns the errors in the files of a folder, with the settings of the project: file, line and text."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        whole = tomllib.load(file)["tool"]["basedpyright"]
    whole |= {"include": ["."], "extraPaths": [str(ROOT / "python")], **settings}
    (folder / "pyrightconfig.json").write_text(json.dumps(whole))
    command = [
        str(Path(sys.executable).with_name("basedpyright")),
        "--outputjson",
        "-p",
        str(folder),
        "--pythonpath",
        sys.executable,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] > 0
    return [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, f"{one['message']} [{one.get('rule', 'syntax')}]")
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    ]
