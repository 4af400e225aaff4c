"""Mutants, and the search for their places in a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = {"cpp": (".hpp", ".cpp"), "python": (".py",)}
PYTHON_AREAS = ("worker", "server", "workflows", "rehearsal", "transactions", "target group")
FOLDERS = {"cpp": ("cpp/include", "cpp/src", "cpp/bindings"), "python": ("python/resonate_core",)}


@dataclass(frozen=True)
class Mutant:
    """A small defect: a text that occurs once in the sources, and its replacement.

    Attributes:
        name: A description of the defect.
        area: The rules that it breaks; it decides which tests run first.
        old: The text. In ``a «b» c`` only b is replaced; a and c identify the place. The amount of white space does not matter.
        new: The replacement: in C++ an expression, or statements if `old` is one or more statements.
        statement: Whether `old` consists of statements.
        first: Of a mutant of Python: tests that run before those of its area, since they know the rule.
    """

    name: str
    area: str
    old: str
    new: str
    statement: bool = False
    first: str = ""

    def __post_init__(self) -> None:
        if self.language == "cpp" and not self.statement and (not self.new.strip() or self.new.rstrip().endswith(";")):
            raise ValueError(
                f"mutant {self.name!r}: its new text must be an expression, got {self.new!r}; mark a whole expression in its old "
                "text, or say that it is a statement"
            )

    @property
    def language(self) -> str:
        """The language of the source."""
        return "python" if self.area in PYTHON_AREAS else "cpp"

    @property
    def number(self) -> int:
        """The number that selects the mutant: a hash of its name (FNV-1a), so that other mutants do not change it."""
        value = 2166136261
        for byte in self.name.encode():
            value = (value ^ byte) * 16777619 % 2**32
        return value & 0x7FFFFFFF

    def replacement(self, old: str) -> str:
        """The new text at the mutant's place: in C++ both texts, of which the environment selects one at run time."""
        if self.language == "python":
            return self.new
        selected = f"::resonate_mutant::is({self.number})"
        if self.statement:
            return f"if ({selected}) {{ {self.new} }} else {{ {old} }}"
        return f"({selected} ? ({self.new}) : ({old}))"


@dataclass(frozen=True)
class Place:
    """The place of a mutant: a file, and the characters that it replaces."""

    file: Path
    begin: int
    end: int


def _spaced(text: str) -> str:
    """A regular expression for the text in which any white space matches any other."""
    return r"\s+".join(re.escape(word) for word in text.split())


def _pattern(old: str) -> re.Pattern[str]:
    if "«" not in old:
        return re.compile(f"({_spaced(old)})")
    before, rest = old.split("«")
    marked, after = rest.split("»")
    head = _spaced(before) + (r"\s+" if before[-1:].isspace() else "")
    tail = (r"\s+" if after[:1].isspace() else "") + _spaced(after)
    return re.compile(f"{head}({_spaced(marked)}){tail}")


def sources(tree: Path, language: str) -> dict[Path, str]:
    """Returns the texts of all sources of a tree, by file."""
    files = (file for folder in FOLDERS[language] for file in sorted((tree / folder).rglob("*")))
    return {file: file.read_text() for file in files if file.suffix in SUFFIXES[language]}


def places(mutant: Mutant, texts: dict[Path, str]) -> list[Place]:
    """Returns all places at which the mutant's text occurs; a good mutant has exactly one."""
    pattern = _pattern(mutant.old)
    return [Place(file, found.start(1), found.end(1)) for file, text in texts.items() for found in pattern.finditer(text)]


def mutated(texts: dict[Path, str], mutants: list[tuple[Mutant, Place]]) -> dict[Path, str]:
    """The files that the mutants change, with all mutants in them."""
    changed: dict[Path, str] = {}
    by_file: dict[Path, list[tuple[Mutant, Place]]] = {}
    for mutant, place in mutants:
        by_file.setdefault(place.file, []).append((mutant, place))
    for file, here in by_file.items():
        text, last = texts[file], len(texts[file])
        for mutant, place in sorted(here, key=lambda one: one[1].begin, reverse=True):
            if place.end > last:
                raise ValueError(f"mutant {mutant.name!r} overlaps another one in {file}")
            text = text[: place.begin] + mutant.replacement(text[place.begin : place.end]) + text[place.end :]
            last = place.begin
        changed[file] = text
    return changed
