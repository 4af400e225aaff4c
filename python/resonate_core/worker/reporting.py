"""Reports how attempts progress and end: to the store, in counts and in the log."""

from __future__ import annotations

import logging
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from ..base.instants import length
from ..errors import ResonateError, StoreError
from .encoding import encoded
from .execution import Attempt
from .job_source import MOST, NOT_HELD, JobSource
from .outcomes import TIMED_OUT, Outcome, unstorable, unwritable
from .report_buffer import ReportBuffer
from .tracebacks import of_program

__all__ = ["Counts", "Seen", "note_completed", "report", "report_all_but_last", "send_progress"]

_log = logging.getLogger("resonate_core.worker")


@dataclass(slots=True)
class Counts:
    """Counts of a worker since it was made.

    Attributes:
        completed: Attempts that ended well.
        failed: Attempts that failed, timeouts among them.
        snoozed: Attempts that were put off, also by a stop.
        lost: Attempts whose outcome was refused: the job was cancelled or settled, or another worker holds it.
        released: Jobs that were claimed and given back.
        expired: Jobs that were claimed and could not be started any more.
        standstills: How often all slots were held by jobs that cannot end.
        suspended: Attempts of workflows that wait.
        restarted: Runs of workflows that were started over.
    """

    completed: int = 0
    failed: int = 0
    snoozed: int = 0
    lost: int = 0
    released: int = 0
    expired: int = 0
    standstills: int = 0
    suspended: int = 0
    restarted: int = 0


#: The outcome that was reported in the end, and the status of the answer.
Reported = tuple[Outcome, int]
#: Is called for each attempt, with the outcome that was reported in the end and its status.
Seen = Callable[[Attempt, Outcome, int], None]
Ended = deque[tuple[Attempt, Outcome]]


def report(client: JobSource, ended: Ended, counts: Counts, seen: Seen | None = None) -> None:
    """Report how attempts ended, in order, after what they said about their work; reported ones leave the queue.

    An outcome that the store refuses fails its attempt. Only a store that cannot be reached raises (StoreError, OSError).

    Args:
        client: Where their jobs are.
        ended: The attempts and their outcomes.
        counts: They are counted in it.
        seen: Called for each.
    """
    send_progress(client, [attempt for attempt, _ in ended])
    while ended:
        _report_first(client, ended, counts, seen)


def report_all_but_last(
    client: JobSource, ended: Ended, counts: Counts, seen: Seen | None = None
) -> Sequence[tuple[str, int, Any]]:
    """Report like `report`, except for the last attempts that have completed, which stay in the queue.

    Returns:
        The results of those that stay, as `JobSource.complete_many` takes them, so that the caller completes them together with other
        requests: one request's worth, or none.
    """
    send_progress(client, [attempt for attempt, _ in ended])
    while ended:
        done = _completed(ended)
        if len(done) == len(ended):
            with suppress(Exception):  # a result has no JSON: reported by itself, it raises that again, and fails its attempt
                return _results(done)
        _report_first(client, ended, counts, seen)
    return ()


def note_completed(client: JobSource, ended: Ended, statuses: Sequence[int], counts: Counts, seen: Seen | None) -> None:
    """Take the statuses of the attempts that `report_all_but_last` has left."""
    _note(ended, _judged(client, list(ended), statuses), counts, seen)


def _report_first(client: JobSource, ended: Ended, counts: Counts, seen: Seen | None) -> None:
    """Report the first attempts, as many as one request takes."""
    first = ended[0][1]
    if first.kind == "completed":
        reported: Iterable[Reported] = _complete(client, _completed(ended))
    elif first.kind == "dropped":
        reported = [(first, 409)]
    elif first.kind in ("suspended", "restarted"):  # the store knows
        reported = [(first, 200)]
    else:  # if all attempts of a batch share an outcome, in one request
        reported = _end(client, _alike(ended), first)
    _note(ended, reported, counts, seen)


def _note(ended: Ended, reported: Iterable[Reported], counts: Counts, seen: Seen | None) -> None:
    """Take reported attempts out of the queue, and count and log them."""
    silent = not _log.isEnabledFor(logging.DEBUG)
    for outcome, status in reported:
        attempt, _ = ended.popleft()
        if silent and status < 300 and outcome.kind == "completed":  # most of them
            counts.completed += 1
        else:
            _count(attempt, outcome, status, counts)
        if seen is not None:
            seen(attempt, outcome, status)


def send_progress(client: JobSource, attempts: Iterable[Attempt]) -> None:
    """Send the reports of these attempts. A refusal is logged: it never changes how an attempt ends.

    Raises:
        StoreError: The store cannot be reached; the unsent reports are kept.
        OSError: As above.
    """
    for attempt in attempts:
        unsent = attempt.context.progress
        if unsent is not None:
            with unsent.sending:
                if unsent:
                    _send_progress(client, attempt, unsent)


def _send_progress(client: JobSource, attempt: Attempt, unsent: ReportBuffer) -> None:
    progress, lines = unsent.take()
    try:
        status = client.report(attempt.id, attempt.version, progress, lines)
    except (StoreError, OSError):
        unsent.put_back(progress, lines)
        raise
    except ResonateError as error:
        _log.warning("job %s: its report was refused: %s", attempt.id, error)
        return
    if status >= 300:
        _log.debug("job %s: this worker does not hold it any more, and cannot report on it: %d", attempt.id, status)


def _completed(ended: Iterable[tuple[Attempt, Outcome]]) -> list[tuple[Attempt, Outcome]]:
    """The first attempts, as many as have completed."""
    done = []
    for one in islice(ended, MOST):
        if one[1].kind != "completed":
            break
        done.append(one)
    return done


def _alike(ended: Ended) -> list[Attempt]:
    """The first attempts, as many as share one outcome."""
    first = ended[0][1]
    return [attempt for attempt, _ in takewhile(lambda one: one[1] is first, islice(ended, MOST))]


def _results(done: Iterable[tuple[Attempt, Outcome]]) -> list[tuple[str, int, Any]]:
    return [(attempt.id, attempt.version, _stored(outcome.result)) for attempt, outcome in done]


def _stored(result: Any) -> Any:
    """Return a result in the store's form. Code of its type that ends programs ends its own attempt, as it does in a handler."""
    try:
        return encoded(result)
    except (SystemExit, GeneratorExit, CancelledError) as error:
        raise TypeError(f"its JSON raised {type(error).__name__}") from error


def _complete(client: JobSource, done: Sequence[tuple[Attempt, Outcome]]) -> Iterator[Reported]:
    """If one of the results cannot be stored, each is reported by itself, and that one fails."""
    try:
        statuses = client.complete_many(_results(done))
    except (StoreError, OSError):
        raise
    except Exception as error:
        if len(done) > 1:
            for one in done:
                yield from _complete(client, [one])
        else:
            yield from _end(client, [done[0][0]], unstorable(error))
        return
    yield from _judged(client, done, statuses)


def _judged(client: JobSource, done: Sequence[tuple[Attempt, Outcome]], statuses: Sequence[int]) -> Iterator[Reported]:
    """The outcomes of attempts with these statuses; one of several that is refused is completed again by itself."""
    for one, status in zip(done, statuses, strict=True):
        if status >= 300 and status not in NOT_HELD and len(done) > 1:
            yield from _complete(client, [one])  # alone it raises, with the reason
        else:
            yield one[1], status


def _end(client: JobSource, attempts: Sequence[Attempt], outcome: Outcome) -> list[Reported]:
    """Report one outcome of the first attempts, of as many as one request can name.

    An outcome that is refused is reported as a failure, of the first attempt alone; if that is refused too, the attempt is lost.
    """
    held = [(attempt.id, attempt.version) for attempt in attempts]
    try:
        return [(outcome, status) for status in client.end_many(held, outcome)]
    except (StoreError, OSError):
        raise
    except Exception as error:
        if len(attempts) > 1:
            return _end(client, attempts[:1], outcome)
        _log.exception("job %s ended with an outcome that cannot be written", attempts[0].id)
        outcome = unwritable(error, outcome)
    try:
        return [(outcome, status) for status in client.end_many(held, outcome)]
    except (StoreError, OSError):
        raise
    except Exception as error:
        _log.exception("job %s: its failure cannot be written either; its lease will expire", attempts[0].id)
        return [(outcome, error.status if isinstance(error, ResonateError) else 400)]


def _count(attempt: Attempt, outcome: Outcome, status: int, counts: Counts) -> None:
    if status >= 300 and outcome is TIMED_OUT:
        status = 200  # the store saw it first
    if status >= 300 or outcome.kind == "dropped":
        counts.lost += 1
        _log_attempt(logging.INFO, attempt, "%s, but this worker does not hold it any more: %d", outcome.kind, status)
        return
    setattr(counts, outcome.kind, getattr(counts, outcome.kind) + 1)
    failure = outcome.failure
    if failure is None:
        _log_attempt(logging.DEBUG, attempt, "%s", outcome.kind)
    elif outcome.kind == "snoozed":
        _log_attempt(logging.WARNING, attempt, "put back for %s: %s %s", length(outcome.delay), failure.code, failure.message)
    else:
        _log_attempt(logging.WARNING, attempt, "failed: %s %s", failure.code, failure.message, raised=outcome)


def _log_attempt(level: int, attempt: Attempt, text: str, *values: object, raised: Outcome | None = None) -> None:
    """Log a line about an attempt. Its job, type and number are in the text, and members of the log record; so is what it raised."""
    if not _log.isEnabledFor(level):
        return
    named = {"job": attempt.id, "type": attempt.job.type, "attempt": attempt.context.attempt}
    error = None if raised is None else raised.error
    more = {} if raised is None else {"failure": error}
    shown: Any = error if _log.isEnabledFor(logging.DEBUG) else None
    if error is not None and attempt.context.workflows is not None:  # mostly a step has failed, and its record has no traceback
        shown = type(error), error, of_program(error.__traceback__)
    head = "job %s of type %s, attempt %d, "
    _log.log(level, head + text, *named.values(), *values, exc_info=shown, extra=named | more)
