"""The rules of the code base, each as a function over its files.

A rule takes the text of files by path and returns a line for each violation. Two samples test the rule itself: it must find a violation
in the bad one, and none in the good one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Files = Mapping[str, str]
Problems = Iterator[str]

LONGEST_FILE = 480
NAME_LIST = "cpp/include/resonate/fields.hpp"
CLOCK_FILE = "cpp/src/clock.cpp"
# The only files of the package that may read the system's time; all others ask a store or a clock.
PYTHON_CLOCK_FILES = frozenset({"python/resonate_core/base/stopwatch.py"})


@dataclass(frozen=True)
class Rule:
    """A rule over the text of files.

    Attributes:
        name: The name of the rule.
        check: Returns a line for each violation.
        bad: Files of which each breaks the rule.
        good: Files that follow it.
    """

    name: str
    check: Callable[[Files], Problems]
    bad: Files
    good: Files


RULES: list[Rule] = []


def rule(*, bad: Files, good: Files) -> Callable[[Callable[[Files], Problems]], Callable[[Files], Problems]]:
    """Enters a function into RULES, with its samples."""

    def enter(check: Callable[[Files], Problems]) -> Callable[[Files], Problems]:
        RULES.append(Rule(check.__name__, check, bad, good))
        return check

    return enter


def without_comments(text: str) -> str:
    """Returns C++ without its comments; line numbers stay the same."""
    pattern = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
    return re.sub(pattern, lambda m: m[0] if m[0].startswith('"') else "\n" * m[0].count("\n"), text, flags=re.DOTALL)


def is_cpp(path: str) -> bool:
    """A C++ source or header of the project."""
    return path.startswith("cpp/") and path.endswith((".cpp", ".hpp"))


def lines_with(pattern: str, files: Files, wanted: Callable[[str], bool], *, comments: bool = False) -> Problems:
    """Returns the lines of the wanted files that match the pattern."""
    for path, text in files.items():
        if not wanted(path):
            continue
        body = without_comments(text) if is_cpp(path) and not comments else text
        for number, line in enumerate(body.splitlines(), 1):
            if re.search(pattern, line):
                yield f"{path}:{number}: {line.strip()}"


@rule(
    bad={"cpp/src/engine.cpp": "#include <pybind11/pybind11.h>\n", "cpp/tests/engine_test.cpp": "#include <Python.h>\n"},
    good={"cpp/bindings/module.cpp": "#include <pybind11/pybind11.h>\n", "cpp/src/engine.cpp": "// not pybind11\n"},
)
def only_the_bindings_know_python(files: Files) -> Problems:
    """Only cpp/bindings includes pybind11."""
    return lines_with(r"pybind11|\bPython\.h|\bPy[A-Z]\w+\(", files, lambda p: is_cpp(p) and not p.startswith("cpp/bindings/"))


GIL_FILES = frozenset({"cpp/bindings/gil.hpp", "cpp/bindings/gil.cpp"})


@rule(
    bad={
        "cpp/bindings/bind_store.cpp": "const py::gil_scoped_release released;\n",
        "cpp/bindings/fork_safety.cpp": "PyEval_RestoreThread(thread_);\n",
        "cpp/bindings/recorder.cpp": 'file_.attr("write")(text);\n',
        "cpp/bindings/display.cpp": 'py::module_::import("html");\n',
        "cpp/bindings/value_codec.cpp": "auto made = PyObject_CallOneArg(encode, value);\n",
    },
    good={
        "cpp/bindings/gil.cpp": "PyEval_RestoreThread(thread);\n",
        "cpp/bindings/recorder.cpp": 'call_method(file_, "write", text);\ninto_python([&] { return PyObject_CallOneArg(encode, value); });\n',
    },
)
def one_file_asks_for_the_gil(files: Files) -> Problems:
    """A thread that takes the GIL while the interpreter ends is unwound: only gil.hpp, directly above Python, prevents that."""
    locks = r"gil_scoped_(acquire|release)|gil_safe_call_once|call_guard|PyEval_\w+Thread\b|PyGILState_(Ensure|Release)"
    calls = r"\.attr\([^()]*\)\(|module_::import|\bpy::repr\(|PyObject_(Call\w*|Vectorcall\w*|Str|Repr)\(|PyIter_Next|PySequence_(Fast|List)\("
    return lines_with(
        rf"^(?!.*\binto_python\()(.*({locks}|{calls}))", files, lambda p: p.startswith("cpp/bindings/") and p not in GIL_FILES
    )


def is_free_of_json(path: str) -> bool:
    """Whether the file must not use JSON: a public header, or a file of the machine or of a storage."""
    return path.startswith(("cpp/include/", "cpp/src/machine/", "cpp/src/storage/"))


@rule(
    bad={
        "cpp/include/resonate/engine.hpp": "#include <nlohmann/json_fwd.hpp>\n",
        "cpp/src/machine/tasks.cpp": "simdjson::dom::parser p;\n",
    },
    good={"cpp/src/codec/json_document.cpp": "#include <simdjson.h>\n", "cpp/src/machine/tasks.cpp": "// no simdjson here\n"},
)
def json_stays_in_the_codec(files: Files) -> Problems:
    """Public headers, the machine and the storages do not use JSON."""
    return lines_with(r"nlohmann|simdjson", files, is_free_of_json)


@rule(
    bad={"cpp/include/resonate/records.hpp": 'auto k = "corrId";\n', "cpp/src/machine/steps.cpp": 'read("resonate:debug_time");\n'},
    good={
        "cpp/src/protocol/envelope.cpp": 'auto k = "corrId";\n',
        "cpp/src/machine/steps.cpp": 'return refuse("timeoutAt");\n',
        NAME_LIST: 'X(corr_id, "corrId")\n',
    },
)
def envelopes_stay_in_the_codec(files: Files) -> Problems:
    """Envelopes and correlation ids occur only in protocol/, and in the list of all names; a refusal may name a member."""
    return lines_with(r"corrId|corr_id|debug_time|\b[eE]nvelope", files, lambda path: path != NAME_LIST and is_free_of_json(path))


@rule(
    bad={"cpp/src/machine/tasks.hpp": "#include <mutex>\n", "cpp/src/machine/steps.cpp": '#include "resonate/clock.hpp"\n'},
    good={
        "cpp/src/machine/steps.cpp": '#include "machine/working_set.hpp"\n#include <vector>\n',
        "cpp/src/engine.cpp": "#include <mutex>\n",
    },
)
def the_machine_knows_rows_and_now_only(files: Files) -> Problems:
    """The machine uses no engine, clock, thread, file or random number; the includes are the rule layers_include_what_is_below."""
    known_only_above = (
        r'#include\s*("(resonate/)?(engine|clock)\.hpp"'
        r"|<(atomic|chrono|condition_variable|ctime|fstream|future|iostream|mutex|random|shared_mutex|sys/time\.h|thread|time\.h)>)"
    )
    return lines_with(known_only_above, files, lambda p: p.startswith("cpp/src/machine/"))


@rule(
    bad={
        "cpp/src/machine/tasks.cpp": "if (row.dialect == other.dialect) return;\n",
        "cpp/src/machine/promises.cpp": "switch (dialect_.id) {\n",
        "cpp/src/machine/steps.cpp": "auto x = DialectId::k2025_01_15;\n",
        "cpp/src/machine/validate.cpp": "if (options.rules == RulesId::strict) return;\n",
    },
    good={
        "cpp/src/machine/tasks.cpp": "row.dialect = dialect_.id;\nif (dialect_.preloads && kind == rules_.kind) return;\n",
        "cpp/src/protocol/envelope_handler_json.cpp": "if (dialect == x) {\n",
    },
)
def the_machine_has_no_dialects(files: Files) -> Problems:
    """The machine asks a dialect or a set of rules what applies; it neither names nor compares them."""
    pattern = (
        r"\b(DialectId|RulesId)::|\b\w*([dD]ialect|[rR]ules)\w*((\.|->)(id|version))?\s*(==|!=)"
        r"|(==|!=)\s*[\w.>-]*([dD]ialect|[rR]ules)\w*((\.|->)(id|version))?\s*[);&|?]|\bswitch\s*\(.*([dD]ialect|[rR]ules)"
    )
    return lines_with(pattern, files, lambda p: p.startswith("cpp/src/machine/"))


@rule(
    bad={
        "cpp/src/engine.cpp": "auto t = std::chrono::system_clock::now();\n",
        "cpp/bindings/bind_clock.cpp": "auto t = time(nullptr);\n",
        "cpp/src/cron.cpp": "clock_gettime(CLOCK_REALTIME, &t);\n",
        "cpp/src/watch.cpp": "using Wall = std::chrono::system_clock;\n",
        "cpp/src/purge.cpp": "typedef std::chrono::steady_clock Clock;\n",
    },
    good={
        CLOCK_FILE: "std::chrono::steady_clock::now();\n",
        "cpp/src/engine.cpp": "next_time(engine.clock()); // not system_clock\n",
        "cpp/include/resonate/clock.hpp": "std::chrono::steady_clock::time_point learned_when_;\n",
    },
)
def one_file_reads_the_clock(files: Files) -> Problems:
    """Only one file reads the system's clock."""
    clock = r"(system|steady|high_resolution|utc)_clock"  # a type such as its time_point reads nothing
    pattern = (
        rf"{clock}\s*::\s*now|(using|typedef)\b.*{clock}\s*(;|\w+;)|gettimeofday|clock_gettime|\btime\((nullptr|NULL|0|&\w+)?\)"
    )
    return lines_with(
        pattern, files, lambda p: is_cpp(p) and p.startswith(("cpp/include/", "cpp/src/", "cpp/bindings/")) and p != CLOCK_FILE
    )


@rule(
    bad={
        "python/resonate_core/worker.py": "now = time.time()\n",
        "python/resonate_core/testing.py": "datetime.now(timezone.utc)\n",
        "python/resonate_core/cli.py": "from time import monotonic\n",
    },
    good={"python/resonate_core/worker.py": "now = store.now\ntime.sleep(1)\n", "bench/run.py": "time.time()\n"},
)
def python_asks_a_clock_object(files: Files) -> Problems:
    """In the package, time comes from a store or a clock, which a test can move."""
    pattern = r"\btime\.(time|monotonic|perf_counter)(_ns)?\b|\bdatetime\.(now|utcnow|today)\(|\bdate\.today\(|from time import (?!sleep\b)"
    return lines_with(pattern, files, lambda p: p.startswith("python/") and p.endswith(".py") and p not in PYTHON_CLOCK_FILES)


@rule(
    bad={"cpp/src/codec/digest.cpp": "std::random_device seed;\n", "cpp/src/machine/steps.cpp": "int x = rand();\n"},
    good={"cpp/tests/engine_test.cpp": "std::mt19937 random(seed);\n", "cpp/src/engine.cpp": "brand();\n"},
)
def nothing_is_random(files: Files) -> Problems:
    """No random numbers: jitter is a hash, and callers give ids."""
    pattern = r"random_device|\bmt19937|\bs?rand(om)?\(|getrandom"
    return lines_with(pattern, files, lambda p: is_cpp(p) and p.startswith(("cpp/include/", "cpp/src/", "cpp/bindings/")))


@rule(
    bad={
        "cpp/src/engine.cpp": "std::unordered_map<Id, std::vector<int>> rows_;\nfor (auto& [id, row] : rows_) {}\n",
        "cpp/src/storage/index.hpp": "tsl::robin_set<Id> seen;\nauto first = seen.begin();\n",
        "cpp/src/machine/steps.cpp": "for (auto id : std::unordered_set<int>(a, b)) {}\n",
    },
    good={
        "cpp/src/engine.cpp": "std::unordered_map<Id, Row> rows_;\nrows_.find(id);\nstd::map<Id, Row> sorted;\nfor (auto& r : sorted) {}\n",
    },
)
def no_order_comes_from_a_hash(files: Files) -> Problems:
    """No loop runs over a hash table, since its order is not defined. Tables are found by name, members across the files of a folder."""
    hashed = r"(?:unordered_(?:multi)?(?:map|set)|robin_(?:pg_)?(?:map|set)|flat_hash_(?:map|set))\s*<"
    declared = re.compile(hashed + r"[^;(){}=]*>\s*&?\s*(\w+)")
    sources = {p: t for p, t in files.items() if is_cpp(p) and p.startswith(("cpp/include/", "cpp/src/"))}
    names: dict[str, set[str]] = {}
    for path, text in sources.items():
        for name in declared.findall(without_comments(text)):
            # A member (name_) may be walked in another file of its folder; anything else only where it is declared.
            names.setdefault(path.rpartition("/")[0] if name.endswith("_") else path, set()).add(name)
    for path, text in sources.items():
        known = names.get(path, set()) | names.get(path.rpartition("/")[0], set())
        walked = "|".join(
            [rf":\s*(?:\w+(?:\.|->))*{n}\s*\)|\b{n}\s*\.\s*c?begin\(" for n in sorted(known)] + [rf"\bfor\s*\(.*{hashed}"]
        )
        yield from lines_with(walked, {path: text}, lambda _: True)


@rule(bad={"cpp/src/engine.hpp": "// x\nclass A;\n"}, good={"cpp/src/engine.hpp": "// x\n#pragma once\n", "cpp/src/engine.cpp": ""})
def headers_are_included_once(files: Files) -> Problems:
    """Every header has an include guard."""
    return (f"{p}: no #pragma once" for p, text in files.items() if is_cpp(p) and p.endswith(".hpp") and "#pragma once" not in text)


def listed_sources(cmake: str) -> set[str]:
    """Returns the C++ sources that CMakeLists.txt names."""
    return set(re.findall(r"^\s*(?:add_executable\(\w+\s+)?((?:cpp|bench)/[\w/]+\.cpp)\)?\s*$", cmake, flags=re.MULTILINE))


@rule(
    bad={"CMakeLists.txt": "  cpp/src/gone.cpp\n  cpp/src/engine.cpp\n", "cpp/src/engine.cpp": "", "cpp/src/new.cpp": ""},
    good={"CMakeLists.txt": "  cpp/src/engine.cpp\n", "cpp/src/engine.cpp": "", "cpp/src/engine.hpp": ""},
)
def cmake_lists_every_source(files: Files) -> Problems:
    """Every source has a target, and every source of a target exists."""
    listed = listed_sources(files["CMakeLists.txt"])
    there = {p for p in files if p.endswith(".cpp") and p.startswith("cpp/")}
    yield from (f"CMakeLists.txt: lists {p}, which is not there" for p in sorted(listed - set(files)))
    yield from (f"{p}: not listed in CMakeLists.txt" for p in sorted(there - listed))


def grouped_sources(cmake: str) -> set[str]:
    """Returns the C++ sources that CMakeLists.txt names in a group."""
    groups = re.findall(r"^\s*resonate_group\(\w+ \w+\n([^()]*)\)", cmake, flags=re.MULTILINE)
    return {path for group in groups for path in group.split()}


@rule(
    bad={"CMakeLists.txt": "  pybind11_add_module(_core MODULE\n    cpp/bindings/module.cpp\n  )\n"},
    good={"CMakeLists.txt": "  resonate_group(_core module\n    cpp/bindings/module.cpp\n  )\n"},
)
def bindings_are_compiled_in_groups(files: Files) -> Problems:
    """Every source of the Python module is in a group: pybind11 alone takes 3 seconds of each unit that is compiled."""
    cmake = files["CMakeLists.txt"]
    alone = {path for path in listed_sources(cmake) - grouped_sources(cmake) if path.startswith("cpp/bindings/")}
    return (f"CMakeLists.txt: {path} must be in a resonate_group" for path in sorted(alone))


@rule(
    bad={"CMakeLists.txt": "file(GLOB sources cpp/*.cpp)\n"},
    good={"CMakeLists.txt": "file(STRINGS a b)\n", "docs/x.md": "file(GLOB)"},
)
def sources_are_named_not_globbed(files: Files) -> Problems:
    """CMake uses no file(GLOB)."""
    return lines_with(r"file\s*\(\s*GLOB", files, lambda p: p.endswith(("CMakeLists.txt", ".cmake")))


@rule(
    bad={"pyproject.toml": 'version = "0.2.0"\n', "CHANGELOG.md": "# Changelog\n\n## 0.1.0 (unreleased)\n"},
    good={
        "pyproject.toml": 'version = "0.1.0"\nminimum-version = "0.10"\n',
        "CHANGELOG.md": "# Changelog\n\n## 0.1.0 - 2026-01-01\n",
    },
)
def versions_agree(files: Files) -> Problems:
    """The newest entry of the change log has the version of pyproject.toml; no other file names a version."""
    version = project_version(files)
    newest = re.search(r"^## (\S+)", files["CHANGELOG.md"], flags=re.MULTILINE)
    if newest is None or newest[1] != version:
        yield f"CHANGELOG.md: begins with {newest and newest[1]}, pyproject.toml says {version}"
    yield from lines_with(r"__version__\s*(:\s*\w+)?=\s*['\"]\d", files, lambda p: p.startswith("python/") and p.endswith(".py"))


def project_version(files: Files) -> str:
    """Returns the version in pyproject.toml."""
    found = re.search(r'^version = "([^"]+)"', files["pyproject.toml"], flags=re.MULTILINE)
    assert found is not None
    return found[1]


@rule(
    bad={"cpp/src/engine.cpp": "int x;\n" * (LONGEST_FILE + 1), "tests/unit/test_long.py": "x = 1\n" * (LONGEST_FILE + 1)},
    good={"cpp/src/engine.cpp": "int x;\n" * LONGEST_FILE, "python/resonate_core/_core.pyi": "x = 1\n" * 2000},
)
def files_are_short(files: Files) -> Problems:
    """Split past about 400 lines; the stub of the module is exempt."""
    for path, text in files.items():
        lines = text.count("\n")
        if path.endswith((".cpp", ".hpp", ".py", ".sh", ".cmake", "CMakeLists.txt")) and lines > LONGEST_FILE:
            yield f"{path}: {lines} lines"


@rule(
    bad={
        "scripts/setup": "cd /wo" + "rk/main\n",
        "docs/a.md": "/ho" + "me/someone/x\n",
        "README.md": "see pypi" + ".org\n",
        "bench/a.py": "p = '/ro" + "ot/.pyenv'\n",
    },
    good={"scripts/setup": 'cd "$HOME/.pyenv" && ls work/main network/\n', "README.md": "see PyPI and https://github.com/a/b\n"},
)
def no_machine_is_named(files: Files) -> Problems:
    """No path of one machine and no host of a package registry."""
    paths = r"(?<![\w.$}-])/(wo" + r"rk|ro" + r"ot|ho" + r"me|tmp/(build|brief|v3))\b"
    hosts = r"pypi\.o" + r"rg|pythonho" + r"sted|deb\.deb" + r"ian|npmjs\.o" + r"rg|crates\.i" + r"o\b|proxy\.gol" + r"ang"
    return lines_with(f"{paths}|{hosts}", files, lambda _: True, comments=True)


@rule(
    bad={"cpp/src/a.cpp": "// TO" + "DO: later\n", "python/a.py": "# FIX" + "ME\n"},
    good={"cpp/src/a.cpp": "// todos\n", "a.md": "XXXL"},
)
def nothing_is_left_for_later(files: Files) -> Problems:
    """Open work is an issue, not a comment."""
    return lines_with(
        r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b", files, lambda path: not path.endswith(".ipynb"), comments=True
    )


@rule(
    bad={"notebooks/a.ipynb": '{"cells": [{"cell_type": "code", "outputs": [], "execution_count": null}]}'},
    good={
        "notebooks/a.ipynb": '{"cells": [{"cell_type": "code", "outputs": [], "execution_count": 1}, {"cell_type": "markdown"}]}'
    },
)
def notebooks_have_outputs(files: Files) -> Problems:
    """Notebooks have outputs, which the page of a repository shows: `scripts/notebooks` stores them, and CI compares."""
    for path, text in files.items():
        if path.endswith(".ipynb") and any(c.get("execution_count", 1) is None for c in json.loads(text)["cells"]):
            yield f"{path}: has no outputs: run scripts/notebooks"


PROPERTY_FILES = (
    "cpp/src/machine/invariants.cpp",
    "cpp/src/machine/step_properties.cpp",
    "cpp/src/machine/job_invariants.cpp",
)
PROPERTY_PAGE = "docs/concepts.md"
PROPERTY_HEADING = "## Invariants"


@rule(
    bad={
        PROPERTY_FILES[0]: 'require(held, "lease_lost", "");\n',
        PROPERTY_PAGE: f"| `lease_lost` | a step |\n{PROPERTY_HEADING}\n| `lease_gone` | it has one |\n",
    },
    good={
        PROPERTY_FILES[0]: 'require(held, row ? "lease_lost" : "row_missing", "of a row");\n',
        "cpp/tests/invariants_test.cpp": 'Names{"lease_lost"}, Names{"row_missing"}\n',
        PROPERTY_PAGE: f"{PROPERTY_HEADING}\n| `lease_lost`, `row_missing` | as `lease_gone` |\n",
    },
)
def every_property_is_explained_and_tested(files: Files) -> Problems:
    """PROTOCOL 6: each property that a violation can name is in the page and in a test of the core, under exactly this name."""
    reported = {name: path for path in PROPERTY_FILES for name in re.findall(r'"([a-z]+(?:_[a-z]+)+)"', files.get(path, ""))}
    section = files[PROPERTY_PAGE].partition(PROPERTY_HEADING)[2].partition("\n## ")[0]
    first_cells = re.findall(r"^\| (`[^|]*) \|", section, flags=re.MULTILINE)
    explained = {name for cell in first_cells for name in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", cell)}
    tests = [text for path, text in files.items() if path.startswith("cpp/tests/")]
    for name, path in reported.items():
        if name not in explained:
            yield f"{path}: {name} is not explained in {PROPERTY_PAGE}"
        if not any(f'"{name}"' in text for text in tests):
            yield f"{path}: {name} is in no test"
    yield from (f"{PROPERTY_PAGE}: no violation is called {name}" for name in sorted(explained - reported.keys()))


@rule(
    bad={"scripts/new": "#!/usr/bin/env bash\necho\n", ".ci/run": "#!/usr/bin/env bash\nset -e\n"},
    good={"scripts/new": "#!/usr/bin/env bash\nset -euo pipefail\n", "scripts/lib/part.sh": "x() { :; }\n"},
)
def scripts_stop_at_unset_variables(files: Files) -> Problems:
    """Every program in shell sets -u and pipefail."""
    for path, text in files.items():
        if (
            path.startswith(("scripts/", ".ci/"))
            and text.startswith("#!")
            and not re.search(r"^set -e?uo pipefail$", text, re.MULTILINE)
        ):
            yield f"{path}: no set -uo pipefail"
