"""The compiler cache does not return a header that was precompiled from earlier sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHED_COMPILER = Path(__file__).parents[2] / "cmake" / "cached_compiler.sh"


@pytest.mark.skipif(not shutil.which("ccache") or not shutil.which("g++"), reason="it needs ccache and g++")
def test_a_precompiled_header_is_that_of_the_present_sources(tmp_path: Path) -> None:
    header, output, kept = tmp_path / "number.hpp", tmp_path / "p.hxx.gch", tmp_path / "kept"
    (tmp_path / "p.hxx").write_text('#include "number.hpp"\n')
    (tmp_path / "p.hxx.cxx").write_text("/* nothing */\n")
    (tmp_path / "main.cpp").write_text("int main() { return number(); }\n")
    settings = {"CCACHE_DIR": str(tmp_path / "cache"), "CCACHE_SLOPPINESS": "pch_defines,time_macros"}

    def run(*command: str) -> int:
        return subprocess.run(command, cwd=tmp_path, env={**os.environ, **settings}, check=False, timeout=120).returncode

    def precompile(number: int) -> None:
        header.write_text(f"int number() {{ return {number}; }}\n")
        os.utime(header, (number, number))  # long ago: the cache trusts only files that are older than the compilation
        flags = ["-fpch-preprocess", "-x", "c++-header", "-include", "p.hxx", "-o", output.name, "-c", "p.hxx.cxx"]
        assert run(str(CACHED_COMPILER), "ccache", "g++", *flags) == 0

    precompile(1)
    shutil.copy(output, kept)
    precompile(2)
    shutil.copy(kept, output)  # as in another checkout, or after a switch of branches
    precompile(3)
    assert run("g++", "-include", "p.hxx", "main.cpp", "-o", "main") == 0
    assert run("./main") == 3


@pytest.mark.skipif(not shutil.which("ccache") or not shutil.which("g++"), reason="it needs ccache and g++")
def test_a_precompiled_header_from_before_a_change_of_a_comment_is_not_used(tmp_path: Path) -> None:
    """GCC compares a header that is read again with the one in the precompiled header, comments included: `#pragma once` failed."""
    header = tmp_path / "number.hpp"
    (tmp_path / "p.hxx").write_text('#include "number.hpp"\n')
    (tmp_path / "p.hxx.cxx").write_text("/* nothing */\n")
    (tmp_path / "main.cpp").write_text('#include "number.hpp"\nint main() { return kNumber; }\n')
    settings = {"CCACHE_DIR": str(tmp_path / "cache"), "CCACHE_SLOPPINESS": "pch_defines,time_macros"}

    def run(*command: str) -> int:
        return subprocess.run(command, cwd=tmp_path, env={**os.environ, **settings}, check=False, timeout=120).returncode

    for turn, comment in enumerate(["short", "a longer one"], 1):
        header.write_text(f"// {comment}\n#pragma once\nenum Number {{ kNumber = 7 }};\n")
        os.utime(header, (turn, turn))
        flags = [
            "-fpch-preprocess",
            "-x",
            "c++-header",
            "-include",
            "p.hxx",
            "-MD",
            "-MF",
            "p.d",
            "-o",
            "p.hxx.gch",
            "-c",
            "p.hxx.cxx",
        ]
        assert run(str(CACHED_COMPILER), "ccache", "g++", *flags) == 0
    assert run("g++", "-include", "p.hxx", "main.cpp", "-o", "main") == 0
    assert run("./main") == 7
