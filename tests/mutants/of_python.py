"""Mutants of the worker and of the server."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "the leases of messages under way are not renewed",
        "server",
        "while self._held: await asyncio.sleep(self.length / 3) numbers = «sorted(self._held)»",
        "[]",
    ),
    Mutant(
        "a message that did not arrive keeps its lease",
        "server",
        "ended = «self._held.intersection(numbers)»",
        "set()",
    ),
    Mutant(
        "an attempt that a stop puts back counts as a failure",
        "worker",
        'PUT_BACK = «Outcome("snoozed", delay=0)»',
        'Outcome("failed", failure=Failure("Stopped"))',
    ),
    Mutant(
        "leases of jobs that wait for their start are not renewed",
        "worker",
        "executor.held() + [(job.id, job.version) for item in self._claimed for job in item]",
        "executor.held()",
    ),
    Mutant(
        "an attempt that the store has timed out counts as lost", "worker", "if «status >= 300 and outcome is TIMED_OUT»:", "False"
    ),
    Mutant(
        "more jobs are started than there are slots",
        "worker",
        "_next_items(round.claimed, «round.slots»)",
        "len(round.claimed)",
    ),
    Mutant(
        "a claim starts jobs in the slots of those that wait",
        "worker",
        "start = min(round.room, «round.slots - len(items)»)",
        "round.slots",
    ),
    Mutant(
        "a worker claims again in a request of its own",
        "worker",
        "if «answer.claimed is None and claim.most»:",
        "claim.most",
    ),
    Mutant(
        "the last completions of a round are sent twice",
        "worker",
        "if «answer.completed is not None»:",
        "False",
    ),
    Mutant(
        "a worker that stops claims and starts more",
        "worker",
        "if «stopping()»:\n        report(",
        "False",
    ),
    Mutant(
        "an error's own word on retries is ignored",
        "worker",
        "retryable = «retries(error) if error.retryable is None else error.retryable»",
        "retries(error)",
    ),
    Mutant(
        "a drain stops before its last instant",
        "worker",
        "if soonest is None or «soonest > self._until»:",
        "soonest >= self._until",
    ),
    Mutant("a result that cannot be stored fails its whole batch", "worker", "if «len(done) > 1»: for one in done:", "False"),
    Mutant(
        "a periodic job counts its good_for from the present",
        "worker",
        'options["good_until"] = «occurrence + self.good_for»',
        "client.now() + self.good_for",
    ),
    Mutant(
        "occurrences under an older expression stay",
        "worker",
        'if job.queue == queue and «getattr(job, "tags", {}).get(TAG_CRON) == self.cron»:',
        "True",
    ),
    Mutant("a second stop can make the grace longer", "worker", "self.executor.stop(grace)", "self.executor.stop(grace + 60)"),
    Mutant(
        "a batch goes as one to a handler of single jobs",
        "worker",
        "lambda job: job.batch if «job.type in batched» else None",
        "True",
    ),
    Mutant(
        "retries to one address have no jitter",
        "server",
        "wait = «self._random.uniform(0.8 * wait, min(1.2 * wait, longest))»",
        "wait",
    ),
    Mutant("a redirect counts as delivered", "server", "if not «200 <= status < 300»:", "200 <= status < 400"),
    Mutant(
        "a message that was not delivered is not queued again",
        "server",
        "self._delivery.delivered([message]) else: «self._delivery.undelivered([message])»",
        "pass",
    ),
    Mutant("a debug operation shares a transaction", "server", "if len(lane) == 1 or «lane[0][0].debug»:", "False"),
    Mutant(
        "an execute of an older version of a task is offered again",
        "server",
        'if task.state == "pending" and «task.version == message.version»:',
        "True",
    ),
    Mutant("a message of a stream that closes is lost", "server", "if «stream.open and not stream.closing»:", "True"),
    Mutant(
        "a token is good at the instant when it expires",
        "server",
        "return «expires <= now - self._leeway»",
        "expires < now - self._leeway",
    ),
    Mutant("a token that is not valid yet passes", "server", 'for name in «("nbf", "iat")»:', '("iat",)'),
    Mutant(
        "a step that runs is reported at each look",
        "worker",
        "if «first_look < look and identity not in self._reported»:",
        "first_look < look",
    ),
    Mutant(
        "a replay does not know of attempts before the first timer",
        "worker",
        "«self._failed = max(self._failed, number)»",
        "self._failed += 1",
    ),
    Mutant(
        "the span of a step ignores that of the code around it",
        "worker",
        "parent = «variables.copy().run(self._contexts.get_current)»",
        "self._of_workflow",
    ),
    Mutant(
        "a coroutine that was parked continues in its old span",
        "worker",
        "if «context.trace is not None»: scope.context.run(context.trace.enter)",
        "False",
    ),
    Mutant(
        "the failure of a workflow is logged without its traceback",
        "worker",
        "if «error is not None and attempt.context.workflows is not None»:",
        "False",
    ),
]
