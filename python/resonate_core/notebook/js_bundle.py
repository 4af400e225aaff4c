"""The ES modules of the views as text: for pages and widgets that carry them inside."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

__all__ = ["bundle", "stylesheet"]

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./([\w-]+\.js)";\n', re.MULTILINE)
_REEXPORT = re.compile(r"^export\s*\{[^}]*\};\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async |)function|class|const|let)", re.MULTILINE)


def _module(name: str) -> str:
    return (files("resonate_core") / "ui" / "modules" / name).read_text(encoding="utf-8")


@cache
def bundle(*names: str) -> str:
    """Return modules and all modules that they import as one script, each in a function of its own scope.

    Each module is read once, those that it imports before it. The script defines `views`, an object with the exports of each
    module by its file name.

    Args:
        names: File names in `ui/modules`, such as `timeline.js`.

    Example:
        >>> from resonate_core.notebook.js_bundle import bundle
        >>> script = bundle("timeline.js")
        >>> script.startswith("const views = {};"), "import " in script
        (True, False)
    """
    order: list[str] = []
    sources: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in sources:
            return
        sources[name] = _module(name)
        for needed in _IMPORT.findall(sources[name]):
            visit(needed)
        order.append(name)

    for name in names:
        visit(name)
    return "const views = {};\n" + "".join(_in_function(name, sources[name]) for name in order)


def _in_function(name: str, source: str) -> str:
    exported = re.findall(r"^export (?:async )?(?:function|class|const|let) (\w+)", source, re.MULTILINE)
    for names in re.findall(r"^export\s*\{([^}]*)\};", source, re.MULTILINE):
        exported += [each.strip() for each in names.split(",") if each.strip()]

    def taken(found: re.Match[str]) -> str:
        names = found.group(0).partition("{")[2].partition("}")[0].replace(" as ", ": ")
        return f'const {{{names}}} = views["{found.group(1)}"];\n'

    body = _EXPORT.sub("", _REEXPORT.sub("", _IMPORT.sub(taken, source)))
    return f'views["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(dict.fromkeys(exported))} }};\n}})();\n'


@cache
def stylesheet(*names: str) -> str:
    """Return the style sheets of modules, one after the other."""
    return "\n".join(_module(name) for name in names)
