"""Tasks of every kind."""

import asyncio
import functools
import os
import threading
import time
from datetime import timedelta

from django.contrib.auth.models import Group
from django.core.cache import caches
from django.db import connection, transaction
from django.utils import timezone, translation

from resonate_core.contrib.django import task, task_backends
from resonate_core.worker import JobError, Retry, Skip, Snooze, current_job

RETRY_AT_ONCE = {"kind": "fixed", "intervals": [0]}


@task
def add(a, b, *, more=0):
    return a + b + more


@task
def add_all():
    return sum(current_job().dependencies.values())


@task
def failures():
    return list(current_job().dependencies.failed)


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


@task
def return_what_no_store_takes(which):
    return {"nan": float("nan"), "surrogate": "\ud800", "inside": {"a": [float("inf")]}}[which]


def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@task
@logged
async def add_logged(a, b):
    return a + b


async def raise_one(kind):
    raise {"skip": Skip("no"), "snooze": Snooze(60_000), "os": OSError("no"), "value": ValueError("no")}[kind]


@task(max_retries=1, retry_policy=RETRY_AT_ONCE, retry_on=OSError)
async def raise_in_group(kind):
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(raise_one(kind))


@task(max_retries=0, backend="simulated")
def work_past_the_end(how):
    job = current_job()
    if how == "timeout":
        task_backends["simulated"].clock.advance(10_000)
    else:
        task_backends["simulated"].store.jobs.cancel(job.id)
        job.cancel("cancelled")  # as the next heartbeat does
    return "nobody asks for this"


@task
def language_and_zone(language, zone):
    found = [translation.get_language(), timezone.get_current_timezone_name()]
    translation.activate(language)
    timezone.activate(zone)
    return found


@task
def use_the_cache(key):
    cache = caches["default"]
    cache.set(key, "set")
    return [cache.get(key), id(cache), threading.current_thread() is threading.main_thread()]
