"""The stub `_core.pyi` is written by hand: its names, signatures and texts are those of the compiled module."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
import typing
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import resonate_core as rc
from resonate_core import _core

ROOT = Path(__file__).parents[2]
TEXT = Path(rc.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
STUB = ast.parse(TEXT)
CLASSES = [one for one in STUB.body if isinstance(one, ast.ClassDef)]
BOUND = [value for value in vars(_core).values() if inspect.isclass(value)]

#: Functions for which the stub has a finer type: the part of the compiled signature, and its text in the stub.
FINER = {
    "__copy__": (" -> object", " -> typing_extensions.Self"),
    "__deepcopy__": (" -> object", " -> typing_extensions.Self"),
    "__getstate__": (" -> tuple", " -> tuple[typing.Any, ...]"),
    "__setstate__": ("arg0: tuple)", "arg0: tuple[typing.Any, ...])"),
    "_run_calls": ("object", "typing.Any"),
    "set": ("**kwargs: typing.Any", "**kwargs: typing_extensions.Unpack[QueueOptions]"),
}
#: Of a class that is generic in its clock, the module knows only the class.
GENERIC = [(r"\b_(GivenClock|ClockOfStore)\b", "Clock"), (r"\bStore\[Clock\]", "Store")]
#: Overloaded for type checkers, by these parameters and the result.
BY_CLOCK = {"Store.__init__", "Store.fork"}
VARIED = {"path_or_url", "clock"}
#: Every class has those that refuse to pickle it, as `object` has; the last is that of `typing.Generic`.
OF_PYTHON = {"__reduce__", "__reduce_ex__", "__class_getitem__"}


def signature(function: ast.FunctionDef, owner: str) -> str:
    """The signature of a function as one text: its kind, its parameters with types (not that of self) and defaults, its result type."""
    kind = next((name for one in function.decorator_list if (name := ast.unparse(one)) in ("property", "staticmethod")), "")
    if owner and kind != "staticmethod":
        own = (function.args.posonlyargs or function.args.args)[0]
        own.arg, own.annotation = "self", None
    result = "" if function.returns is None else f" -> {ast.unparse(function.returns)}"
    made = re.sub(r"\b(resonate_core\._core|builtins)\.", "", f"{kind}({ast.unparse(function.args)}){result}")
    for pattern, replacement in GENERIC:
        made = re.sub(pattern, replacement, made)
    return made


def without_clock(made: str) -> str:
    """A signature without what differs in the overloads of a store."""
    function = ast.parse(f"def f{made}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    for one in (*function.args.args, *function.args.kwonlyargs):
        if one.arg in VARIED:
            one.annotation = None
    names = [one.arg for one in function.args.kwonlyargs]
    function.args.kw_defaults = [
        None if name in VARIED else default for name, default in zip(names, function.args.kw_defaults, strict=True)
    ]
    function.args.defaults = []
    return ast.unparse(function.args)


def of_the_stub() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for owner, body in [("", STUB.body), *((one.name, one.body) for one in CLASSES)]:
        for one in body:
            if isinstance(one, ast.FunctionDef) and one.name not in OF_PYTHON:
                found.setdefault(f"{owner}.{one.name}", []).append(signature(one, owner))
            elif owner and isinstance(one, ast.AnnAssign):
                assert isinstance(one.annotation, ast.Subscript), "a member without @property is a ClassVar"
                found[f"{owner}.{ast.unparse(one.target)}"] = [f"property(self) -> {ast.unparse(one.annotation.slice)}"]
    return found


def lines_of(name: str, value: Any) -> list[str]:
    """The signatures with which a docstring of the module begins, without the function's name: one, or one for each overload."""
    if isinstance(value, property):
        return [value.fget.__doc__.strip()]
    text = (value.__func__ if isinstance(value, staticmethod) else value).__doc__ or ""
    if text.startswith(f"{name}(*args, **kwargs)\nOverloaded function."):
        return re.findall(rf"^\d+\. {name}(\(.*)", text, flags=re.MULTILINE)
    return re.findall(rf"\A{name}(\(.*)", text)


def of_the_module() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for owner, members in [("", vars(_core)), *((one.__name__, vars(one)) for one in BOUND)]:
        for name, value in members.items():
            if name in OF_PYTHON or inspect.isclass(value):
                continue
            kind = "staticmethod" if isinstance(value, staticmethod) else "property" if isinstance(value, property) else ""
            for line in lines_of(name, value):
                function = ast.parse(f"@{kind or 'plain'}\ndef {name}{line}: ...").body[0]
                assert isinstance(function, ast.FunctionDef)
                before, finer = FINER.get(name, ("", ""))
                made = signature(function, owner)
                found.setdefault(f"{owner}.{name}", []).append(made.replace(before, finer) if before else made)
    return found


def test_every_signature_is_that_of_the_module() -> None:
    stub, module = of_the_stub(), of_the_module()
    for name in BY_CLOCK:
        (bound,) = module.pop(name)
        assert {without_clock(one) for one in stub.pop(name)} == {without_clock(bound)}, name
    assert len(stub) > 500
    assert {name: lines for name, lines in stub.items() if module.get(name) != lines} == {}
    assert set(stub) == set(module)


def test_every_name_is_that_of_the_module() -> None:
    definitions = [one for one in STUB.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
    assigned = [ast.unparse(one.target) for one in STUB.body if isinstance(one, ast.AnnAssign)]
    names = {one.name for one in definitions} | set(assigned)
    given_by_python = {"__builtins__", "__cached__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__"}
    only_at_its_end = {"_at_shutdown"}  # before Python 3.11
    assert names == set(vars(_core)) - given_by_python - only_at_its_end


def test_every_class_has_its_base() -> None:
    bases = {one.name: [ast.unparse(base).partition("[")[0] for base in one.bases] for one in CLASSES}
    bound = {one.__name__: [base.__name__ for base in one.__bases__ if base.__name__ != "pybind11_object"] for one in BOUND}
    assert bases == {**bound, "Store": ["typing.Generic"]}


def test_every_literal_has_its_words() -> None:
    literals = {
        ast.unparse(one.target): ast.unparse(one.value)
        for one in STUB.body
        if isinstance(one, ast.AnnAssign) and one.value is not None
    }
    assert len(literals) == 3
    for name, words in literals.items():
        assert words == f"typing.Literal[{', '.join(map(repr, typing.get_args(getattr(_core, name))))}]"


def docstrings() -> ModuleType:
    """The step of the build that reads the stub."""
    spec = importlib.util.spec_from_file_location("docstrings", ROOT / "cmake" / "docstrings.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def text_of(value: Any, name: str) -> str:
    """The text of an object of the module; of a function, the signatures before it are left out."""
    if isinstance(value, property):
        # Before Python 3.12, the class of pybind11's static properties hides their text behind its own.
        return inspect.getdoc(value) or str(vars(property)["__doc__"].__get__(value))
    text = inspect.cleandoc((value.__func__ if isinstance(value, staticmethod) else value).__doc__ or "")
    if inspect.isclass(value) or inspect.ismodule(value):
        return text
    return "\n".join(
        line for line in text.split("\n") if not re.match(rf"(\d+\. )?{name}\(.*\) -> |{name}\(\*args|Overloaded ", line)
    )


def test_every_text_is_that_of_the_module() -> None:
    """If it fails after a change of the stub, the module is older: scripts/setup builds it."""
    rows: Iterable[tuple[str, str, str]] = docstrings().rows_of_stub(TEXT)
    texts: dict[tuple[str, str], list[str]] = {}
    for owner, name, text in rows:
        texts.setdefault((owner, name), []).append(text)
    assert len(texts) > 300
    names = {(owner, name) for owner, name in (path.split(".") for path in of_the_module())} | {("", one.__name__) for one in BOUND}
    for owner, name in names | set(texts):
        scope = getattr(_core, owner) if owner else _core
        value = vars(scope)[name] if name else _core
        text = re.sub(r"\n\n+", "\n\n", text_of(value, name)).strip()
        assert text == "\n\n".join(texts.get((owner, name), [])), (owner, name)


def test_the_build_reads_texts_of_classes_functions_overloads_and_attributes() -> None:
    stub = '''
"""The module."""
@overload
def run(a: int) -> int:
    """Of a number."""
@overload
def run(a: str) -> str:
    """Of a text.

    Example:
        run("")
    """
def silent() -> None: ...
class Clock:
    """A clock."""
    now: ClassVar[int]
    """The instant."""
    silent: int
    def tick(self) -> None:
        """Tick."""
'''
    step = docstrings()
    rows = step.rows_of_stub(stub)
    assert rows == [
        ("", "", "The module."),
        ("", "run", "Of a number."),
        ("", "run", 'Of a text.\n\nExample:\n    run("")'),
        ("", "Clock", "A clock."),
        ("Clock", "now", "The instant."),
        ("Clock", "tick", "Tick."),
    ]
    assert '    {"Clock", "now", R"doc(The instant.)doc"},\n' in step.source_of(rows)
