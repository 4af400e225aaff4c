"""JOBS 3 as data: the effect of every request, and of every internal step, in each state of a job.

Cells:
  =         200; the state stays the same
  a word    200; the word is the state after the request
  ·         409; nothing changes
  a number  this status; nothing changes
  –         not a case
A row "step: …" is an internal step, which has no status. A row "… stale" is a request with a version that is not the current one.

Columns:
  absent     there is no promise
  plain      a promise without a task
  workflow   a promise with a task, but not a job
  scheduled  two states: a job that waits for its process_at, and a job that gathers with its group
  settled    four states: completed, failed, cancelled, expired
  dead       two states whose step has not run yet: a pending job whose good_until has passed ("lapsed", shown as expired), and
             a running job whose deadline has passed ("overdue", shown as failed)
  waiting    in a table of its own: a job that waits by `after` for the promise gate
  suspended  there, too: a job that waits by job.suspend for the promise gate; replies show it as waiting
"""

from __future__ import annotations

from dataclasses import dataclass

TABLE = """
event                  absent   plain    workflow  scheduled  pending    claimed    running    retry      archived   settled  dead
job.get                404      404      404       =          =          =          =          =          =          =        =
job.search             =        =        =         =          =          =          =          =          =          =        =
job.stats              =        =        =         =          =          =          =          =          =          =        =
enqueue the same       pending  pending  ·         =          =          =          =          =          =          =        =
enqueue other type     pending  pending  ·         ·          ·          ·          ·          ·          ·          ·        ·
enqueue other queue    pending  pending  ·         ·          ·          ·          ·          ·          ·          ·        ·
enqueue other payload  pending  pending  ·         ·          ·          ·          ·          ·          ·          ·        ·
enqueue after          waiting  ·        ·         =          =          =          =          =          =          =        =
job.claim              =        =        =         =          claimed    =          =          =          =          =        =
job.start              404      404      404       ·          ·          running    ·          ·          ·          ·        ·
job.start stale        404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.complete           404      404      404       ·          ·          ·          completed  ·          ·          ·        ·
job.complete stale     404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.fail               404      404      404       ·          ·          ·          retry      ·          ·          ·        ·
job.fail for good      404      404      404       ·          ·          ·          archived   ·          ·          ·        ·
job.fail archive       404      404      404       ·          ·          ·          archived   ·          ·          ·        ·
job.fail stale         404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.release            404      404      404       ·          ·          pending    ·          ·          ·          ·        ·
job.release stale      404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.snooze             404      404      404       ·          ·          ·          scheduled  ·          ·          ·        ·
job.snooze stale       404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.suspend            404      404      404       ·          ·          ·          waiting    ·          ·          ·        ·
job.suspend all        404      404      404       ·          ·          ·          waiting    ·          ·          ·        ·
job.suspend stale      404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.record             404      404      404       ·          ·          ·          =          ·          ·          ·        ·
job.record settled     404      404      404       ·          ·          ·          =          ·          ·          ·        ·
job.record stale       404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.receive            404      404      404       ·          ·          ·          =          ·          ·          ·        ·
job.receive stale      404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.send               404      404      404       =          =          =          =          =          =          ·        ·
job.history            404      404      404       =          =          =          =          =          =          =        =
job.start_over         404      404      404       ·          ·          ·          pending    ·          ·          ·        ·
job.start_over stale   404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.fork               404      404      404       422        422        422        422        422        422        422      422
enqueue a child        ·        ·        ·         ·          ·          ·          =          ·          ·          ·        ·
enqueue a child stale  ·        ·        ·         ·          ·          ·          ·          ·          ·          ·        ·
job.report             404      404      404       ·          ·          ·          =          ·          ·          ·        ·
job.report stale       404      404      404       ·          ·          ·          ·          ·          ·          ·        ·
job.heartbeat          =        =        =         =          =          =          =          =          =          =        =
job.heartbeat stale    =        =        =         =          =          =          =          =          =          =        =
job.cancel             404      404      404       cancelled  cancelled  cancelled  cancelled  cancelled  cancelled  ·        ·
job.run                404      404      404       pending    ·          ·          ·          pending    pending    ·        ·
job.archive            404      404      404       archived   archived   ·          ·          archived   ·          ·        ·
job.delete             404      404      404       absent     absent     ·          ·          absent     absent     absent   absent
promise.get            404      =        =         =          =          =          =          =          =          =        =
promise.create         –        =        =         =          =          =          =          =          =          =        =
promise.settle         –        –        –         completed  completed  completed  completed  completed  completed  =        =
settle rejected        –        –        –         failed     failed     failed     failed     failed     failed     =        =
settle canceled        –        –        –         cancelled  cancelled  cancelled  cancelled  cancelled  cancelled  =        =
gate resolved          =        =        =         =          =          =          =          =          =          =        =
gate rejected          =        =        =         =          =          =          =          =          =          =        =
gate canceled          =        =        =         =          =          =          =          =          =          =        =
register_callback on   –        –        –         =          =          =          =          =          =          =        =
register_callback by   –        –        –         422        422        422        422        422        422        422      422
register_listener on   –        –        –         =          =          =          =          =          =          =        =
task.get               –        –        –         =          =          =          =          =          =          =        =
task.create            –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.acquire           –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.release           –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.suspend           –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.halt              –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.continue          –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.fulfill           –        –        –         ·          ·          completed  completed  ·          ·          ·        ·
task.fulfill stale     –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.fence create      –        –        –         ·          ·          =          =          ·          ·          ·        ·
task.fence stale       –        –        –         ·          ·          ·          ·          ·          ·          ·        ·
task.heartbeat         –        –        –         =          =          =          =          =          =          =        =
step: ready            =        =        =         pending    =          =          =          pending    =          =        =
step: good_until       =        =        =         expired    expired    expired    =          =          =          =        =
step: lease            =        =        =         =          =          pending    retry      =          =          =        =
step: last lease       =        =        =         =          =          pending    archived   –          =          =        =
step: lease to failed  =        =        =         =          =          pending    failed     –          =          =        =
step: attempt timeout  =        =        =         =          =          =          retry      =          =          =        =
step: last timeout     =        =        =         =          =          =          archived   –          =          =        =
step: deadline         =        =        =         failed     failed     failed     failed     failed     failed     =        =
"""

TABLE_OF_WAITING = """
event                  waiting    suspended
job.get                =          =
job.search             =          =
job.stats              =          =
enqueue the same       =          =
enqueue other type     ·          ·
enqueue other queue    ·          ·
enqueue other payload  ·          ·
enqueue after          =          =
job.claim              =          =
job.start              ·          ·
job.start stale        ·          ·
job.complete           ·          ·
job.complete stale     ·          ·
job.fail               ·          ·
job.fail for good      ·          ·
job.fail archive       ·          ·
job.fail stale         ·          ·
job.release            ·          ·
job.release stale      ·          ·
job.snooze             ·          ·
job.snooze stale       ·          ·
job.suspend            ·          ·
job.suspend all        ·          ·
job.suspend stale      ·          ·
job.record             ·          ·
job.record settled     ·          ·
job.record stale       ·          ·
job.receive            ·          ·
job.receive stale      ·          ·
job.send               =          =
job.history            =          =
job.start_over         ·          ·
job.start_over stale   ·          ·
job.fork               422        422
enqueue a child        ·          ·
enqueue a child stale  ·          ·
job.report             ·          ·
job.report stale       ·          ·
job.heartbeat          =          =
job.heartbeat stale    =          =
job.cancel             cancelled  cancelled
job.run                pending    pending
job.archive            archived   archived
job.delete             absent     absent
promise.get            =          =
promise.create         =          =
promise.settle         completed  completed
settle rejected        failed     failed
settle canceled        cancelled  cancelled
gate resolved          pending    pending
gate rejected          cancelled  pending
gate canceled          cancelled  pending
register_callback on   =          =
register_callback by   422        422
register_listener on   =          =
task.get               =          =
task.create            ·          ·
task.acquire           ·          ·
task.release           ·          ·
task.suspend           ·          ·
task.halt              ·          ·
task.continue          ·          ·
task.fulfill           ·          ·
task.fulfill stale     ·          ·
task.fence create      ·          ·
task.fence stale       ·          ·
task.heartbeat         =          =
step: ready            =          =
step: good_until       expired    =
step: lease            =          =
step: last lease       =          =
step: lease to failed  =          =
step: attempt timeout  =          =
step: last timeout     =          =
step: deadline         failed     failed
"""

GROUPS = {
    "scheduled": ("scheduled", "gathering"),
    "settled": ("completed", "failed", "cancelled", "expired"),
    "dead": ("lapsed", "overdue"),
}
#: The states of the table that are not states of the protocol, and the states that replies show instead.
PROJECTED = {"lapsed": "expired", "overdue": "failed", "gathering": "scheduled", "suspended": "waiting"}


@dataclass(frozen=True)
class Cell:
    """One state × event.

    Attributes:
        event: The request (sometimes with a word that tells variants apart), or a step.
        state: The state before.
        status: The expected status; None for steps.
        after: The state after.
    """

    event: str
    state: str
    status: int | None
    after: str

    @property
    def name(self) -> str:
        """The test's id."""
        return f"{self.event.replace(' ', '_')}-from-{self.state}"

    @property
    def refused(self) -> bool:
        """Whether this is a request that is refused, so that it must change nothing."""
        return self.status is not None and self.status >= 400


def _cell(event: str, state: str, text: str) -> Cell:
    stays = PROJECTED.get(state, state)
    status, after = {"=": (200, stays), "·": (409, stays)}.get(text) or ((int(text), stays) if text.isdigit() else (200, text))
    return Cell(event, state, None if event.startswith("step:") else status, after)


def _table(table: str) -> tuple[list[str], list[Cell]]:
    head, *lines = [[text for text in line.split("  ") if text] for line in table.strip().splitlines()]
    columns = [text.strip() for text in head[1:]]
    cells = []
    for event, *texts in lines:
        for column, text in zip(columns, (text.strip() for text in texts), strict=True):
            if text != "–":
                cells += [_cell(event, state, text) for state in GROUPS.get(column, (column,))]
    return [state for column in columns for state in GROUPS.get(column, (column,))], cells


_OTHER_STATES, _OTHER_CELLS = _table(TABLE)
_WAITING_STATES, _WAITING_CELLS = _table(TABLE_OF_WAITING)
STATES, CELLS = _OTHER_STATES + _WAITING_STATES, _OTHER_CELLS + _WAITING_CELLS
EVENTS = list(dict.fromkeys(cell.event for cell in CELLS))
