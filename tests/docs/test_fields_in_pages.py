"""The tables of the pages and the docstrings name all fields that the core describes, and no others."""

from __future__ import annotations

import re

import pytest
from pages import DOCS, table

import resonate_core as rc
from resonate_core._core import wire_fields

PAGE = (DOCS / "jobs.md").read_text(encoding="utf-8")
CONTRACT = (DOCS / "spec" / "jobs.md").read_text(encoding="utf-8")
FIELDS = {part: [member["name"] for member in members] for part, members in wire_fields().items()}


def named_in(header: str) -> list[str]:
    """Returns the names in backticks in the first column of that table."""
    return [name for row in table(PAGE, header) for name in re.findall(r"`(\w+)`", row[0])]


def shapes() -> dict[str, str]:
    """Returns the data of each kind, as the table of docs/spec/jobs.md writes it."""
    return {kind: data for kinds, data, *_ in table(CONTRACT, "kind") for kind in re.findall(r"`([\w.]+)`", kinds)}


@pytest.mark.parametrize(
    ("header", "part"), [("member", "job.enqueue"), ("`groups` of a queue", "groups")], ids=["job.enqueue", "groups"]
)
def test_a_table_has_every_field(header: str, part: str) -> None:
    assert sorted(named_in(header)) == sorted(FIELDS[part])


SHAPED = sorted(kind for kind in FIELDS if kind.startswith(("job.", "queue.")) and kind not in {"job.enqueue", "queue.set"})


@pytest.mark.parametrize("kind", SHAPED)
def test_the_contract_has_the_members_of_each_kind(kind: str) -> None:
    words = set(re.findall(r"[a-z]\w*", " ".join(re.findall(r"`\{(.*?)\}`", shapes()[kind]))))
    inner = {
        "jobs": ["id", "version", "result"],
        "queues": ["name", "weight"],
        "error": FIELDS["error"],
        "steps": ["id", "state", "value", "param", "tags", "timeoutIn"],
    }
    allowed = set(FIELDS[kind]).union(*(inner[name] for name in FIELDS[kind] if name in inner))
    missing = set(FIELDS[kind]) - words - ({"state"} if kind == "job.cancel" else set())  # which refuses one
    assert not missing
    assert words <= allowed


def test_the_bounds_of_a_rate_are_those_of_the_core() -> None:
    limits = {member["name"]: (member["least"], member["most"]) for member in wire_fields()["rate"]}
    assert limits == {"limit": (1, 1_000_000), "per": (1, 366 * 86_400_000), "burst": (1, 1_000_000)}
    assert "A rate has `limit` and `burst` of 1 to 1,000,000 and `per` of 1 ms to 366 days" in CONTRACT


@pytest.mark.parametrize("method", ["enqueue", "enqueue_many"])
def test_the_docstring_explains_every_argument_and_no_other(method: str) -> None:
    text = getattr(rc.Jobs, method).__doc__
    arguments = re.findall(r"(\w+): ", text.partition(") ->")[0])
    explained = re.findall(r"^    (\w+): ", text.partition("Args:")[2].partition("Returns:")[0], flags=re.MULTILINE)
    assert sorted(explained) == sorted(set(arguments) - {"self"})


def test_enqueue_takes_the_fields_of_an_order_by_their_python_names() -> None:
    arguments = re.findall(r"(\w+): ", rc.Jobs.enqueue.__doc__.partition(") ->")[0])
    names = {member["argument"] for member in wire_fields()["job.enqueue"]}
    assert set(arguments) == names | {"self", "headers"}
