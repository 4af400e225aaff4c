"""References such as PROTOCOL 3.12, in code and pages, point to sections of the contract that exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator

import pytest
from pages import DOCS, ROOT

PAGES_OF = {"PROTOCOL": "protocol.md", "JOBS": "jobs.md", "WIRE": "wire.md"}
HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)?)\.? ", re.MULTILINE)
NUMBER = r"\d+(?:\.\d+)?"
GAP = r"\s+(?:(?://|#|\*) ?)?"  # a reference may continue in the next line of a comment
REFERENCE = re.compile(rf"\b({'|'.join(PAGES_OF)})({GAP}{NUMBER}(?:(?:,{GAP}|{GAP}and{GAP}){NUMBER}\b)*)")


def references(text: str) -> Iterator[tuple[str, str]]:
    """Returns each document and section that a text refers to; `PROTOCOL 3 and 4` are two."""
    for found in REFERENCE.finditer(text):
        for number in re.findall(NUMBER, found[2]):
            yield found[1], number


def sections(document: str) -> list[str]:
    """Returns the numbers of a document's headings."""
    return HEADING.findall((DOCS / "spec" / PAGES_OF[document]).read_text(encoding="utf-8"))


def texts() -> Iterator[tuple[str, str]]:
    """Returns the text files that are committed or not ignored, by path."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--deduplicate"]
    for path in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / path).is_file() and not path.endswith((".db", ".png")):
            yield path, (ROOT / path).read_text(encoding="utf-8")


def test_every_reference_has_its_section() -> None:
    known = {(document, number) for document in PAGES_OF for number in sections(document)}
    found = [
        (path, *reference) for path, text in texts() if path != "tests/docs/test_contract.py" for reference in references(text)
    ]
    assert len(found) > 300
    assert {document for _, document, _ in found} == set(PAGES_OF)
    assert [f"{path}: {document} {number}" for path, document, number in found if (document, number) not in known] == []


@pytest.mark.parametrize("document", PAGES_OF)
def test_the_sections_are_numbered_without_gaps(document: str) -> None:
    numbers = sections(document)
    top = [int(number) for number in numbers if "." not in number]
    assert top == list(range(top[0], top[0] + len(top)))
    for parent in dict.fromkeys(number.partition(".")[0] for number in numbers if "." in number):
        assert [n for n in numbers if n.startswith(f"{parent}.")] == [f"{parent}.{n}" for n in range(1, 1 + sum(n.startswith(f"{parent}.") for n in numbers))]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as in PROTOCOL 3.12.", [("PROTOCOL", "3.12")]),
        ("(PROTOCOL 3 and 4, JOBS 9)", [("PROTOCOL", "3"), ("PROTOCOL", "4"), ("JOBS", "9")]),
        ("// what it does (WIRE\n// 5)", [("WIRE", "5")]),
        ("# PROTOCOL 1.2, 99.9", [("PROTOCOL", "1.2"), ("PROTOCOL", "99.9")]),
        ("`PROTOCOL` has 4 parts, MAX_JOBS 4", []),
    ],
)
def test_references_are_found(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(references(text)) == expected


def test_no_document_is_named_that_a_reader_does_not_have() -> None:
    named = re.compile(r"\bseeds? 00\d|\b(?:DESIGN|STYLE) \d|shared/spec\b")
    assert [path for path, text in texts() if path != "tests/docs/test_contract.py" and named.search(text)] == []
