"""Builds the mutants from copies of a tree: one module with all mutants of C++, and one package for each mutant of Python."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from mutants.mutant import Mutant, Place, mutated, sources

SWITCH = """\
// Which mutant runs: the environment says it, anew in each fork.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace resonate_mutant {

inline std::atomic<int> chosen{-1};
inline const int forgotten_in_forks = pthread_atfork(nullptr, nullptr, [] { chosen.store(-1); });

inline bool is(int number) noexcept {
  int now = chosen.load(std::memory_order_relaxed);
  if (now < 0) {
    const char* text = std::getenv("RESONATE_MUTANT");
    now = text ? std::atoi(text) : 0;
    chosen.store(now, std::memory_order_relaxed);
  }
  return now == number;
}

}  // namespace resonate_mutant
"""
IGNORED = shutil.ignore_patterns("__pycache__", "*.so")


def _write(file: Path, text: str) -> None:
    """Writes a file only if its text differs, so that little is rebuilt."""
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _copy(tree: Path, source: Path, changed: dict[Path, str]) -> None:
    """Updates the copy of the sources, with the changed files in it."""
    files = [tree / name for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "python/resonate_core/_core.pyi")]
    files += [file for folder in ("cmake", "cpp") for file in (tree / folder).rglob("*") if file.is_file()]
    wanted = {source / file.relative_to(tree) for file in files} | {source / "cpp/include/resonate_mutant.hpp"}
    for file in files:
        text, copy = changed.get(file), source / file.relative_to(tree)
        _write(copy, file.read_text() if text is None else f'#include "resonate_mutant.hpp"\n{text}')
        shutil.copymode(file, copy)  # the build runs some of them
    _write(source / "cpp/include/resonate_mutant.hpp", SWITCH)
    for file in source.rglob("*"):
        if file.is_file() and file not in wanted:
            file.unlink()


def build_module(tree: Path, work: Path, mutants: list[tuple[Mutant, Place]]) -> None:
    """Builds the module of a tree with all mutants, with -O1, and the package around it in ``work/site``."""
    source, folder, site = work / "source", work / "build", work / "site"
    _copy(tree, source, mutated(sources(tree, "cpp"), mutants))
    pybind11 = [sys.executable, "-m", "pybind11", "--cmakedir"]
    found = subprocess.run(pybind11, check=True, capture_output=True, text=True).stdout.strip()
    options = ["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1", "-DRESONATE_BUILD_PYTHON=ON"]
    options += ["-DRESONATE_BUNDLE_LIBRARIES=OFF", f"-DPython_EXECUTABLE={sys.executable}", f"-Dpybind11_DIR={found}"]
    configure = ["cmake", "-S", str(source), "-B", str(folder), *options, "--log-level=WARNING"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(folder), "--target", "_core"], check=True)
    _make_site(tree, site, folder.glob("_core*.so"))


def use_installed_module(tree: Path, work: Path) -> None:
    """Makes ``work/site`` with the module that is installed: it has no mutants of C++."""
    found = importlib.util.find_spec("resonate_core._core")
    assert found is not None and found.origin is not None, "scripts/setup installs it"
    _make_site(tree, work / "site", [Path(found.origin)])


def _make_site(tree: Path, site: Path, modules: Iterable[Path]) -> None:
    """Makes a folder with the packages of a tree around the compiled module."""
    _copy_packages(tree, site)
    for module in modules:
        shutil.copy2(module, site / "resonate_core" / module.name)


def _copy_packages(tree: Path, site: Path) -> None:
    """Copies the package, and the one of the pytest plugin, which an older checkout does not have."""
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(tree / "python", site, ignore=IGNORED)


def python_site(tree: Path, work: Path, mutant: Mutant, place: Place) -> Path:
    """Makes a folder with the package that a mutant of Python changes; all of them share the C++ module."""
    site = work / f"site-{mutant.number}"
    _copy_packages(tree, site)
    for module in (work / "site" / "resonate_core").glob("_core*.so"):
        os.symlink(module, site / "resonate_core" / module.name)
    text = mutated({place.file: place.file.read_text()}, [(mutant, place)])[place.file]
    (site / place.file.relative_to(tree / "python")).write_text(text)
    return site
