"""`explore`: searches the runs of a scenario for one that fails, and shrinks it to the shortest story."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from .._foreign_text import excerpt
from ..base.stopwatch import seconds as stopwatch
from .batches import Batch, SearchPlan, batches
from .choices import Choice, ChoiceLimit, Choices, Draws
from .determinism import require_equal, require_same_again
from .failures import Failure, NotDeterministic, Report
from .progress_bar import progress_of
from .scenario_runs import run_of
from .scenarios import (
    check_arguments,
    failure_of,
    is_simulated,
    kind_of,
    name_of,
    source_of,
    story_of,
    trimmed,
)
from .searches import Search, search_named
from .shrinking import LabelledDraws, Shrinker, Tried
from .tokens import MOST_NUMBERS, decode, encode

__all__ = ["explore"]

_RUNS = 1_000
_LIMIT, _LIMIT_OF_SIMULATIONS = 100_000, 2_000_000


def explore(
    scenario: Callable[..., Any],
    *,
    runs: int | None = None,
    seed: int | None = None,
    search: str | Search = "random",
    stop: str | int = "first",
    seconds: float | None = None,
    replay: str | None = None,
    executor: Executor | None = None,
    in_flight: int | None = None,
    progress: bool | Callable[[Report], None] | None = None,
    twice: bool = False,
    limit: int | None = None,
    shrink: int = 2_000,
    shrink_seconds: float = 30.0,
) -> Report:
    """Run a scenario many times, each time with other choices, until a run fails; raise the shortest failing story.

    Run i of seed s is always the same run: on every machine, with every executor, and in whichever order the runs are made.

    Args:
        scenario: ``def scenario(choices)``, which draws what may differ from `Choices`, or ``async def scenario(world)``, which is
            simulated with all of its parts. Each run starts from nothing: what one run leaves to the next makes it not deterministic.
        runs: The number of runs. Default: the environment variable ``RESONATE_RUNS``, or 1,000.
        seed: At least 0. Default: the environment variable ``RESONATE_SEED``, or 0.
        search: ``"random"``, ``"priorities"``, ``"crash_everywhere"``, or a strategy of your own with the methods of `Search`.
        stop: ``"first"`` ends the search at the first failing run, a number at that many failing runs, ``"never"`` makes all runs. The
            first failing run is shrunk; the report of the failure lists the others.
        seconds: No batch of runs starts after this time. Default: no limit. The number of runs then depends on the machine.
        replay: A token: only this run is made. Default: the environment variable ``RESONATE_REPLAY``, if its token is of this scenario.
        executor: Any `concurrent.futures.Executor` makes the runs, for example a `ProcessPoolExecutor` or Dask's
            ``client.get_executor()``. The scenario and the search must be picklable. Default: this thread.
        in_flight: The number of batches submitted at once. Default: two for each worker of the executor.
        progress: True shows a bar (extra ``testing``), false none, a function is called with the report after each batch. Default: a
            bar if standard error is a terminal.
        twice: Make each run a second time with the same choices, and compare choices, stories and errors.
        limit: The most choices of one run. A run beyond it fails with `ChoiceLimit`. Default: 100,000, and of a simulation 2,000,000.
        shrink: The most runs for shrinking; 0 for none.
        shrink_seconds: The longest time for shrinking.

    Returns:
        The report, if no run failed.

    Raises:
        Failure: A run failed. It carries the shortest story, a token that replays it, and the error.
        NotDeterministic: A failing run, or with `twice` any run, differed when it was repeated with the same choices.
        TypeError: The scenario is no function of one argument.
        ValueError: An argument is out of its range, or a token is not whole or of another scenario.

    Example:
        >>> from resonate_core.testing import Choices, Failure, explore
        >>> def scenario(choices: Choices) -> None:
        ...     balance = 100
        ...     for _ in range(choices.integer(0, 9, "withdrawals")):
        ...         amount = choices.integer(1, 50, "amount")
        ...         choices.note(f"withdraw {amount}")
        ...         balance -= amount
        ...     assert balance >= 0, "overdrawn"
        >>> try:
        ...     explore(scenario, runs=1_000, seed=1)
        ... except Failure as failure:
        ...     print(*failure.story, sep="; ")
        withdraw 1; withdraw 50; withdraw 50
    """
    __tracebackhide__ = True
    name = name_of(scenario)
    check_arguments(scenario)
    if limit is None:
        limit = _LIMIT_OF_SIMULATIONS if is_simulated(scenario) else _LIMIT
    token = _token_for(name, replay)
    if token is not None:
        return _replay(scenario, name, token, limit)
    seed = _from_environment("RESONATE_SEED", 0) if seed is None else seed
    runs = _from_environment("RESONATE_RUNS", _RUNS) if runs is None else runs
    failures = _failures_to_stop_at(stop)
    for what, value, least in (("seed", seed, 0), ("runs", runs, 1), ("limit", limit, 1), ("shrink", shrink, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{what} must be an integer of at least {least}, got {value!r}")
    if limit > MOST_NUMBERS:
        raise ValueError(f"limit must be from 1 to {MOST_NUMBERS}, got {limit}: a token holds no more choices")
    if in_flight is not None and in_flight < 1:
        raise ValueError(f"in_flight must be at least 1, got {in_flight}")

    run = run_of(scenario)

    def trial(draws: Draws) -> Choices:
        choices = Choices(draws, limit=limit)
        failure_of(run, choices)  # the search proper meets a failure again, and reports it
        return choices

    strategy = search_named(search).prepared(seed, trial)
    plan = SearchPlan(scenario, strategy, seed, limit, failures, twice)
    report = Report(name, seed, strategy.name)
    began = stopwatch()
    with progress_of(progress, runs) as show:
        made = batches(plan, runs, executor, in_flight)
        try:
            for batch in made:
                _take(report, batch, failures)
                report.seconds = stopwatch() - began
                show(report)
                if len(report.failing) >= failures or (seconds is not None and report.seconds >= seconds):
                    break
        finally:
            made.close()
    if not report.failing:
        return report
    raise _shortest(run, scenario, plan, report, shrink, shrink_seconds)


def _take(report: Report, batch: Batch, failures: int) -> None:
    """Add a batch to the report; runs after the last failing one that counts are not part of it."""
    missing = failures - len(report.failing)
    report.failing += batch.failing[:missing]
    if len(batch.failing) >= missing:
        report.runs = batch.failing[missing - 1].run + 1
        report.choices += batch.drawn_by[missing - 1]
    else:
        report.runs = batch.first + batch.runs
        report.choices += batch.choices


def _failures_to_stop_at(stop: str | int) -> int:
    if stop == "first":
        return 1
    if stop == "never":
        return 1 << 62
    if isinstance(stop, bool) or not isinstance(stop, int) or stop < 1:
        raise ValueError(f"stop must be 'first', 'never' or a number of failing runs of at least 1, got {stop!r}")
    return stop


def _from_environment(variable: str, default: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise ValueError(f"{variable} must be an integer of at least 0, got {text!r}")
    return int(text)


# -- replay -----------------------------------------------------------------------------------------------------------------


def _token_for(name: str, replay: str | None) -> str | None:
    """Return the token to replay. One of another scenario is an error as an argument, and is ignored in the environment."""
    token = replay if replay is not None else os.environ.get("RESONATE_REPLAY", "").strip()
    if not token:
        return None
    try:
        scenario, _ = decode(token)
    except ValueError as error:
        raise ValueError(f"{'RESONATE_REPLAY' if replay is None else 'replay'}: {error}") from None
    if _same(scenario, name):
        return "".join(token.split())
    if replay is not None:
        raise ValueError(f"replay must be a token of {name}, got one of {excerpt(scenario)}")
    return None


def _same(one: str, other: str) -> bool:
    """Whether two names mean one scenario: a module may be imported with or without its packages."""
    module, _, function = one.partition(":")
    other_module, _, other_function = other.partition(":")
    return function == other_function and (
        module == other_module or module.endswith("." + other_module) or other_module.endswith("." + module)
    )


def _replay(scenario: Callable[..., Any], name: str, token: str, limit: int) -> Report:
    __tracebackhide__ = True
    _, tape = decode(token)
    report = Report(name, 0, "replay", runs=1)
    choices = Choices.from_tape(tape, limit=limit, telling=True)
    error = failure_of(run_of(scenario), choices)
    report.choices = len(choices.tape)
    if error is None:
        return report
    raise Failure(
        scenario=name,
        token=token,
        story=story_of(choices, error),
        cause=error,
        choices=len(choices.tape),
        source=source_of(scenario),
    ) from trimmed(error)


# -- the shortest story -----------------------------------------------------------------------------------------------------


def _shortest(
    run: Callable[[Choices], Any], scenario: Callable[..., Any], plan: SearchPlan, report: Report, shrink: int, seconds: float
) -> Failure:
    """Return the failure of the first failing run, shrunk."""
    number = report.failing[0].run
    first = Choices(plan.search.draws(plan.seed, number), limit=plan.limit)
    error = failure_of(run, first)
    if error is None:
        raise NotDeterministic(
            f"run {number} of seed {plan.seed} failed ({report.failing[0].summary}), and passed when it was repeated"
        )
    require_same_again(run, first, error, plan.limit)

    kind = kind_of(error)
    limit = min(plan.limit, 2 * len(first.tape) + 1_000)

    def attempt(tape: Sequence[Choice]) -> Tried | None:
        choices = Choices(LabelledDraws(tape), limit=limit)
        failed = failure_of(run, choices)
        if failed is None or kind_of(failed) != kind:
            return None
        return Tried(choices.drawn, len(story_of(choices, failed)))

    tried = Tried(first.drawn, len(story_of(first, error)))
    shrinker = Shrinker(tried, attempt, runs=0 if isinstance(error, ChoiceLimit) else shrink, seconds=seconds)
    best = shrinker.shrink()

    replayed = Choices.from_tape([choice.value for choice in best.drawn], limit=plan.limit, telling=True)
    cause = failure_of(run, replayed)
    if cause is None or kind_of(cause) != kind:
        require_equal(best.drawn, replayed.drawn, (), (), error, cause)
    assert cause is not None
    failure = Failure(
        scenario=report.scenario,
        seed=plan.seed,
        run=number,
        token=encode(report.scenario, replayed.tape),
        story=story_of(replayed, cause),
        cause=cause,
        found=len(first.tape),
        choices=len(replayed.tape),
        shrink_runs=shrinker.runs,
        stopped=shrinker.stopped if shrinker.runs else "",
        report=report,
        source=source_of(scenario),
    )
    failure.__cause__ = trimmed(cause)
    return failure
