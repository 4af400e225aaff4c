"""Files of pytest that replay a failure: `Failure.to_pytest`, and the option ``--resonate-write-regressions``."""

from __future__ import annotations

import re
import types
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["ScenarioSource", "name_of_file", "replay_of", "text_of"]


@dataclass(frozen=True)
class ScenarioSource:
    """Where a generated test finds its scenario.

    Attributes:
        module: The module.
        function: The name of the function in it.
        fixtures: The fixtures of the module that the function uses; None: it is no test, but a scenario of `explore`.
    """

    module: str
    function: str
    fixtures: tuple[str, ...] | None = None


def name_of_file(source: ScenarioSource, token: str) -> str:
    """Return a name for the file of a failure. Another failure of the same test has another name.

    Example:
        >>> name_of_file(ScenarioSource("test_shop", "test_charged_once"), "rct_1")
        'test_charged_once_e79fdcce.py'
    """
    stem = source.function if source.function.startswith("test_") else f"test_{source.function}"
    return f"{stem}_{zlib.crc32(token.encode()):08x}.py"


def text_of(source: ScenarioSource, scenario: str, token: str, story: Sequence[str]) -> str:
    """Return the text of a file of pytest whose only test replays a run.

    Args:
        source: Where the scenario is.
        scenario: Its name, for people.
        token: The token of the run.
        story: The story of the run.
    """
    notes = "\n".join(f"    {_in_docstring(line)}".rstrip() for line in story)
    pieces = "\n".join(f"    {_quoted(token[at : at + 100])}" for at in range(0, len(token), 100))
    for name in (*source.module.split("."), source.function, *(source.fixtures or ())):
        if not name.isidentifier():
            raise ValueError(f"module, function and fixtures of a scenario must be names of Python, got {name!r}")
    function = source.function
    if source.fixtures is None:
        imports = f"from {source.module} import {function}\n\nfrom resonate_core.testing import explore"
        name = re.sub(r"\W+", "_", function)
        test = f"def test_{name}() -> None:\n    explore({function}, replay=TOKEN)"
    else:
        names = ", ".join(sorted({*source.fixtures, function}))
        comment = "  # noqa: F401 - its fixtures" if source.fixtures else ""
        imports = f"from {source.module} import {names}{comment}\n\nfrom resonate_core.testing import replay_of"
        test = f"{function} = replay_of({function}, TOKEN)"
    return f'''"""Replays a failure of {_in_docstring(scenario)}.

The story at that time::

{notes or "    (no notes)"}
"""

{imports}

TOKEN = (
{pieces}
)


{test}
'''


def _in_docstring(text: str) -> str:
    """Return a text of others as a part of a docstring: one line, which ends no literal and escapes nothing."""
    plain = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
    return plain.replace("\\", "\\\\").replace('"""', "'''")


def _quoted(text: str) -> str:
    return '"' + _in_docstring(text).replace('"', '\\"') + '"'


def replay_of(test: Callable[..., Any], token: str) -> Callable[..., Any]:
    """Return an explored test that makes only the run of a token, whatever the number of runs on its marker is.

    Args:
        test: A test function with the marker ``resonate_explore``.
        token: The token of a failure of it.

    Returns:
        A test with the same fixtures and the other markers of that test. It is collected under the name to which it is assigned.

    Raises:
        TypeError: It is no function with that marker.

    Example:
        >>> import pytest
        >>> from resonate_core.testing import replay_of
        >>> @pytest.mark.resonate_explore(runs=1000)
        ... def test_dice(resonate_choices):
        ...     assert resonate_choices.integer(1, 6, "die") < 6
        >>> again = replay_of(test_dice, "rct_...")
        >>> [(mark.name, mark.kwargs) for mark in again.pytestmark]
        [('resonate_explore', {'replay': 'rct_...'})]
    """
    import pytest

    marks = list(getattr(test, "pytestmark", ()))
    explored = [mark for mark in marks if mark.name == "resonate_explore"]
    if not isinstance(test, types.FunctionType) or not explored:
        raise TypeError(f"test must be a function with the marker resonate_explore, got {test!r}")
    copy = types.FunctionType(test.__code__, test.__globals__, test.__name__, test.__defaults__, test.__closure__)
    copy.__kwdefaults__ = test.__kwdefaults__
    copy.__qualname__, copy.__doc__, copy.__module__ = test.__qualname__, test.__doc__, test.__module__
    copy.__dict__.update(test.__dict__)
    options = {key: value for key, value in explored[0].kwargs.items() if key == "limit"}
    replay = pytest.mark.resonate_explore(**options, replay=token).mark
    copy.__dict__["pytestmark"] = [*(mark for mark in marks if mark.name != "resonate_explore"), replay]
    return copy
