"""A call with wrong arguments was answered with all signatures of the compiled function; the misspelt option was not named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import resonate_core as rc
from resonate_core import _core


def bound_objects() -> list[Any]:
    """One object of each class that programs call: the store, its attributes, the clock; and constructors."""
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    return [store, store.promises, store.tasks, store.schedules, store.jobs, store.queues, clock]


def calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    for one in bound_objects():
        for name in sorted(dir(one)):
            if not name.startswith("_") and callable(getattr(one, name)):
                yield f"{type(one).__name__}.{name}", getattr(one, name)
    for constructed in (rc.Store, rc.ManualClock, _core.Envelope, _core.RequestLimits):
        yield constructed.__name__, constructed
    for function in (rc.replay, rc.check_file, rc.cron_next):
        yield function.__name__, function


#: Queues.set takes its settings as `**given` and looks at them itself: see below.
CALLS = {name: call for name, call in calls() if name != "Queues.set"}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_unknown_keyword_is_named(call: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"^\w+\(\) got an unexpected keyword argument 'nosuch'; it takes ") as raised:
        call(nosuch=1)
    assert "\n" not in str(raised.value)


STORE = rc.Store(clock=rc.ManualClock())


@pytest.mark.parametrize(
    "call, said",
    [
        (
            lambda: rc.Store(durabilty="full"),  # type: ignore[call-arg]
            "Store() got an unexpected keyword argument 'durabilty'; did you mean 'durability'?",
        ),
        (lambda: STORE.fork(clok=None), "fork() got an unexpected keyword argument 'clok'; did you mean 'clock'?"),  # type: ignore[call-arg]
        (
            lambda: STORE.promises.create("a", timout=1),  # type: ignore[call-arg]
            "create() got an unexpected keyword argument 'timout'; did you mean 'timeout'?",
        ),
        (lambda: STORE.tasks.search(stat="x"), "search() got an unexpected keyword argument 'stat'; did you mean 'state'?"),  # type: ignore[call-arg]
        (lambda: STORE.queues.set("q", wieght=1), "set() got an unexpected keyword argument 'wieght'; did you mean 'weight'?"),
        (lambda: STORE.fork(None, None), "fork() takes 1 positional argument but 2 were given"),  # type: ignore[call-arg]
        (lambda: STORE.purge(5), "purge() takes 0 positional arguments but 1 was given"),  # type: ignore[call-arg]
        (lambda: STORE.purge(), "purge() needs the argument 'settled_before'"),  # type: ignore[call-arg]
        (lambda: STORE.restore({}, snapshot={}), "restore() got multiple values for argument 'snapshot'"),  # type: ignore[misc]
        (lambda: STORE.restore({}, check="no"), "check must be bool, got str"),  # type: ignore[arg-type]
        (lambda: rc.Store(read_only=1), "read_only must be bool, got int"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said_in_one_line(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value) == said


def test_signatures_stay_as_they_were() -> None:
    assert rc.Store.fork.__doc__.startswith("fork(self: resonate_core._core.Store, clock: ")  # type: ignore[union-attr]
    assert "Overloaded" not in "".join(str(vars(_core.Store)[name].__doc__) for name in ("__init__", "fork", "restore", "tick"))
