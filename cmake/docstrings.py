"""Makes the table of docstrings that the module is compiled with: docstrings.py <stub> <C++ source>.

Runs in each build, with the Python that the module is built for: it needs the standard library alone, and Python 3.10.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

Row = tuple[str, str, str]  # name of the class, name, text

SOURCE = """\
// Made by cmake/docstrings.py from _core.pyi.
#include "documentation.hpp"

namespace resonate::python {{

namespace {{

constexpr Docstring kDocstrings[] = {{
{rows}
}};

}}  // namespace

std::span<const Docstring> docstrings() noexcept {{ return kDocstrings; }}

}}  // namespace resonate::python
"""


def rows_of(scope: ast.Module | ast.ClassDef, inside: str = "") -> Iterator[Row]:
    """The docstrings of the functions, classes and attributes of a scope, in order; that of an attribute is the literal behind it."""
    for node, behind in zip(scope.body, [*scope.body[1:], None], strict=True):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            text = ast.get_docstring(node)
            if text:
                yield inside, node.name, text
        if isinstance(node, ast.ClassDef):
            yield from rows_of(node, node.name)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            match behind:
                case ast.Expr(ast.Constant(str(text))):
                    yield inside, node.target.id, cleandoc(text)


def rows_of_stub(stub: str) -> list[Row]:
    """The docstrings of a stub: of the module, then in order of the file."""
    tree = ast.parse(stub)
    return [("", "", ast.get_docstring(tree) or ""), *rows_of(tree)]


def source_of(rows: list[Row]) -> str:
    """The C++ source with the table."""
    return SOURCE.format(rows="\n".join(f'    {{"{inside}", "{name}", R"doc({text})doc"}},' for inside, name, text in rows))


if __name__ == "__main__":
    stub, made = map(Path, sys.argv[1:])
    made.write_text(source_of(rows_of_stub(stub.read_text(encoding="utf-8"))), encoding="utf-8")
