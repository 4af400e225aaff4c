"""Random requests through the whole app: one by one against the reference model and a store in process, and all at once.

RESONATE_PROPERTY_SEED=123   the seed of an earlier run of the first test
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from hypothesis.stateful import run_state_machine_as_test

from fuzz.envelopes import broken, envelopes, junk
from property import profiles
from property.judge import Judge
from property.machine import StoreAndModel
from property.statistics import REACHED, RUNS
from resonate_core import ManualClock, Store
from server.app_calls import Answer, call
from server.http_store import HttpStore, app_of, checked, open_in_process, open_over_a_socket

SCALE = int(os.environ.get("RESONATE_FUZZ_EXAMPLES", "1"))
SETTINGS = settings(
    max_examples=profiles.of_full(60) * SCALE,
    deadline=None,
    print_blob=True,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


class JudgeOverHttp(Judge):
    """The judge of tests/property, with the store behind the app."""

    def new_store(self, clock: Any) -> HttpStore:
        made = open_in_process(clock=clock, check=True, **self.options)
        self.made: list[HttpStore] = [*getattr(self, "made", []), made]
        return made

    def end(self) -> None:
        for store in self.made:
            store.close()


class AppAndModel(StoreAndModel):  # type: ignore[misc]
    """The app and the reference model in step."""

    def make_judge(self, model: Any, chosen: Any) -> JudgeOverHttp:
        import resonate_core

        return JudgeOverHttp(resonate_core, model, chosen, REACHED)


@pytest.mark.parametrize("rules", ["compatible", "strict"])
def test_the_app_and_the_model_agree(rules: str) -> None:
    machine: Any = type(f"AppAndModel_{rules}", (AppAndModel,), {"rule_set": rules, "examples": 0, "steps": 0})
    number = 2 * profiles.SEED + (rules == "strict")
    print(f"seed {number}")
    begin = time.monotonic()
    try:
        run_state_machine_as_test(
            seed(number)(machine),
            settings=settings(profiles.chosen(), max_examples=profiles.of_full(80) * SCALE, stateful_step_count=40),
        )
    finally:
        RUNS.append((f"AppAndModel {rules}", str(number), machine.examples, machine.steps, time.monotonic() - begin))


def text_of(sent: Any) -> bytes:
    return sent if isinstance(sent, bytes) else json.dumps(sent, ensure_ascii=False).encode("utf-8", "surrogatepass")


anything = st.one_of(envelopes(), envelopes(), envelopes(), broken(), junk, st.binary(max_size=60))


@pytest.mark.parametrize("open_store", [open_in_process, open_over_a_socket], ids=["app", "socket"])
@SETTINGS
@given(st.sampled_from(["compatible", "strict"]), st.lists(anything, min_size=1, max_size=20))
def test_one_by_one_the_app_answers_what_the_store_does(open_store: Any, rules: str, work: list[Any]) -> None:
    """The replies are equal byte by byte, and so are the rows."""
    behind = open_store(clock=ManualClock(0), rules=rules, check=True)
    beside = Store(clock=ManualClock(0), rules=rules, check=True)
    try:
        for sent in work:
            text = text_of(sent)
            assert json.loads(behind.apply_json(text)) == json.loads(beside.apply_json(text))
            assert behind.digest() == beside.digest()
    finally:
        behind.close()
        beside.close()


async def at_once(store: Store, texts: list[bytes], cuts: list[int]) -> list[Answer]:
    """Sends all requests at the same time; the bodies come in two parts."""
    app = app_of(store)
    async with app.lifespan():
        bodies = [[text[: cut % (len(text) + 1)], text[cut % (len(text) + 1) :]] for text, cut in zip(texts, cuts, strict=True)]
        answers = list(await asyncio.gather(*(call(app, body=body) for body in bodies)))
        last = {"kind": "promise.get", "head": {"corrId": "last", "version": "2026-04-01"}, "data": {"id": "nobody at all"}}
        assert (await call(app, body=json.dumps(last).encode())).status == 404
    return answers


@SETTINGS
@given(st.lists(st.tuples(anything, st.integers(0, 100)), min_size=2, max_size=60))
def test_all_at_once_each_is_answered_and_nothing_breaks(work: list[tuple[Any, int]]) -> None:
    texts = [text_of(sent) for sent, _ in work]
    with Store(clock=ManualClock(0), debug=True) as store:
        answers = asyncio.run(at_once(store, texts, [cut for _, cut in work]))
        for (sent, _), answer in zip(work, answers, strict=True):
            seen = json.loads(checked(answer))
            assert answer.status in (200, 300, 400, 403, 404, 409, 422), answer
            if isinstance(sent, dict) and isinstance(sent.get("kind"), str) and answer.status != 400:
                assert (seen["kind"], seen["head"]["corrId"]) == (sent["kind"], sent["head"]["corrId"])
            if answer.status not in (200, 300):
                assert isinstance(seen["data"], str) and seen["data"]
        assert store.check() == []


@SETTINGS
@given(st.lists(envelopes(), min_size=2, max_size=40))
def test_what_came_at_once_was_done_in_the_order_in_which_it_came(work: list[Any]) -> None:
    """Within one process the app runs requests in the order of their arrival, so the result is that of requests one by one."""
    texts = [text_of(sent) for sent in work]
    with Store(clock=ManualClock(0), debug=True) as store, Store(clock=ManualClock(0), debug=True) as beside:
        answers = asyncio.run(at_once(store, texts, [0] * len(texts)))
        assert [json.loads(answer.body) for answer in answers] == [json.loads(beside.apply_json(text)) for text in texts]
        assert store.digest() == beside.digest()
