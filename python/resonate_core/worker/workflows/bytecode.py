"""What a piece of code calls, by its bytecode: for Python 3.10 and later."""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple

__all__ = ["Called", "calls_of"]

_MISSING: Any = object()
_NEW_CALLS = sys.version_info >= (3, 11)  # a NULL is pushed for what is called
_ATTRIBUTE_CALLS = sys.version_info >= (3, 12)  # LOAD_ATTR says whether its result is called
_NULL_BEHIND = sys.version_info >= (3, 13)
#: Code inside of a function that runs as a part of it.
_INNER = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_PADDING = frozenset({"CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "RESUME"})


class Called(NamedTuple):
    """Something that is called by its name.

    Attributes:
        owner: The module or class of which it is an attribute; None: it has a name of its own.
        name: Its name.
        value: The object itself.
        line: Where.
    """

    owner: Any
    name: str
    value: Any
    line: int


class _Loaded:
    """What the instructions have loaded last, as far as it is known before the code runs."""

    __slots__ = ("begin", "name", "owner", "value")

    def __init__(self, begin: int, owner: Any, name: str, value: Any) -> None:
        self.begin = begin
        self.owner = owner
        self.name = name
        self.value = value


def calls_of(code: CodeType, names: Mapping[str, Any], free: Mapping[str, Any]) -> Iterator[Called]:
    """Yield what a function calls by a global or imported name, or by an attribute of a module or class with such a name.

    Functions that it defines are not part of it. A function that is only passed on is not called.

    Args:
        code: Of the function.
        names: Its globals.
        free: The variables of functions around it.

    Example:
        >>> import random
        >>> from resonate_core.worker.workflows.bytecode import calls_of
        >>> def measured():
        ...     begun = random.random()
        ...     return map(random.seed, [begun])
        >>> [(found.owner is random, found.name) for found in calls_of(measured.__code__, {"random": random}, {})]
        [(True, 'random'), (False, 'map')]
    """
    instructions = [one for one in dis.get_instructions(code) if one.opname not in _PADDING]
    local: dict[str, Any] = {}  # what the function itself imports
    loaded: _Loaded | None = None
    imported: Any = None
    line = code.co_firstlineno
    for at, one in enumerate(instructions):
        line = _line_of(one, line)
        name = one.opname
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"):
            value = _value_of(name, one.argval, local, names, free)
            loaded = None if value is _MISSING else _Loaded(at, None, one.argval, value)
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            owner = None if loaded is None else loaded.value
            value = getattr(owner, one.argval, _MISSING) if isinstance(owner, (ModuleType, type)) else _MISSING
            loaded = None if loaded is None or value is _MISSING else _Loaded(loaded.begin, owner, one.argval, value)
        elif name == "IMPORT_NAME":
            imported = loaded = None
            module = sys.modules.get(one.argval)
            following = instructions[at + 1].opname if at + 1 < len(instructions) else ""
            imported = module if following == "IMPORT_FROM" else sys.modules.get(one.argval.partition(".")[0])
            loaded = None if imported is None else _Loaded(at, None, one.argval, imported)
        elif name == "IMPORT_FROM":
            value = getattr(imported, one.argval, _MISSING)
            loaded = None if value is _MISSING else _Loaded(at, imported, one.argval, value)
            continue
        elif name in ("STORE_FAST", "STORE_DEREF"):
            is_import = loaded is not None and instructions[at - 1].opname in ("IMPORT_NAME", "IMPORT_FROM")
            local[one.argval] = loaded.value if loaded is not None and is_import else _MISSING
            loaded = None
        elif name == "PUSH_NULL":
            continue
        else:
            loaded = None
        if loaded is not None and name != "IMPORT_NAME" and _is_called(instructions, at, loaded.begin):
            yield Called(loaded.owner, loaded.name, loaded.value, line)
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and inner.co_name in _INNER:
            yield from calls_of(inner, names, {**free, **local})


def _value_of(opname: str, name: str, local: Mapping[str, Any], names: Mapping[str, Any], free: Mapping[str, Any]) -> Any:
    if opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return names[name] if name in names else getattr(builtins, name, _MISSING)
    return local[name] if name in local else free.get(name, _MISSING)


def _line_of(one: dis.Instruction, line: int) -> int:
    number = getattr(one, "line_number", None)  # from Python 3.13 on
    if isinstance(number, int):
        return number
    return one.starts_line if isinstance(one.starts_line, int) and not isinstance(one.starts_line, bool) else line


def _is_called(instructions: Sequence[dis.Instruction], at: int, begin: int) -> bool:
    """Whether what an instruction has loaded is called.

    Args:
        instructions: Of the code.
        at: The index of the instruction.
        begin: The index of the first one of those that have loaded it.
    """
    one = instructions[at]
    if one.opname == "LOAD_METHOD":
        return True
    if not _NEW_CALLS:
        return _takes_arguments(instructions, at + 1)
    after = instructions[at + 1].opname if at + 1 < len(instructions) else ""
    if after in ("LOAD_ATTR", "LOAD_METHOD"):
        return False
    first = instructions[begin]
    if first.opname == "LOAD_GLOBAL" and (first.arg or 0) & 1 and (at == begin or not _NULL_BEHIND):
        return True
    if one.opname == "LOAD_ATTR" and _ATTRIBUTE_CALLS and (one.arg or 0) & 1:
        return True
    before = instructions[begin - 1].opname if begin else ""
    return (after if _NULL_BEHIND else before) == "PUSH_NULL"


def _takes_arguments(instructions: Sequence[dis.Instruction], at: int) -> bool:
    """Whether, in Python 3.10, what lies on the stack is called by what follows."""
    above = 0  # values that lie on it
    for one in instructions[at:]:
        name, count = one.opname, one.arg or 0
        called_below = {"CALL_FUNCTION": count, "CALL_FUNCTION_KW": count + 1, "CALL_FUNCTION_EX": 1 + (count & 1)}.get(name)
        if called_below is not None and called_below == above:
            return True
        if above == 0 and (not name.startswith("LOAD_") or name in ("LOAD_ATTR", "LOAD_METHOD")):
            return False
        above += dis.stack_effect(one.opcode, one.arg if one.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        if above < 0:
            return False
    return False
