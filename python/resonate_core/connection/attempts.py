"""The failed attempts of durable functions: each is a warning with its traceback, and the ones that are tried again are noted.

The SDK retries in silence, and stores only type and message of the last error. An exception is seen at two places: while the SDK waits
for the next attempt its exception is being handled, and the codec of the client encodes the exception that ends a function.
"""

from __future__ import annotations

import logging
import sys
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from ..base.failed_attempts import FailedAttempt, FailedAttempts, failed_attempts
from ..base.instants import length, moment
from .sdk import code_of, go_without
from .work import Member, Work, current_work

if TYPE_CHECKING:
    from .. import Store

__all__ = ["Attempts"]

_log = logging.getLogger(__name__)
#: The longest error that is noted for people, in characters.
_LONGEST = 500


class Attempts:
    """Logs and notes the failed attempts of the workers of one store and event loop.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._noted: FailedAttempts = failed_attempts(store)
        self._attempting = code_of("resonate.context", "Context.invoke_with_retry")
        # The functions of the SDK that encode how a step and a task end, each with the local variable that holds the context.
        ending = {
            code_of("resonate.effects", "ResonateEffects.settle_promise"): "child",
            code_of("resonate.core", "Core.execute_until_blocked_inner"): "root_ctx",
        }
        self._ending = {code: variable for code, variable in ending.items() if code is not None}

    def waits(self, work: Work, due: int) -> None:
        """Note that held work waits. If the SDK handles an exception meanwhile, the work waits for its next attempt.

        A worker that stops makes no further attempt.

        Args:
            work: The work.
            due: Until when it waits.
        """
        error = sys.exc_info()[1]
        frame = None if error is None or error.__traceback__ is None else error.__traceback__.tb_frame
        if error is None or frame is None or frame.f_code is not self._attempting:
            return
        step = _step_of(frame, "self")
        if step is None:
            return
        worker = work.connection.pid
        number = self._noted.number(step.id, worker) + 1
        if work.connection.stopped:
            self._warn(work, step, number, error, "this worker stops: another one may try it when the lease has expired")
            return
        self._noted.note(FailedAttempt(step.id, str(work.task_id), step.func_name, worker, number, _text(error), due))
        delay = length(max(due - self._store.now, 0))
        self._warn(work, step, number, error, f"the next attempt begins in {delay}, at {moment(due)}")

    def encodes(self, error: BaseException, encoder: FrameType | None) -> None:
        """Note that an exception ends a durable function, if it does.

        Args:
            error: The exception.
            encoder: The frame of the function that encodes it.
        """
        work = current_work.get()
        step = self._ended_by(encoder)
        if work is None or work.task_id is None or step is None:
            return  # it is a value, such as that of a promise that the program rejects
        number = self._noted.number(step.id, work.connection.pid) + 1
        self._noted.forget(step.id)
        self._warn(work, step, number, error, "there is no further attempt, and its promise is rejected")

    def _ended_by(self, encoder: FrameType | None) -> Any:
        """Return the durable function whose end is encoded, as the SDK describes it, or None."""
        if encoder is None or (name := self._ending.get(encoder.f_code)) is None:
            return None
        frame = encoder.f_back if name == "child" else encoder  # the step's own frame waits for its promise to be settled
        return None if frame is None else _step_of(frame, name)

    def ended(self, connection: Member, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Forget the failures of a task that its worker has given up or ended, and those of a step that is settled."""
        kind, data = request["kind"], request["data"]
        if kind == "task.release" or (kind in ("task.suspend", "task.fulfill") and reply["head"]["status"] == 200):
            self._noted.forget_held(connection.pid, data["id"])
        elif kind == "task.fence" and data["action"]["kind"] == "promise.settle":
            self._noted.forget(data["action"]["data"]["id"])

    def left(self, connection: Member) -> None:
        """Forget the failures of a worker that holds nothing any more."""
        self._noted.forget_held(connection.pid)

    def _warn(self, work: Work, step: Any, number: int, error: BaseException, then: str) -> None:
        named = {"task": work.task_id, "promise": step.id, "func": step.func_name, "worker": work.connection.pid, "attempt": number}
        _log.warning(
            "%s (%s) on worker %r, attempt %d, failed: %s; %s",
            step.id,
            step.func_name,
            work.connection.pid,
            number,
            _text(error),
            then,
            exc_info=(type(error), error, _of_the_program(error.__traceback__)),
            extra=named,
        )


def _step_of(frame: FrameType, variable: str) -> Any:
    """Return how the SDK describes the durable function whose context a local variable holds; None, with a warning, if it does not."""
    if variable not in frame.f_locals:
        go_without(f"local variable {variable!r} in {frame.f_code.co_name}")
        return None
    step = getattr(frame.f_locals[variable], "info", None)
    if not (hasattr(step, "id") and hasattr(step, "func_name")):
        go_without("Context.info with id and func_name")
        return None
    return step


def _text(error: BaseException) -> str:
    """The type and the message of an exception in one line."""
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _of_the_program(traceback: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of the SDK above those of the program; all of it, if the SDK itself raised."""
    found = traceback
    while found is not None and found.tb_frame.f_globals.get("__name__", "").startswith("resonate."):
        found = found.tb_next
    return found or traceback
