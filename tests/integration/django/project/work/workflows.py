"""Workflows of the project."""

import asyncio
from datetime import timedelta

from django.contrib.auth.models import Group
from django.db import transaction

from resonate_core.contrib.django import workflow
from resonate_core.workflow import step
from resonate_core.workflow.blocking import receive, result, sleep

from . import tasks


@step(retries=1, backoff=0)
def make_group(name: str) -> int:
    """Makes a group, and says how many there are."""
    with transaction.atomic():
        Group.objects.create(name=name)
    return Group.objects.count()


@workflow("group:approve")
def approve(name: str) -> str:
    """Makes a group, waits for a word, and has a task add."""
    count = make_group(name)
    word = receive("word", type=str, timeout=timedelta(days=2), default="silence")
    sum_id = add_up(count)
    return f"{name}: {word}, {result(sum_id, type=int)}"


@step
def add_up(count: int) -> str:
    """Enqueues a task; its id is recorded."""
    return str(tasks.add.enqueue(count, 10).id)


@step
async def double(number: int) -> int:
    """An asynchronous step."""
    await asyncio.sleep(0)
    return 2 * number


@workflow("number:double", queue="mail")
async def doubled(number: int) -> int:
    """An asynchronous one."""
    return await double(number)


@workflow
def nap() -> None:
    """Without a type."""
    sleep(timedelta(hours=1))
