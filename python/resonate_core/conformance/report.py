"""The report on a server: as text for people, as JSON, and as JUnit's XML for CI."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from .._foreign_text import clean, clean_lines
from .findings import Finding, Tally
from .plan import Plan
from .rules import TIMEOUT, section

__all__ = ["FORMATS", "Report"]

_WIDEST = 2000  # characters of an envelope in text
_LINES = 12  # differences that are shown


@dataclass(frozen=True)
class Report:
    """The result of a judgement.

    Attributes:
        server: Its URL, without its password.
        plan: The options.
        findings: Each answer that the contract does not allow.
        tallies: The numbers of scenes and rules, by dialect.
        kept: What stays on the server.
        requests: How many requests it sent.
        seconds: How long it took.
    """

    server: str
    plan: Plan
    findings: tuple[Finding, ...]
    tallies: dict[str, Tally]
    kept: tuple[str, ...]
    requests: int
    seconds: float

    @property
    def broken(self) -> dict[str, list[Finding]]:
        """The findings by rule, in the order in which they were found.

        If a kind of request breaks its own rule, its answers after a deadline are counted there: they show the same fault.
        """
        own = {one.rule for one in self.findings}
        found: dict[str, list[Finding]] = {}
        for one in self.findings:
            rule = section(one.request["kind"])
            found.setdefault(rule if one.rule == TIMEOUT and rule in own else one.rule, []).append(one)
        return found

    @property
    def summary(self) -> str:
        """One line."""
        rules = {rule for tally in self.tallies.values() for rule in tally.judged}
        scenes = sum(sum(tally.judged.values()) for tally in self.tallies.values())
        broken = len(self.broken)
        found = "no findings" if not broken else f"{_number(broken, 'rule')} broken"
        return (
            f"{self.server}: {found}; {len(rules)} rules judged by {scenes} scenes, {self.requests} requests, {self.seconds:.1f} s"
        )

    def text(self) -> str:
        """The report for people."""
        plan = self.plan
        lines = [f"{self.server}: rules {plan.rules}, prefix {plan.prefix}, seed {plan.seed}"]
        for dialect, tally in self.tallies.items():
            if tally.judged:
                lines.append(f"{dialect}: {_number(len(tally.judged), 'rule')} judged by {sum(tally.judged.values())} scenes")
            lines += [f"{dialect}: {line}" for line in _not_judged(tally)]
        for number, (rule, found) in enumerate(self.broken.items(), 1):
            lines += ["", *_section(number, rule, found)]
        lines += ["", *(f"left on the server: {one}" for one in self.kept), self.summary]
        return "\n".join(lines) + "\n"

    def json(self) -> str:
        """The report as one JSON document."""
        plan = self.plan
        document = {
            "server": self.server,
            "rules": plan.rules,
            "prefix": plan.prefix,
            "seed": plan.seed,
            "requests": self.requests,
            "seconds": round(self.seconds, 3),
            "dialects": {name: {"judged": tally.judged, "notJudged": tally.not_judged} for name, tally in self.tallies.items()},
            "findings": [
                {
                    "rule": rule,
                    "count": len(found),
                    "scene": found[0].scene,
                    "dialect": found[0].dialect,
                    "request": found[0].request,
                    "answer": found[0].answer,
                    "right": found[0].right,
                    "differences": list(found[0].differences),
                    "story": list(found[0].story),
                    "scenes": [one.scene for one in found],
                }
                for rule, found in self.broken.items()
            ],
            "left": list(self.kept),
        }
        return json.dumps(document, ensure_ascii=True, indent=2) + "\n"

    def junit(self) -> str:
        """The report as JUnit's XML: a suite for each dialect, a case for each rule."""
        root = ElementTree.Element("testsuites", name="resonate-core conformance")
        for dialect, tally in self.tallies.items():
            broken = {rule: [one for one in found if one.dialect == dialect] for rule, found in self.broken.items()}
            rules = sorted({*tally.judged, *tally.not_judged, *(rule for rule, found in broken.items() if found)})
            failures = sum(1 for rule in rules if broken.get(rule))
            skipped = sum(1 for rule in rules if rule not in tally.judged and not broken.get(rule))
            numbers = {"tests": len(rules), "failures": failures, "skipped": skipped, "errors": 0}
            attributes = {"name": dialect} | {name: str(number) for name, number in numbers.items()}
            suite = ElementTree.SubElement(root, "testsuite", attributes)
            for rule in rules:
                case = ElementTree.SubElement(suite, "testcase", classname=dialect, name=rule)
                for one in broken.get(rule, ())[:1]:
                    failure = ElementTree.SubElement(case, "failure", message=clean_lines(_headline(broken[rule])))
                    failure.text = clean_lines("\n".join(_facts(one)))
                if rule not in tally.judged and not broken.get(rule):
                    ElementTree.SubElement(case, "skipped", message=clean_lines("; ".join(tally.not_judged[rule])))
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


FORMATS = {"text": Report.text, "json": Report.json, "junit": Report.junit}


def _not_judged(tally: Tally) -> list[str]:
    """A line for each reason: the rules that no scene has judged, and the number of scenes that were not played."""
    rules: dict[str, list[str]] = {}
    scenes: dict[str, int] = {}
    for rule, reasons in tally.not_judged.items():
        for reason, count in reasons.items():
            rules.setdefault(reason, [])
            scenes[reason] = scenes.get(reason, 0) + count
            if rule not in tally.judged:
                rules[reason].append(rule)
    return [
        f"not judged: {clean(reason)}: {_number(scenes[reason], 'scene')}" + (f", all of {', '.join(found)}" if found else "")
        for reason, found in rules.items()
    ]


def _section(number: int, rule: str, found: list[Finding]) -> list[str]:
    return [f"finding {number}: {rule}", f"  {_headline(found)}", *(f"  {line}" for line in _facts(found[0]))]


def _headline(found: list[Finding]) -> str:
    more = f", and in {len(found) - 1} more" if len(found) > 1 else ""
    return f"in {found[0].scene} ({found[0].dialect}){more}"


def _facts(one: Finding) -> list[str]:
    shown = one.differences[:_LINES]
    return [
        f"request: {_short(one.request)}",
        f"answer:  {_short(one.answer)}",
        f"right:   {_short(one.right)}",
        *(f"differs: {clean(line)}" for line in shown),
        *([f"differs: in {len(one.differences) - len(shown)} more places"] if len(one.differences) > len(shown) else []),
        f"after:   {len(one.story)} requests of the scene, which the JSON report lists",
    ]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return clean(text if len(text) <= _WIDEST else f"{text[:_WIDEST]}… ({len(text)} characters)")


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
