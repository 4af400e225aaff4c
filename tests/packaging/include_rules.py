"""The rules of the include graph: which folder may include which, and no circles. They are added to codebase_rules.RULES."""

from __future__ import annotations

import re
from collections.abc import Mapping

from codebase_rules import Files, Problems, is_cpp, rule, without_comments

# What the files of a folder may include of other folders: the layers, from the bottom to the top. Tests and benches may include all.
ALLOWED_INCLUDES: Mapping[str, frozenset[str]] = {
    "cpp/include": frozenset(),
    "cpp/src/machine": frozenset({"cpp/include"}),
    "cpp/src/codec": frozenset({"cpp/include", "cpp/src/machine"}),
    "cpp/src/storage": frozenset({"cpp/include", "cpp/src/machine", "cpp/src/codec"}),
    "cpp/src": frozenset({"cpp/include", "cpp/src/machine", "cpp/src/codec"}),
    "cpp/src/protocol": frozenset({"cpp/include", "cpp/src/machine", "cpp/src/codec"}),
    "cpp/bindings": frozenset({"cpp/include", "cpp/src/machine", "cpp/src/codec", "cpp/src", "cpp/src/protocol"}),
}
INCLUDE_PATHS = ("cpp/include", "cpp/src", "cpp/bindings")


def folder_of(path: str) -> str:
    """The layer to which a C++ file belongs: the longest folder of ALLOWED_INCLUDES above it, or its own folder."""
    above = [folder for folder in ALLOWED_INCLUDES if path.startswith(folder + "/")]
    return max(above, key=len) if above else path.rpartition("/")[0]


def include_graph(files: Files) -> dict[str, list[tuple[int, str, str]]]:
    """Returns for each C++ file its includes in quotes: line number, text, and the file found (the text if none is)."""
    graph: dict[str, list[tuple[int, str, str]]] = {}
    for path, text in files.items():
        if not is_cpp(path):
            continue
        found = graph[path] = []
        for number, line in enumerate(without_comments(text).splitlines(), 1):
            if include := re.match(r'\s*#\s*include\s*"([^"]+)"', line):
                searched = [f"{folder}/{include[1]}" for folder in (path.rpartition("/")[0], *INCLUDE_PATHS)]
                found.append((number, include[1], next((place for place in searched if place in files), include[1])))
    return graph


@rule(
    bad={
        "cpp/src/machine/steps.cpp": '#include "protocol/messages.hpp"\n',
        "cpp/src/storage/rows.cpp": '#include <vector>\n#include "protocol/messages.hpp"\n',
        "cpp/src/codec/reader.hpp": '  #  include "storage/rows.hpp"  // a row\n',
        "cpp/src/protocol/messages.hpp": '#include "engine_transaction.hpp"\n',
        "cpp/src/storage/rows.hpp": '#include "gone.hpp"\n',
        "cpp/include/resonate/engine.hpp": '#include "machine/steps.hpp"\n',
        "cpp/src/engine_transaction.hpp": '#include "storage/rows.hpp"\n',
        "cpp/bindings/module.cpp": '#include "storage/rows.hpp"\n',
        "cpp/src/machine/steps.hpp": '#include "engine_transaction.hpp"\n',
    },
    good={
        "cpp/include/resonate/engine.hpp": '#include "resonate/clock.hpp"\n',
        "cpp/include/resonate/clock.hpp": "#include <vector>\n",
        "cpp/src/machine/steps.hpp": '#include "resonate/engine.hpp"\n// #include "storage/rows.hpp"\n',
        "cpp/src/codec/reader.hpp": '#include "machine/steps.hpp"\n',
        "cpp/src/storage/rows.hpp": '#include "codec/reader.hpp"\n#include "machine/steps.hpp"\n',
        "cpp/src/engine.cpp": '#include "machine/steps.hpp"\n',
        "cpp/bindings/module.cpp": '#include "codec/reader.hpp"\n',
        "cpp/tests/rows_test.cpp": '#include "storage/rows.hpp"\n',
    },
)
def layers_include_what_is_below(files: Files) -> Problems:
    """A folder includes only the folders that ALLOWED_INCLUDES gives it, and every include in quotes names a file of this project."""
    for path, includes in include_graph(files).items():
        folder = folder_of(path)
        for number, text, found in includes:
            if found not in files and folder in ALLOWED_INCLUDES:
                yield f'{path}:{number}: "{text}" is no file of the project; a library is included in <>'
            elif folder in ALLOWED_INCLUDES and folder_of(found) not in ALLOWED_INCLUDES[folder] | {folder}:
                yield f"{path}:{number}: {folder} must not include {folder_of(found)}, got {text}"


@rule(
    bad={
        "cpp/src/machine/a.hpp": '#pragma once\n#include "machine/b.hpp"\n',
        "cpp/src/machine/b.hpp": '#pragma once\n#include <vector>\n#include "c.hpp"\n',
        "cpp/src/machine/c.hpp": '#pragma once\n#include "machine/a.hpp"\n',
        "cpp/tests/self.hpp": '#pragma once\n#include "self.hpp"\n',
    },
    good={
        "cpp/src/machine/a.hpp": '#pragma once\n#include "machine/b.hpp"\n#include "machine/c.hpp"\n',
        "cpp/src/machine/b.hpp": '#pragma once\n#include "machine/c.hpp"\n',
        "cpp/src/machine/c.hpp": '#pragma once\n// #include "machine/a.hpp"\n',
    },
)
def no_file_includes_itself(files: Files) -> Problems:
    """The include graph has no circle: the message names a file that can be reached from itself, and the include that leads back."""
    graph = include_graph(files)
    for path, includes in graph.items():
        for number, text, first in includes:
            reached, open_ = {first}, [first]
            while open_ and path not in reached:
                following = {found for _, _, found in graph.get(open_.pop(), [])} - reached
                reached |= following
                open_ += following
            if path in reached:
                yield f"{path}:{number}: including {text} leads back here"
