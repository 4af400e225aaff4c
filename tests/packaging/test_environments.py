"""scripts/setup leaves environments alone that it did not make, or that were changed since."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the functions of the scripts."""
    shutil.copytree(ROOT / "scripts" / "lib", tmp_path / "scripts" / "lib")
    for name in ("CMakeLists.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def shell(clone: Path, command: str) -> subprocess.CompletedProcess[str]:
    script = f"set -u; . scripts/lib/environment.sh; . scripts/lib/install.sh; {command}"
    return subprocess.run(["bash", "-c", script], cwd=clone, capture_output=True, text=True, timeout=120)


def environment(clone: Path, name: str, *, made_by_setup: bool = False, built: bool = False, editable: bool = False) -> Path:
    folder = clone / name
    packages = folder / "lib" / "python3.13" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "mine.py").touch()
    if made_by_setup:
        (folder / "made-by-scripts-setup").write_text("Python 3.13.0\n")
    if built:
        (folder / "module.stamp").touch()
    if editable:
        (packages / "_editable_skbc_resonate_core.py").touch()
    return folder


def chosen(clone: Path) -> str:
    ran = shell(clone, 'basename "$(venv_for "$(main_version)")"')
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_a_fresh_clone_gets_venv(clone: Path) -> None:
    assert chosen(clone) == ".venv"


def test_the_environment_of_the_user_stays(clone: Path) -> None:
    environment(clone, ".venv")
    assert chosen(clone) == ".venv-dev"


@pytest.mark.parametrize("built", [False, True], ids=["interrupted", "complete"])
def test_an_environment_of_setup_is_used_again(clone: Path, built: bool) -> None:
    environment(clone, ".venv", made_by_setup=True, built=built, editable=built)
    assert chosen(clone) == ".venv"


def test_an_environment_in_which_the_user_installed_the_package_is_the_users(clone: Path) -> None:
    environment(clone, ".venv", made_by_setup=True, built=True)
    assert chosen(clone) == ".venv-dev"


@pytest.mark.parametrize("name", [".venv-dev", ".venv-3.10"])
def test_no_environment_of_the_user_is_cleared(clone: Path, name: str) -> None:
    folder = environment(clone, name)
    ran = shell(clone, f'install_into "$root/{name}" "$(python_for "$(main_version)")" test')
    assert ran.returncode == 1
    assert f"{name} was not made by scripts/setup" in ran.stderr
    assert (folder / "lib" / "python3.13" / "site-packages" / "mine.py").exists()


@pytest.mark.parametrize(
    "one, other, contained",
    [
        ("test", "demo", True),
        ("demo", "test", False),
        ("dev", "dev", True),
        ("all", "test", True),
        ("", "demo", False),
        ("old", "demo", False),
    ],
)
def test_a_level_contains_those_before_it(clone: Path, one: str, other: str, contained: bool) -> None:
    assert (shell(clone, f'covers "{one}" "{other}"').returncode == 0) is contained
