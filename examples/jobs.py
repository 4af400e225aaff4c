"""Jobs on simulated time: emails that are sent, snoozed, batched, retried and archived, by a worker in drain mode.

A worker is a set of named functions. In drain mode it runs the runnable jobs one after the other in this thread, and
moves the clock to the next instant at which a step is due. So a day of retries takes no time, and every run prints the same text.

    python examples/jobs.py
"""

from __future__ import annotations

import datetime as dt
import logging

import resonate_core as rc
from resonate_core.worker import BatchContext, Drained, JobContext, Retry, Skip, Snooze, Worker

MONDAY = int(dt.datetime(2026, 1, 5, 22, 30, tzinfo=dt.timezone.utc).timestamp() * 1000)
SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

unreachable = {"down.example"}  # servers that cannot be reached for now
worker = Worker(queues={"mail": 3, "reports": 1}, name="worker-1", lifecycle="asynq")


@worker.task("email:send", queue="mail", max_retries=3, retention=24 * HOUR)
def send(to: str, job: JobContext) -> str:
    """Sends an email, if the receiving server accepts it."""
    if "@" not in to:
        raise Skip(f"{to} is no address")
    server = to.partition("@")[2]
    if server == "busy.example" and job.attempt == 1:
        raise Retry(after=10 * MINUTE, message="come back later")
    if server in unreachable:
        raise ConnectionError(f"no route to {server}")
    return f"sent to {to}"


@worker.batch_task("email:digest", queue="mail", retention=24 * HOUR)
def digest(likes: list[str], batch: BatchContext) -> list[str]:
    """Sends one email about all that was gathered for one person; the result of each job."""
    return [f"{what}, one of {len(likes)} in an email to {batch.group}" for what in likes]


@worker.task("report:build", queue="reports", retention=24 * HOUR)
def build(name: str, job: JobContext) -> dict[str, int | str]:
    """Builds a report, but not before midnight."""
    until_midnight = -job.started_at % (24 * HOUR)
    if 0 < until_midnight <= 2 * HOUR:
        raise Snooze(until_midnight)
    return {"report": name, "pages": 12}


def tell(drained: Drained) -> None:
    """Prints what was run."""
    for run in drained:
        moment = f"{dt.datetime.fromtimestamp(run.at / 1000, tz=dt.timezone.utc):%a %H:%M:%S}"
        end = run.result if run.error is None else f"{run.error.code}: {run.error.message}"
        print(f"{moment}  {run.id:<8} attempt {run.attempt}  {run.outcome:<9}  {end or ''}".rstrip())


def main() -> None:
    """Enqueues, runs, and looks at what is left."""
    clock = rc.ManualClock(start=MONDAY)
    store = rc.Store(clock=clock, check=True)
    worker.bind(store)
    worker.log.setLevel(logging.ERROR)  # it tells of each failure; here they are printed
    for name, address in {"ann": "ann@example.org", "bob": "bob@busy.example", "cleo": "cleo", "dan": "dan@down.example"}.items():
        send.enqueue(address, id=name)
    send.enqueue("eve@example.org", id="eve", process_in=8 * HOUR)
    build.enqueue("january", id="january")
    store.queues.set("mail", groups={"size": 100, "grace": 15 * MINUTE})
    for number, what in enumerate(["the teapot", "the kettle", "the cups"], 1):
        digest.enqueue(what, id=f"like-{number}", group="ann@example.org")

    print("At once:")
    tell(worker.run_until_idle())
    print("\nAs time passes:")
    tell(worker.run_until_idle(advance=True))

    print("\nWhat became of them, in both worlds' words:")
    for job in store.jobs.search():
        print(f"{job.id:<8} {job.state:<10} {job.asynq_state:<10} {job.horsies_state:<10} {len(job.attempts)} attempts")

    print("\ndown.example is back, and an operator runs what was archived for want of it:")
    unreachable.clear()
    store.jobs.run("dan")
    tell(worker.run_until_idle())

    broken = store.check()
    print("\nEvery property of the protocol holds." if not broken else f"\nBroken: {broken}")
    if broken:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
