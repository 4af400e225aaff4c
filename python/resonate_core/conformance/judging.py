"""The test of one server: the dialects that it speaks, the scenes, random programs, several connections, and the cleanup."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

from ..base.stopwatch import seconds
from ..errors import ResonateError
from ..http.server_client import NoEnvelope
from . import concurrent, programs
from .exchange import JudgedServer
from .findings import NotJudged, SceneFailed
from .instants import ServerTime
from .plan import Plan
from .player import MARK, Player, Scene
from .report import Report
from .requests import V26, request
from .scenes import job_table, messages, searches, shapes, task_rows, task_table, times, trap_cells

__all__ = ["Plan", "judge"]

_LEAST_WAIT = 300
"""The shortest deadline that a scene waits for, in ms; on a slow connection it is longer."""
_CALIBRATIONS, _BETWEEN = 5, 0.03  # seconds between two of them
_ONE_IN = 4  # scenes that are played with little effort


def judge(url: str, plan: Plan, token: str | None = None, timeout: float = 30, progress: Callable[[str], object] = str) -> Report:
    """Judge a server.

    Args:
        url: Its address.
        plan: The options.
        token: A bearer token.
        timeout: Seconds for which one answer is waited for.
        progress: Called with the name of each part when it begins.

    Raises:
        Unreachable: It does not answer. The promises that were created before are settled as far as it still answers.
        NoEnvelope: It does not speak the protocol, or none of the dialects.
        ResonateError: With 401 or 403: the token is missing or wrong, or does not permit the prefix.
        Invalid: The URL or the token is none.
    """
    began = seconds()
    server = JudgedServer(url, token, timeout)
    player = Player(server, ServerTime(), plan.rules, plan.prefix, plan.patience)
    try:
        spoken = tuple(dialect for dialect in plan.dialects if _speaks(server, dialect, plan.prefix))
        if not spoken:
            raise NoEnvelope(f"{server.name} speaks none of {', '.join(plan.dialects)}")
        for dialect in set(plan.dialects) - set(spoken):
            player.tally(dialect).leave("every rule", "the server does not speak this dialect")
        try:
            _judge(player, plan, spoken, progress)
        finally:
            progress("cleaning up")
            player.leftovers.remove(server, spoken[0], MARK, player.mark)
    finally:
        server.close()
    return Report(
        server.name, plan, tuple(player.findings), {name: player.tallies[name] for name in plan.dialects if name in player.tallies},
        tuple(player.leftovers.kept), next(player.corr_ids) - 1, seconds() - began,
    )  # fmt: skip


def _speaks(server: JudgedServer, dialect: str, prefix: str) -> bool:
    """Whether the server speaks a dialect.

    Raises:
        NoEnvelope: It does not speak the protocol.
        ResonateError: With 401 or 403: the token.
    """
    answer = server.ask(request("promise.get", {"id": f"{prefix}probe"}, dialect))
    said = f"it answered {answer.http_status}: {answer.text[:200]}"
    if answer.http_status in (401, 403):
        raise ResonateError(f"{server.name} does not permit this: {said}", answer.http_status)
    body = answer.body
    if not isinstance(body, dict) or not isinstance(body.get("head"), dict):
        raise NoEnvelope(f"{server.name} does not speak the protocol: {said}", answer.http_status)
    return body["head"].get("status") in (200, 404) and body["head"].get("version") == dialect


def _judge(player: Player, plan: Plan, spoken: tuple[str, ...], progress: Callable[[str], object]) -> None:
    try:
        soon = _calibrate(player, spoken)
    except SceneFailed as verdict:  # not even a promise can be created
        player.findings.append(verdict.finding)
        return
    except NotJudged as refused:
        raise ResonateError(f"{player.server.name} does not permit the prefix {plan.prefix!r}: {refused}", 403) from refused
    if plan.debug and player.clock.fixed is not None:
        player.moves_clock = True
    for dialect in spoken:
        progress(f"tables of {dialect}")
        jobs = plan.jobs and _has_jobs(player, dialect)
        player.play_all(_scenes(dialect, spoken, plan, soon, jobs), plan.connections)
    progress("random programs")
    player.play_all(programs.scenes(spoken, plan.seed, plan.requests), plan.connections)
    if plan.connections < 2:
        return
    if player.findings:
        reason = "a history is judged by the model, which this server does not follow: mend the findings first"
        player.tally(spoken[0]).leave(concurrent.RULE, reason)
        return
    progress(f"{plan.connections} connections")
    concurrent.judge(player, spoken, plan.seed, plan.connections, plan.requests // 2)


def _has_jobs(player: Player, dialect: str) -> bool:
    """Whether the server has jobs, which are not part of the protocol."""
    answer = player.server.ask(request("job.get", {"id": f"{player.prefix}probe"}, dialect))
    if answer.http_status == 404:
        return True
    player.tally(dialect).leave("JOBS", f"the server has no jobs: it answered {answer.http_status} to job.get")
    return False


def _calibrate(player: Player, spoken: tuple[str, ...]) -> int:
    """Learn the server's clock, and whether it runs; return how soon a deadline may be, in ms, so that there is time for a scene before.

    Raises:
        SceneFailed: A promise that is created is answered wrongly.
        NotJudged: The token does not permit it.
    """
    longest, shown = 0.0, set()
    for number in range(_CALIBRATIONS):
        time.sleep(_BETWEEN if number else 0)
        begin = seconds()
        player.clock.forget()  # a clock that stands still contradicts what was learned
        client = player.client(spoken[0], "calibration")
        try:
            client.begin()
        finally:
            player.leftovers.take(client.twin)
        longest = max(longest, seconds() - begin)
        shown.add(client.base)
        if len(shown) == 1 and number == _CALIBRATIONS - 1:
            player.clock.fixed = client.base
    return max(_LEAST_WAIT, round(longest * 1000 * 40))


def _scenes(dialect: str, spoken: tuple[str, ...], plan: Plan, soon: int, jobs: bool) -> Iterator[Scene]:
    made = _all_scenes(dialect, spoken, plan, soon, jobs)
    return itertools.islice(made, 0, None, _ONE_IN) if plan.effort == "quick" else made


def _all_scenes(dialect: str, spoken: tuple[str, ...], plan: Plan, soon: int, jobs: bool) -> Iterator[Scene]:
    """Return all scenes; those that wait for an instant come first, so that others run meanwhile."""
    yield from times.scenes(dialect, soon)
    yield from messages.scenes(dialect, soon)
    if jobs:
        yield from job_table.scenes(dialect)
    yield from trap_cells.scenes(dialect, spoken, plan.rules, soon)
    if dialect == V26:
        yield from task_table.scenes(soon)
        yield from searches.scenes()
    else:
        yield from task_rows.scenes(soon, plan.effort == "thorough")
    yield from shapes.scenes(dialect)
