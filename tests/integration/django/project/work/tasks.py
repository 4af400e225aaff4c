"""Tasks of every kind."""

import os
import time
from datetime import timedelta

from django.contrib.auth.models import Group
from django.db import connection, transaction

from resonate_core.contrib.django import task
from resonate_core.worker import JobError, Retry, Snooze, current_job

RETRY_AT_ONCE = {"kind": "fixed", "intervals": [0]}


@task
def add(a, b, *, more=0):
    return a + b + more


@task
async def add_async(a, b):
    return a + b + int(await Group.objects.filter(name="none").aexists())


@task(takes_context=True)
def which_attempt(context, word):
    result = context.task_result
    return [context.attempt, word, result.status, result.id == current_job().id, len(result.worker_ids)]


@task
def fail(message):
    raise LookupError(message)


@task(max_retries=2, retry_policy=RETRY_AT_ONCE)
def fail_twice(message):
    if current_job().retry_count < 2:
        raise LookupError(message)
    return "third time"


@task(max_retries=5, retry_policy=RETRY_AT_ONCE, retry_on=OSError)
def fail_for_good():
    raise LookupError("not worth a retry")


@task(max_retries=5)
def refuse():
    raise JobError("CardDeclined", "insufficient funds", retryable=False)


@task(max_retries=1)
def come_back(later):
    if current_job().attempt == 1:
        raise Retry(after=timedelta(hours=later))
    return "came back"


@task
def too_early():
    if current_job().attempt == 1:
        raise Snooze(60_000)
    return "in time"


@task
def return_a_set():
    return {1, 2}


@task
def make_group(name):
    with transaction.atomic():
        Group.objects.create(name=name)
        add.enqueue(1, 1)


@task
def make_group_and_fail(name):
    with transaction.atomic():
        Group.objects.create(name=name)
        add.enqueue(1, 1)
        raise LookupError("rolled back")


@task
def break_connection():
    connection.ensure_connection()
    connection.connection.close()


@task
def count_groups():
    return Group.objects.count()


@task
def process():
    return os.getpid()


@task(queue_name="mail")
def note(path, word):
    with open(path, "a", encoding="utf-8") as lines:
        lines.write(word + "\n")


@task(takes_context=True)
def note_and_wait(context, path, seconds):
    """Writes when it begins and when it ends."""
    for word in ("begins", "ends"):
        with open(path, "a", encoding="utf-8") as lines:
            lines.write(f"{word} {context.attempt}\n")
        if word == "begins":
            time.sleep(seconds)


def no_task():
    return "a function that nobody declared a task"
