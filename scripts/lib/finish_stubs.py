"""Puts right what the stub generator cannot know, in the file that it wrote."""

from __future__ import annotations

import re
import sys
import typing
from collections.abc import Callable
from pathlib import Path

from resonate_core import _core

# A TypeVar with a default is in typing from Python 3.13 on; type checkers know typing_extensions without an installation.
TYPE_VARIABLES = """\
_ClockOfStore = typing_extensions.TypeVar("_ClockOfStore", bound=Clock, covariant=True, default=Clock)
_GivenClock = typing.TypeVar("_GivenClock", bound=Clock)

"""

# Self, type of path_or_url, type of clock. Only a str can be the URL of a database.
STORES = (
    ("_GivenClock", "str | os.PathLike[str] | None = None", "_GivenClock"),
    ("SystemClock", "os.PathLike[str] | None = None", "None = None"),
    ("SystemClock | DatabaseClock", "str", "None = None"),
    ("Clock", "str | os.PathLike[str] | None = None", "Clock | None = None"),
)
FORKS = (("_GivenClock", "clock: _GivenClock"), ("_ClockOfStore", "clock: None = None"))


def replaced(pattern: str, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
    """Replaces the only place of a pattern; that it is there is not taken for granted."""
    made, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    if count != 1:
        sys.exit(f"finish_stubs: {pattern!r} is {count} times in the stubs, not once")
    return made


def generic_in_its_clock(text: str) -> str:
    """Gives `Store` its clock as a parameter, so that `store.clock` is of the class that it was created with."""

    def constructors(found: re.Match[str]) -> str:
        made = ""
        for of, path, clock in STORES:
            arguments = f"self: Store[{of}], path_or_url: {path}, *, clock: {clock}, {found['options']}"
            made += f"    @typing.overload\n    def __init__({arguments}) -> None:\n        ...\n"
        return made

    def forks(found: re.Match[str]) -> str:
        *others, last = [f"    @typing.overload\n    def fork(self, {clock}) -> Store[{of}]:\n" for of, clock in FORKS]
        return "".join(other + "        ...\n" for other in others) + last

    parameter = r'^    @staticmethod\n    def __class_getitem__\(origin, args\):\n        """[^"]*"""\n'
    text = replaced(parameter, "    def __class_getitem__(cls, clock: typing.Any, /) -> types.GenericAlias:\n        ...\n", text)
    text = replaced(r"^class Store:$", TYPE_VARIABLES + "class Store(typing.Generic[_ClockOfStore]):", text)
    text = replaced(r"^    def __enter__\(self\) -> Store:$", "    def __enter__(self) -> Store[_ClockOfStore]:", text)
    text = replaced(r"^    def clock\(self\) -> Clock:$", "    def clock(self) -> _ClockOfStore:", text)
    text = replaced(r"^    def fork\(self, clock: Clock \| None = None\) -> Store:\n", forks, text)
    constructor = (
        r"^    def __init__\(self, path_or_url: str \| os\.PathLike\[str\] \| None = None, \*, clock: Clock \| None = None, "
        r"(?P<options>.*)\) -> None:\n        \.\.\.\n"
    )
    text = replaced(constructor, constructors, text)
    return replaced(r"^import typing$", "import types\nimport typing\nimport typing_extensions", text)


def options_of_queues(text: str) -> str:
    """Names the keywords of `Queues.set`, which the compiled function takes as they come."""
    keywords = r"(    def set\(self, name: str, \*\*kwargs: )typing\.Any\)"
    text = replaced(keywords, r"\1typing_extensions.Unpack[QueueOptions])", text)
    return replaced(r"^import typing$", "import typing\nfrom resonate_core.base.queue_options import QueueOptions", text)


def alias(found: re.Match[str]) -> str:
    """The type of a literal is not enough: the stubs say its words."""
    words = ", ".join(map(repr, typing.get_args(getattr(_core, found[1]))))
    return f"{found[1]}: typing.TypeAlias = typing.Literal[{words}]"


def finish(text: str) -> str:
    """Gives the stubs with comparisons that take any object, as they do: they answer NotImplemented to a stranger.

    What refuses to be pickled is left out: by its type it is as in every class.
    """
    text = re.sub(r"^ +def __reduce(_ex)?__\(self, \*args\) -> [^\n]*:\s+\.\.\.\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(\w+): typing\._LiteralGenericAlias$", alias, text, flags=re.MULTILINE)
    text = re.sub(r"(def __getstate__\(self\) ->|def __setstate__\(self, arg0:) tuple\b", r"\1 tuple[typing.Any, ...]", text)
    text = text.replace("typing.ClassVar[tuple] =", "typing.ClassVar[tuple[int, ...]] =")
    text = re.sub(r"def (__copy__|__deepcopy__)\((.*)\) -> typing\.Any:", r"def \1(\2) -> typing_extensions.Self:", text)
    text = re.sub(r"def (__eq__|__ne__)\(self, \w+: [\w.]+\) -> bool:", r"def \1(self, other: object) -> bool:", text)
    return generic_in_its_clock(options_of_queues(text))


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(finish(path.read_text(encoding="utf-8")), encoding="utf-8")
