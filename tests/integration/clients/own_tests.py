"""The SDKs for Go and Rust: each publishes end-to-end tests of its own, which run on the server at `RESONATE_URL`.

Both are fetched by the package manager of their language, in the given version, and are not changed. Nothing of them is in this repository.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from integration.clients.published import SET_UP, code_blocks
from integration.clients.server_process import clean_environment

RUST = "0.6.0"
RUST_TESTS = 30
GO = "v0.0.0-20260611175528-7982d67afce9"
GO_TESTS = 27
GO_MODULE = "github.com/resonatehq/resonate-sdk-go"
GO_EXAMPLES = ("fibonacci", "hello", "pipeline", "saga")
_PROGRAM = "readme"
_PUBLISHED_URL = "http://localhost:8001"
_PATIENCE = 1500
"""The maximum time in seconds of one command. Compiling on a busy machine takes minutes."""


class Missing(Exception):
    """An SDK that cannot be had here, and why."""


_missing: dict[str, Missing] = {}
"""The SDKs that were missing, so that a registry is not asked again by each test."""


def once(name: str, get: Callable[[], Path]) -> Path:
    """Returns what is needed of an SDK.

    Raises:
        Missing: It cannot be had.
    """
    if name in _missing:
        raise _missing[name]
    try:
        return get()
    except Missing as missing:
        _missing[name] = missing
        raise


@contextmanager
def _folder_of(name: str) -> Iterator[Path]:
    """A folder below build/clients, which one process at a time fills."""
    folder = SET_UP / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield folder


def _program(name: str) -> str:
    """The path of a compiler."""
    found = shutil.which(name) or shutil.which(name, path=Path.home() / ".cargo" / "bin")
    if found is None:
        raise Missing(f"there is no {name} on this machine")
    return found


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder; returns its output and status."""
    return subprocess.run(
        command,
        cwd=folder,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )


def _done(ran: subprocess.CompletedProcess[str]) -> str:
    assert ran.returncode == 0, f"{ran.args}: exit status {ran.returncode}\n{(ran.stdout + ran.stderr)[-4000:]}"
    return ran.stdout


def rust_tests() -> Path:
    """The program of the end-to-end tests of the crate, compiled with the versions of its own `Cargo.lock`."""
    cargo = _program("cargo")
    with _folder_of("rust") as folder:
        sources, stamp = folder / "resonate-sdk", folder / "version"
        if not stamp.exists() or stamp.read_text() != RUST:
            fetched = _crate(cargo, folder)
            shutil.rmtree(sources, ignore_errors=True)
            shutil.copytree(fetched, sources)
            stamp.write_text(RUST)
        command = [
            cargo,
            "test",
            "--locked",
            "--test",
            "e2e",
            "--no-run",
            "--message-format=json",
            "--target-dir",
            str(folder / "target"),
        ]
        built = [json.loads(line) for line in _done(run(command, sources)).splitlines() if line.startswith("{")]
        (program,) = [one["executable"] for one in built if one.get("target", {}).get("name") == "e2e" and one.get("executable")]
    return Path(program)


def _crate(cargo: str, folder: Path) -> Path:
    """Has cargo download the crate; returns where it has put its sources."""
    project = folder / "project"
    (project / "src").mkdir(parents=True, exist_ok=True)
    (project / "src" / "lib.rs").touch()
    (project / "Cargo.toml").write_text(
        f'[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n\n[dependencies]\nresonate-sdk = "={RUST}"\n\n[workspace]\n'
    )
    ran = run([cargo, "metadata", "--format-version", "1"], project)
    if ran.returncode != 0:
        raise Missing(f"cargo cannot fetch resonate-sdk {RUST}: {_last_line(ran.stderr)}")
    (manifest,) = [one["manifest_path"] for one in json.loads(ran.stdout)["packages"] if one["name"] == "resonate-sdk"]
    return Path(manifest).parent


def rust_results(program: Path, url: str) -> dict[str, str]:
    """Runs the tests of the crate on a server; returns the result of each. Cargo ignores them if the URL was unknown when it compiled."""
    ran = run([str(program), "--include-ignored"], program.parent, RESONATE_URL=url)
    found = dict(re.findall(r"^test (\S+) \.\.\. (\S+)", ran.stdout, flags=re.MULTILINE))
    assert ran.returncode == 0, f"{found}\n{(ran.stdout + ran.stderr)[-4000:]}"
    return found


def go_workspace() -> Path:
    """A folder with the sources of the module, those of its examples, and the program of its README."""
    go = _program("go")
    with _folder_of("go") as folder:
        workspace, stamp = folder / "workspace", folder / "version"
        if not stamp.exists() or stamp.read_text() != GO:
            shutil.rmtree(workspace, ignore_errors=True)
            _copy_module(go, GO_MODULE, workspace / "sdk")
            for example in GO_EXAMPLES:
                _copy_module(go, f"{GO_MODULE}/examples/{example}", workspace / example)
            _write_program(workspace)
            used = "\n".join(f"\t./{name}" for name in ("sdk", *GO_EXAMPLES, _PROGRAM))
            (workspace / "go.work").write_text(f"go 1.22\n\nuse (\n{used}\n)\n")
            stamp.write_text(GO)
    return workspace


def _copy_module(go: str, module: str, target: Path) -> None:
    """Has Go download a module, and copies it out of its cache, whose files cannot be written."""
    SET_UP.mkdir(parents=True, exist_ok=True)
    ran = run([go, "mod", "download", "-json", f"{module}@{GO}"], SET_UP, GOFLAGS="-mod=mod", GOTOOLCHAIN="local")
    told: dict[str, Any] = json.loads(ran.stdout) if ran.stdout.startswith("{") else {"Error": ran.stderr}
    if "Error" in told:
        raise Missing(f"Go's module proxy does not serve {module}: {_last_line(told['Error'])}")
    shutil.copytree(told["Dir"], target, copy_function=shutil.copyfile)
    for path in [target, *target.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def _write_program(workspace: Path) -> None:
    """The first program of the README, as a module."""
    program = workspace / _PROGRAM
    program.mkdir()
    readme = (workspace / "sdk" / "README.md").read_text(encoding="utf-8")
    (program / "main.go").write_text(code_blocks(readme, "go")[0], encoding="utf-8")
    (program / "go.mod").write_text(f"module {_PROGRAM}\n\ngo 1.22\n\nrequire {GO_MODULE} v0.0.0-00010101000000-000000000000\n")


def _go(workspace: Path, arguments: list[str], folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    more = {"GOWORK": str(workspace / "go.work"), "GOFLAGS": "", "GOTOOLCHAIN": "local", "RESONATE_URL": url}
    return run([_program("go"), *arguments], folder, **more)


def go_results(workspace: Path, url: str) -> dict[str, str]:
    """Runs the end-to-end tests of the module on a server; returns the result of each."""
    ran = _go(workspace, ["test", "-count=1", "-v", "-run", "^TestE2E", "."], workspace / "sdk", url)
    found = {name: result for result, name in re.findall(r"^--- (\w+): (\S+)", ran.stdout, flags=re.MULTILINE)}
    assert ran.returncode == 0, f"{found}\n{(ran.stdout + ran.stderr)[-4000:]}"
    return found


def go_output(workspace: Path, example: str, url: str, *arguments: str) -> list[str]:
    """Runs an example, or the program of the README, with only the URL changed; returns the lines that it prints."""
    folder = workspace / example
    main = folder / "main.go"
    main.write_text(
        re.sub(rf'"{re.escape(_PUBLISHED_URL)}"|"http://127\.0\.0\.1:\d+"', f'"{url}"', main.read_text(encoding="utf-8"))
    )
    return _done(_go(workspace, ["run", ".", *arguments], folder, url)).splitlines()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1] if lines else "it does not say why"
