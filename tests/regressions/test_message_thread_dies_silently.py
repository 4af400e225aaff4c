"""The thread of on_message ended without an error, if a handler raised SystemExit, or if its pipe had a number of 1024 or more."""

from __future__ import annotations

import logging
import os
import resource
import threading
from collections.abc import Iterator

import pytest

import resonate_core as rc


def ask(store: rc.Store, id: str) -> None:
    store.promises.create(id, timeout=60_000, tags={"resonate:target": "local://here"})


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_handler_that_raises_what_ends_a_thread(error: type[BaseException], caplog: pytest.LogCaptureFixture) -> None:
    handled: list[str] = []
    done = threading.Event()

    def handler(message: rc.Message) -> None:
        handled.append(message.id)
        if len(handled) == 1:
            raise error
        if len(set(handled)) == 2 and handled.count("a") == 2:
            done.set()

    with caplog.at_level(logging.ERROR, "resonate_core.delivery"), rc.Store() as store, store.on_message("local", handler):
        ask(store, "a")
        ask(store, "b")
        assert done.wait(60), handled
    assert "raised for" in caplog.text and error.__name__ in caplog.text


def test_deliver_lets_it_out_to_its_caller() -> None:
    """If the program itself delivers, it gets the exception."""
    store = rc.Store(clock=rc.ManualClock())

    def handler(message: rc.Message) -> None:
        raise SystemExit(3)

    store.on_message("local", handler)
    ask(store, "a")
    with pytest.raises(SystemExit):
        store.deliver()
    assert len(store.messages()) == 1


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Opens files until every number below 1024 is taken."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("this system allows no 1200 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    taken = []
    try:
        while not taken or taken[-1] < 1030:
            taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for one in taken:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_a_pipe_with_a_high_number() -> None:
    handled = threading.Event()
    with rc.Store() as store, store.on_message("local", lambda message: handled.set()):
        threading.Event().wait(0.1)  # it waits for a message by now
        ask(store, "a")
        assert handled.wait(60)
