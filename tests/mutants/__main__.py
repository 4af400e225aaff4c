"""Mutation tests: puts small defects into a copy of the sources; the tests must find each of them.

    scripts/mutants                    runs all mutants; exits with 1 if the tests miss one
    scripts/mutants --list             checks that each mutant has its place in the sources; builds nothing
    scripts/mutants --only job lease   only mutants whose area or name contains one of the words
    scripts/mutants --of TREE          uses another checkout; mutants without a place in it are left out
    scripts/mutants --tier fast        runs the tests of this tier alone (tests/tiers.py); the default is `all`
    scripts/mutants --table FILE       also writes the table of results to this file, in Markdown

All mutants of C++ are compiled into one module; the environment variable RESONATE_MUTANT selects one. Each mutant of Python is
a copy of the package; if no others are chosen, nothing is compiled. The tests are those that `scripts/test --all` runs in CI, the quickest first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutants.building import build_module, python_site, use_installed_module
from mutants.catalogue import FIRST, FORKED, MUTANTS, REST, SLICES, THEN
from mutants.judging import Verdict, judge, judge_forked
from mutants.mutant import Mutant, Place, mutated, places, sources

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/mutants", description="Put small defects into the sources; the tests must find each."
    )
    parser.add_argument("--list", action="store_true", help="only say whether each mutant has its place in the sources")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="those whose area or name has one of the words")
    parser.add_argument("--of", type=Path, default=ROOT, metavar="TREE", help="judge the tests of another checkout")
    parser.add_argument(
        "--tier", choices=("fast", "all", "full"), default="all", help="the tests of this tier (default: %(default)s)"
    )
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="how many mutants are tested at once")
    parser.add_argument("--no-build", action="store_true", help="use the module that the last run built")
    parser.add_argument("--no-check", action="store_true", help="take for granted that the unchanged sources pass")
    return parser.parse_args()


def find(tree: Path) -> tuple[list[tuple[Mutant, Place]], list[str]]:
    """The mutants that have a place in the tree, and the problems of the others."""
    texts = {language: sources(tree, language) for language in ("cpp", "python")}
    found, problems = [], []
    for mutant in MUTANTS:
        its = places(mutant, texts[mutant.language])
        if len(its) == 1:
            found.append((mutant, its[0]))
        else:
            problems.append(f"{mutant.name}: its text occurs {len(its)} times and must occur once: {mutant.old}")
    return found, problems


def verdicts(tree: Path, work: Path, chosen: list[tuple[Mutant, Place]], jobs: int) -> Iterator[tuple[Mutant, Verdict]]:
    """Runs the tests on each mutant; yields each verdict as soon as it is known."""
    compiled = {mutant.number: mutant for mutant, _ in chosen if mutant.language == "cpp"}
    forks = [(number, FIRST[mutant.area] + THEN) for number, mutant in compiled.items()]
    living = []
    for number, verdict in judge_forked(tree, work, FORKED, forks, jobs) if forks else ():
        if verdict.caught_by is None:
            living.append(compiled[number])
        else:
            yield compiled[number], verdict

    def one(mutant: Mutant, place: Place | None) -> Verdict:
        if place is None:
            verdict = judge(tree, work / "site", mutant.number, REST)
            module, _, test = (verdict.caught_by or "").partition("::")
            if test and judge(tree, work / "site", 0, [module]).caught_by is not None:
                print(f"the unchanged sources fail {module}, too: it says nothing of mutants", file=sys.stderr)
                return Verdict(None, verdict.seconds)
            return verdict
        site = python_site(tree, work, mutant, place)
        try:
            return judge(tree, site, 0, [mutant.first] * bool(mutant.first) + SLICES[mutant.area])
        finally:
            shutil.rmtree(site)

    others: list[tuple[Mutant, Place | None]] = [(mutant, place) for mutant, place in chosen if mutant.language == "python"]
    others += [(mutant, None) for mutant in living]
    with ThreadPoolExecutor(jobs) as pool:
        waiting = {pool.submit(one, mutant, place): mutant for mutant, place in others}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def sound(tree: Path, work: Path, chosen: list[tuple[Mutant, Place]], jobs: int) -> bool:
    """Whether the unchanged sources pass the tests; otherwise the verdicts on mutants would mean nothing."""
    areas = {mutant.area: mutant.language for mutant, _ in chosen}
    words = dict.fromkeys(word for area, language in areas.items() if language == "cpp" for word in FIRST[area])
    slices = dict.fromkeys(word for area, language in areas.items() if language == "python" for word in SLICES[area])
    forked = (one for _, one in judge_forked(tree, work, FORKED, [(0, [word]) for word in words], jobs)) if words else ()
    with ThreadPoolExecutor(jobs) as pool:
        for verdict in chain(forked, pool.map(lambda one: judge(tree, work / "site", 0, [one]), slices)):
            if verdict.caught_by is not None:
                print(f"{verdict.output[-6000:]}\nthe unchanged sources fail {verdict.caught_by}: nothing can be said of mutants")
                return False
    print("the unchanged sources pass", flush=True)
    return True


def main() -> int:
    chosen_by = arguments()
    os.environ["RESONATE_TEST_TIER"] = chosen_by.tier  # for the runs of pytest
    tree = chosen_by.of.resolve()
    found, problems = find(tree)
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems and tree == ROOT:
        return 1
    if chosen_by.list:
        compiled = [(mutant, place) for mutant, place in found if mutant.language == "cpp"]
        mutated(sources(tree, "cpp"), compiled)  # all are compiled into one module: an error if two overlap
        print(f"{len(found)} mutants have their place in the sources")
        return 0
    chosen = [
        (mutant, place)
        for mutant, place in found
        if not chosen_by.only or any(word in f"{mutant.area} {mutant.name}" for word in chosen_by.only)
    ]
    work = ROOT / "build" / "mutants" / (tree.name if tree != ROOT else "here")
    if not chosen_by.no_build:
        if tree == ROOT and all(mutant.language == "python" for mutant, _ in chosen):
            use_installed_module(tree, work)
        else:
            build_module(tree, work, [(mutant, place) for mutant, place in found if mutant.language == "cpp"])
    if not chosen_by.no_check and not sound(tree, work, chosen, chosen_by.jobs):
        return 1
    rows = {}
    for mutant, verdict in verdicts(tree, work, chosen, chosen_by.jobs):
        row = f"| {mutant.name} | {mutant.area} | {verdict.caught_by or '**LIVES**'} | {verdict.seconds:.0f} |"
        print(row, flush=True)
        rows[mutant] = (row, verdict.caught_by is not None)
    rows = {mutant: rows[mutant] for mutant, _ in chosen}
    alive = sum(not caught for _, caught in rows.values())
    caught = f"{len(rows) - alive} of {len(rows)} mutants are caught by the tests of the tier {chosen_by.tier}"
    print(caught)
    if chosen_by.table:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=tree, capture_output=True, text=True, check=False)
        head = f"{caught} ({commit.stdout.strip() or tree.name}).\n\n"
        lines = ["| mutant | area | caught by | seconds |", "|---|---|---|---|", *(row for row, _ in rows.values())]
        lines += [f"\nNo place in these sources: {problem.split(': its text', 1)[0]}" for problem in problems]
        chosen_by.table.write_text(head + "\n".join(lines) + "\n")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
