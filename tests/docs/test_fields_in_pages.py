"""The tables of the pages and the docstrings name all fields that the core knows, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import resonate_core as rc

PAGE = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text(encoding="utf-8")


def described(call) -> list[str]:
    """The members that the core knows: it lists them where it refuses another."""
    with pytest.raises(rc.errors.Invalid, match="; there are ") as refused:
        call(rc.Store(clock=rc.ManualClock()), {"noSuchMember": 1})
    return str(refused.value).rpartition("; there are ")[2].split(", ")


def order(store: rc.Store, members: dict) -> None:
    store.schedules.create("s", "* * * * *", promise_timeout=1, job=members)


def table_under(header: str) -> list[str]:
    """What the first column names in backticks, of the table whose header begins so."""
    _, found, rest = PAGE.partition(f"| {header} |")
    assert found, f"no table begins with {header}"
    rows = [line for line in rest.partition("\n\n")[0].splitlines()[2:] if line.startswith("|")]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_the_table_of_enqueue_has_every_field_of_an_order() -> None:
    assert sorted(table_under("member")) == sorted(described(order))


def test_the_table_of_groups_has_every_field() -> None:
    known = described(lambda store, members: store.queues.set("q", groups=members))
    assert sorted(table_under("`groups` of a queue")) == sorted(known)


@pytest.mark.parametrize("method", ["enqueue", "enqueue_many"])
def test_the_docstring_explains_every_argument_and_no_other(method: str) -> None:
    text = getattr(rc.Jobs, method).__doc__
    arguments = re.findall(r"(\w+): ", text.partition(") ->")[0])
    explained = re.findall(r"^    (\w+): ", text.partition("Args:")[2].partition("Returns:")[0], flags=re.MULTILINE)
    assert sorted(explained) == sorted(set(arguments) - {"self"})


def test_enqueue_takes_the_fields_of_an_order_by_their_python_names() -> None:
    arguments = re.findall(r"(\w+): ", rc.Jobs.enqueue.__doc__.partition(") ->")[0])
    names = {re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name) for name in described(order)}
    assert set(arguments) == names | {"self", "headers"}
