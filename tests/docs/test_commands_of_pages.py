"""Every command of every page runs in a fresh environment, with only what the page says; places_of_pages.py lists the exceptions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from commands_of_pages import RUN, name_of, to_run, tracked
from pages import PAGES, ROOT, blocks
from places_of_pages import PLACES, SESSIONS_NEED, STAYS, Place

from built_wheels import interpreter, run, wheel_of
from free_ports import free_port
from once import made_once
from page_shell import CHANGING, CHANGING_IN_CLI, Command, patient, run_all, same
from postgres_urls import plain, schema_of

# Each installs packages, which takes minutes on a busy machine.
pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

#: The newest Python that the tests use, since pages say that workflows need 3.12.
VERSION = "3.13"
#: Seconds after which a command that stays is stopped.
STAY = 8
#: The path of a clone or of a wheel, and the extras, as pages write them.
SOURCE = re.compile(
    r"(?<=[ '])(?:\.|\./resonate_core|/path/to/resonate_core|dist/resonate_core-[\w.-]+\.whl)(\[[\w,]+\])?(?=[ ']|$)"
)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `pip install` makes of the clone: built once for all pages; or the one that `RESONATE_WHEEL` names."""
    given = os.environ.get("RESONATE_WHEEL")
    return Path(given).resolve(strict=True) if given else wheel_of(VERSION, tmp_path_factory)


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the repository, without what was built in it."""

    def make(folder: Path) -> None:
        for path in tracked("."):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)

    return made_once(tmp_path_factory, "clone", make)


def new_environment(folder: Path, wheel: Path, *wanted: str) -> Path:
    """Makes a virtual environment: without packages, or with the wheel, its extras ("" for none) and other packages."""
    run(interpreter(VERSION), "-m", "venv", folder, where=folder.parent)
    if wanted:
        whole = f"{wheel}[{wanted[0]}]" if wanted[0] else str(wheel)
        run(folder / "bin" / "python", "-m", "pip", "install", "-q", whole, *wanted[1:], where=folder.parent)
    return folder


def shared_environment(factory: pytest.TempPathFactory, wheel: Path, *wanted: str) -> Path:
    """The same, made once for all tests that install nothing in it."""
    name = re.sub(r"\W+", "-", f"for {' '.join(wanted)}")
    return made_once(factory, name, lambda folder: new_environment(folder / "environment", wheel, *wanted)) / "environment"


def active(environment: Path, home: Path) -> dict[str, str]:
    """The variables of a shell in which a virtual environment is active; what a program keeps of its user is in `home`."""
    mine = re.compile(r"^(RESONATE|PYTEST|PYTHON|DJANGO|COV|VIRTUAL_ENV|LD_LIBRARY)")
    kept = {name: value for name, value in os.environ.items() if not mine.match(name)}
    return kept | {
        "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
        "BROWSER": "true",
        "COLUMNS": "80",
        "IPYTHONDIR": str(home),
        "JUPYTER_RUNTIME_DIR": str(home),
        "NO_PROXY": "127.0.0.1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",  # as on a terminal
        "TZ": "UTC",
    }


def as_run(command: Command, wheel: Path, clone: Path) -> str:
    """A command with the built wheel in the place of its sources, and stopped if it would stay."""
    text = patient(command.text).replace("git clone <the repository>", f"cp -r '{clone}'")
    if " pip install " in f" {text}" or text.startswith("pip install "):
        text = SOURCE.sub(lambda found: f"{wheel}{found[1] or ''}", text)
    if command.shown is None and STAYS.match(text):
        text = re.sub(r" +#.*", "", text)
        return f"timeout --kill-after=30 {STAY} env {text}; test $? = 124"
    return text


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_commands_of_a_page(page: Path, wheel: Path, clone: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = PLACES.get(name_of(page), Place())
    text = page.read_text(encoding="utf-8")
    wanted = [place.extras] if place.extras else []
    environment = active(new_environment(tmp_path / "environment", wheel, *wanted), tmp_path)
    shown_database = "postgresql://db.internal/app?schema=resonate"
    database = shown_database
    if "DATABASE_URL" in text and page.name == "postgresql.md":
        environment["DATABASE_URL"] = request.getfixturevalue("postgres_url")
        database = re.sub(r"//\w+@", "//", environment["DATABASE_URL"])
    ports = {shown: str(free_port()) for shown in ("8000", "8001", "8002", *re.findall(r"\b800\d\b", text))}
    environment |= {
        "RESONATE_SERVER__PORT": ports["8001"],  # where a page does not name it, since it is the default
        "UVICORN_PORT": ports["8000"],
        "GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{ports['8000']}",
    }

    def ours(shown: str) -> str:
        return re.sub(r"\b800\d\b", lambda found: ports[found[0]], shown)

    work = tmp_path / "work"
    if place.clone:
        shutil.copytree(clone, work)
    else:
        work.mkdir()
    asked = to_run(page)
    before = [place.before] if place.before else []
    done = run_all([*before, *(ours(as_run(command, wheel, clone)) for command in asked)], work, environment, timeout=1500)
    assert len(done) == len(before) + len(asked), done[-1] if done else "nothing ran"
    changing = CHANGING_IN_CLI if page.name == "cli.md" else CHANGING
    for command, got in zip(asked, done[len(before) :], strict=True):
        logs = "".join(f"\n{log.name}:\n{log.read_text()}" for log in sorted(work.glob("*.log")))
        where = f"{name_of(page)}:{command.line}: {command.text}\n{got.printed}"
        if command.shown is None:
            assert got.status == 0, f"{where}exit {got.status}{logs}"
        else:
            assert same(ours(command.shown), got.printed.replace(database, shown_database), changing), (
                f"{where}instead of\n{command.shown}{logs}"
            )


SESSIONS = [page for page in PAGES if blocks(page)]
RUN_SESSION = """
import doctest, sys
failed, tried = doctest.testfile(sys.argv[1], module_relative=False, optionflags=doctest.ELLIPSIS)
sys.exit(failed or not tried)
"""


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_the_sessions_of_a_page_need_what_it_names(
    page: Path, wheel: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> None:
    python = shared_environment(tmp_path_factory, wheel, *SESSIONS_NEED.get(name_of(page), ("",))) / "bin" / "python"
    environment = dict(os.environ)
    if page.name == "postgresql.md":
        url = request.getfixturevalue("postgres_url")
        environment |= {"DATABASE_URL": url, "APP_DATABASE_URL": plain(url), "STORE_SCHEMA": schema_of(url)}
    session = tmp_path / page.name
    session.write_text("\n".join(block.code for block in blocks(page) if block.is_session), encoding="utf-8")
    programs = [("-c", block.code) for block in blocks(page) if not block.is_session]
    for arguments in programs or [("-c", RUN_SESSION, str(session))]:
        done = subprocess.run([python, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr


NOTEBOOKS = tracked("notebooks/*.ipynb")
EXTRAS = re.compile(r"`pip install '\.\[([\w,]+)\]'`")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_with_the_extras_that_it_names(
    notebook: Path, wheel: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    named = EXTRAS.search("".join(cells[0]["source"]))
    assert named, "the first cell says what the notebook needs: `pip install '.[notebook]'`"
    environment = active(shared_environment(tmp_path_factory, wheel, named[1]), tmp_path)
    copy = shutil.copy(notebook, tmp_path)
    (done,) = run_all([f"jupyter execute '{copy}'"], tmp_path, environment, timeout=1500)
    assert done.status == 0, done.printed
