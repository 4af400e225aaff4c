"""Finds phrases that a reader has to read twice, in Markdown, docstrings, comments and the texts of errors.

As a plugin of PyMarkdown it reads pages (`pymarkdown --add-plugin scripts/lib/plain_words.py scan FILE...`). Run as a program it
reads the docstrings and comments of Python files and stubs, and the text literals and comments of C++ files. Code blocks, code spans
and headings are left out: a heading is an anchor, which other pages link to.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from pathlib import Path

try:
    from pymarkdown.plugin_manager.plugin_details import PluginDetailsV3
    from pymarkdown.plugin_manager.rule_plugin import RulePlugin
except ImportError:  # as a program it needs nothing
    RulePlugin = object

#: Phrases to avoid, as regular expressions, and the words to use instead.
PHRASES = {
    r"who(?:ever|soever)\b": "name the actor: a client, a worker, a caller",
    r"(?:^|[.:;|(] )who (?:wants|comes|may|can|only|has|is|does|leaves|asks|needs|knows)\b": "name the actor: a client, a worker",
    r"(?:^|[.:;|(] )(?:what|all that|those that|one that|ones that) (?:is|are|was|were|has|have|had|it|they|this|you|nobody|comes)\b": (
        "make the thing the subject, by its term"
    ),
    r"whatever (?:is|it|they|comes|reads|has|runs)\b": "name the thing",
    r"(?:is|are|was|were|be|been) told\b": "is notified, is given",
    r"hears? of\b|heard of\b": "is notified of",
    r"comes? back\b|came back\b": "returns, is retried, reconnects, is available again",
    r"to be had\b|(?:is|are) had\b": "exists, is available",
    r"\bborn\b": "created",
    r"works? (?:it |them )?off\b": "runs, handles",
    r"(?:is|are|was|were) (?:looked at|looked after|looked for)\b": "is examined, checked, read",
    r"(?:lease|leases|it|time) (?:runs?|ran) out\b|lapses?\b": "expires",
    r"offered (?:again|to)\b|is never offered\b": "dispatched",
    r"\bmend(?:s|ed|ing)?\b": "correct, repair, fix",
    r"in vain\b": "without effect; failed",
    r"as it should\b": "say what it does",
    r"so (?:many|long|much) (?:as|after|from|before)\b": "this many, as long as, this long after",
    r"stands? (?:in|on|there)\b": "is in",
    r"nobody\b|somebody\b|anybody\b": "name the actor: no worker, a client, a person",
    r"(?:says|said|say) so\b": "reports it, logs it",
    r"(?:goes|go|went|going) on\b": "continues",
    r"(?:gone|goes) with the\b": "ends with",
}
PYTHON = (".py", ".pyi")
_CODE = re.compile(r"``.+?``|`[^`]*`|\]\([^)]*\)")
_FOUND = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in PHRASES.items()]


def findings(line: str) -> list[str]:
    """What to change in a line of prose."""
    prose = _CODE.sub("`", line)
    return [f"{found[0].strip(' .:;|(')!r}: {instead}" for pattern, instead in _FOUND if (found := pattern.search(prose))]


class PlainWords(RulePlugin):
    """The rule of PyMarkdown."""

    def get_details(self) -> PluginDetailsV3:
        """How PyMarkdown names it."""
        return PluginDetailsV3(
            plugin_id="RES001",
            plugin_name="plain-words",
            plugin_description="Plain technical English",
            plugin_enabled_by_default=True,
            plugin_version="1.0.0",
        )

    def starting_new_file(self) -> None:
        """A file begins with prose."""
        self._fence = ""

    def next_line(self, context: object, line: str) -> None:
        """Reports each phrase of a line that is neither code nor a heading."""
        fence = re.match(r"\s*(```+|~~~+)", line)
        if self._fence:
            if fence is not None and fence[1] == self._fence:
                self._fence = ""
        elif fence is not None:
            self._fence = fence[1]
        elif not line.startswith("#"):
            for finding in findings(line):
                self.report_next_line_error(context, 1, extra_error_information=finding)


def docstrings(path: Path) -> list[tuple[int, str]]:
    """The lines of a Python file's docstrings, with their numbers; examples are left out."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(ast.Constant(str(text))):
                lines = enumerate(text.split("\n"), node.lineno)
                found += [(number, line) for number, line in lines if not line.lstrip().startswith((">>>", "...", "#"))]
    return found


def literals(path: Path) -> list[tuple[int, str]]:
    """The text literals of a C++ file, a line each: errors."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if not line.lstrip().startswith(("//", "#include")):
            found += [(number, text) for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line)]
    return found


def comments(path: Path) -> list[tuple[int, str]]:
    """The comments of a Python or C++ file, with the numbers of their lines."""
    if path.suffix in PYTHON:
        with path.open("rb") as file:
            return [(token.start[0], token.string) for token in tokenize.tokenize(file.readline) if token.type == tokenize.COMMENT]
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        comment = re.search(r"(?:^|\s)//(?!/)(.*)", re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))
        if comment is not None:
            found.append((number, comment[1]))
    return found


def main(paths: list[str]) -> int:
    """Prints every finding of these files; 1 if there is one."""
    worst = 0
    for path in map(Path, paths):
        prose = docstrings(path) if path.suffix in PYTHON else literals(path)
        for number, line in sorted(prose + comments(path)):
            for finding in findings(line):
                print(f"{path}:{number}: {finding}")
                worst = 1
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
