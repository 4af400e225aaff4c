"""The published clients: their places, how to run their programs, and the reasons for which one is missing."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SET_UP = ROOT / "build" / "clients"
"""The folder in which scripts/lib/clients.sh installs the clients that are not in this environment."""


@dataclass(frozen=True)
class Client:
    """One published client.

    Attributes:
        name: The name in the test ids.
        language: The set of programs that it runs, of the two.
        missing: The reason why it cannot be used here, or None.
        command: The command that runs a program in a folder made by `prepare`.
        prepare: Copies our programs into a folder from which they can import the client.
        environment: Further environment variables of the programs.
        readme: The text of the README that was published with it.
    """

    name: str
    language: str
    missing: str | None
    command: Callable[[str], list[str]]
    prepare: Callable[[Path], None]
    readme: Callable[[], str]
    environment: dict[str, str] = field(default_factory=dict)


def _copy(programs: Path, folder: Path) -> None:
    for program in programs.iterdir():
        if program.is_file():
            (folder / program.name).write_bytes(program.read_bytes())


def _python(name: str, interpreter: Path, missing: str | None, metadata: Callable[[], str]) -> Client:
    return Client(
        name=name,
        language="python",
        missing=missing,
        command=lambda program: [str(interpreter), "-u", f"{program}.py"],
        prepare=lambda folder: _copy(HERE / "programs" / "python", folder),
        readme=metadata,
    )


def _newest_python() -> Client:
    missing: str | None = None
    try:
        importlib.metadata.version("resonate-sdk")
    except importlib.metadata.PackageNotFoundError:
        missing = f"resonate-sdk is not installed beside Python {sys.version.split()[0]} (it needs 3.12)"

    def readme() -> str:
        return importlib.metadata.distribution("resonate-sdk").read_text("METADATA") or ""

    return _python("python-0.8", Path(sys.executable), missing, readme)


def _set_up(name: str, needed: Path) -> str | None:
    if (SET_UP / name / "client.stamp").is_file() and needed.exists():
        return None
    log = SET_UP / name / "setup.log"
    seen = log.read_text(encoding="utf-8").strip().splitlines()[-1:] if log.is_file() else []
    return f"scripts/setup has not set it up: {seen[0] if seen else 'it was not run'}"


def _older_python() -> Client:
    environment = SET_UP / "python-0.7" / "venv"
    interpreter = environment / "bin" / "python"

    def readme() -> str:
        (found,) = environment.glob("lib/python*/site-packages/resonate_sdk-*.dist-info/METADATA")
        return found.read_text(encoding="utf-8")

    return _python("python-0.7", interpreter, _set_up("python-0.7", interpreter), readme)


def _typescript(name: str, engine: str) -> Client:
    modules = SET_UP / "typescript" / "node_modules"
    node = modules / "node" / "bin" / "node"

    def prepare(folder: Path) -> None:
        _copy(HERE / "typescript", folder)
        (folder / "node_modules").symlink_to(modules)

    return Client(
        name=name,
        language="typescript",
        missing=_set_up("typescript", node),
        command=lambda program: [str(node), "--disable-warning=ExperimentalWarning", f"{program}.ts"],
        prepare=prepare,
        readme=lambda: (modules / "@resonatehq" / "sdk" / "README.md").read_text(encoding="utf-8"),
        environment={"PEER_ENGINE": engine},
    )


# The TypeScript SDK has two engines that run functions by different code, so each of them is a client here.
CLIENTS = [
    _newest_python(),
    _older_python(),
    _typescript("typescript-0.11", "generators"),
    _typescript("typescript-0.11-async", "async"),
]


def code_blocks(readme: str, language: str) -> list[str]:
    """The programs in a README, as published."""
    return re.findall(rf"^```{language}\n(.*?)^```$", readme, flags=re.DOTALL | re.MULTILINE)


def version(client: Client) -> str:
    """The exact version of a client."""
    if client.language == "typescript":
        package = SET_UP / "typescript" / "node_modules" / "@resonatehq" / "sdk" / "package.json"
        return str(json.loads(package.read_text(encoding="utf-8"))["version"])
    (found,) = re.findall(r"^Version: (.*)$", client.readme(), flags=re.MULTILINE)
    return str(found)
