"""Annotated handlers: payloads become values of their types, and values become payloads and results."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import sys
import uuid
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union

import msgspec
import pydantic
import pytest
from typing_extensions import TypedDict

import resonate_core as rc
from resonate_core.worker import BatchContext, JobContext, Worker


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Line:
    product: str
    count: int = 1


@dataclasses.dataclass
class Order:
    number: int
    placed: dt.datetime
    lines: list[Line] = dataclasses.field(default_factory=list)
    colour: Colour | None = None


class Mail(TypedDict, total=False):
    to: str
    subject: str


class Point(NamedTuple):
    x: int
    y: int = 0


class Cash(msgspec.Struct, tag="cash"):
    amount: int


class Card(msgspec.Struct, tag="card"):
    number: str


class Person(pydantic.BaseModel):
    name: str = pydantic.Field(alias="fullName")
    born: dt.date | None = None


class Company(pydantic.BaseModel):
    vat: str


@dataclasses.dataclass
class Visit:
    guest: Person


class Odd:
    """A class whose values JSON does not have."""


NOON = dt.datetime(2026, 2, 1, 12, tzinfo=dt.timezone.utc)
ORDER = Order(7, NOON, [Line("tea"), Line("cup", 2)], Colour.RED)
ADA = Person(fullName="Ada", born=dt.date(1815, 12, 10))

#: An annotation, JSON, and the value that the handler gets.
CONVERTED: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (float, 5, 5.0),
    (str | None, None, None),
    (Optional[int], 5, 5),  # noqa: UP045
    (Union[int, str], "a", "a"),  # noqa: UP007
    (Literal["a", "b"], "b", "b"),
    (list[dt.date], ["2026-02-01"], [dt.date(2026, 2, 1)]),
    (dict[str, Line], {"a": {"product": "tea", "count": 1}}, {"a": Line("tea")}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (set[int], [1, 2], {1, 2}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (dt.datetime, "2026-02-01T12:00:00Z", NOON),
    (dt.timedelta, "PT60S", dt.timedelta(minutes=1)),
    (uuid.UUID, "00000000-0000-0000-0000-000000000007", uuid.UUID(int=7)),
    (Decimal, "1.10", Decimal("1.10")),
    (Colour, "red", Colour.RED),
    (Point, [1, 2], Point(1, 2)),
    (Mail, {"to": "ada"}, {"to": "ada"}),
    (Annotated[int, msgspec.Meta(ge=1)], 1, 1),
    (
        Order,
        {
            "number": 7,
            "placed": "2026-02-01T12:00:00Z",
            "lines": [{"product": "tea", "count": 1}, {"product": "cup", "count": 2}],
            "colour": "red",
        },
        ORDER,
    ),
    (Cash | Card, {"type": "card", "number": "42"}, Card("42")),
    (Person, {"fullName": "Ada", "born": "1815-12-10"}, ADA),
    (list[Person], [{"fullName": "Ada", "born": "1815-12-10"}], [ADA]),
    (Person | Company, {"vat": "DE1"}, Company(vat="DE1")),
    (Visit, {"guest": {"fullName": "Ada", "born": "1815-12-10"}}, Visit(ADA)),
]


@pytest.mark.parametrize("hint, data, value", CONVERTED, ids=lambda case: str(case)[:40])
class TestEveryType:
    def test_json_becomes_a_value(self, worker: Worker, store: rc.Store, hint: Any, data: Any, value: Any):
        got: list[Any] = []

        def handler(payload):
            got.append(payload)

        handler.__annotations__["payload"] = hint
        worker.task("t")(handler)
        store.jobs.enqueue("t", data)
        (run,) = worker.run_until_idle()
        assert run.error is None, run.error
        assert got == [value] and type(got[0]) is type(value)

    def test_a_value_becomes_json(self, worker: Worker, store: rc.Store, hint: Any, data: Any, value: Any):
        def handler(given, more: int = 2):
            return {"given": given}

        handler.__annotations__["given"] = hint
        task = worker.task("t", unpack=True)(handler)
        job = task.delay(value)
        (run,) = worker.run_until_idle()
        assert run.error is None, run.error
        assert job.payload.json() == {"given": data}
        assert store.jobs.get(job.id).result.json() == {"given": data}

    def test_the_schema_takes_the_json(self, worker: Worker, hint: Any, data: Any, value: Any):
        def handler(given):
            pass

        handler.__annotations__["given"] = hint
        schema = worker.task("t", unpack=True)(handler).handler.schema()
        assert schema["type"] == "object" and schema["required"] == ["given"]
        assert schema["properties"]["given"] != {}


def order_whole(order: Order):
    return order


def order_and_more(order: Order, account: str, dry_run: bool = False):
    return order, account, dry_run


async def order_in_the_loop(job: JobContext, order: Order):
    return order


@pytest.mark.parametrize("handler", [order_whole, order_in_the_loop])
def test_a_dataclass_alone_is_the_whole_payload(worker: Worker, store: rc.Store, handler: Any):
    task = worker.task("t")(handler)
    jobs = [task.enqueue(ORDER), task.delay(ORDER), store.jobs.enqueue("t", task.payload(ORDER))]
    assert {str(job.payload.json()) for job in jobs} == {str(jobs[0].payload.json())}
    assert [run.result for run in worker.run_until_idle()] == [ORDER] * 3
    assert store.jobs.get(jobs[0].id).result.json()["lines"][1] == {"product": "cup", "count": 2}


def test_a_dataclass_beside_others_is_a_member(worker: Worker):
    task = worker.task("t")(order_and_more)
    job = task.delay(ORDER, account="a1")
    assert job.payload.json()["order"]["number"] == 7 and job.payload.json()["account"] == "a1"
    assert worker.run_until_idle().runs[0].result == (ORDER, "a1", False)


#: A handler, a payload that it cannot take, and the member that the error names.
BAD = [
    (order_whole, {"number": "x", "placed": "2026-02-01T12:00:00Z"}, "number: Expected `int`, got `str`"),
    (order_whole, {"number": 1}, "payload: Object missing required field `placed`"),
    (
        order_whole,
        {"number": 1, "placed": "2026-02-01T12:00:00Z", "lines": [{"product": 1}]},
        "lines[0].product: Expected `str`, got `int`",
    ),
    (order_whole, 5, "Expected `object`, got `int`"),
    (order_and_more, {"order": {"number": 1}, "account": "a"}, "order: Object missing required field `placed`"),
    (order_and_more, {"order": ORDER, "account": 5}, "account: Expected `str`, got `int`"),
    (order_and_more, {"order": ORDER}, "lacks account"),
]


def _person(person: Person):
    pass


def _visit(visit: Visit):
    pass


BAD += [
    (_person, {"fullName": 5}, "fullName: Input should be a valid string"),
    (_visit, {"guest": {"fullName": 5}}, "guest.fullName: Input should be a valid string"),
]


@pytest.mark.parametrize("handler, payload, said", BAD)
def test_what_does_not_fit_is_refused_before_it_is_stored(worker: Worker, store: rc.Store, handler: Any, payload: Any, said: str):
    with pytest.raises(rc.errors.Invalid) as refused:
        worker.task("order")(handler).enqueue(payload)
    assert said in str(refused.value) and "'order'" in str(refused.value)
    assert not store.jobs.search()


@pytest.mark.parametrize("handler, payload, said", BAD)
def test_what_does_not_fit_is_archived_at_once(worker: Worker, store: rc.Store, handler: Any, payload: Any, said: str):
    worker.task("order")(handler)
    job = store.jobs.enqueue("order", msgspec.to_builtins(payload))
    assert len(worker.run_until_idle(advance=True)) == 1
    found = store.jobs.get(job.id)
    assert (found.state, found.retry_count, found.error["code"]) == ("archived", 0, "InvalidPayload")
    assert said in found.error["message"]


def test_a_payload_of_a_batch_that_does_not_fit_fails_alone(worker: Worker, store: rc.Store):
    @worker.batch_task("lines")
    def lines(lines: list[Line], batch: BatchContext):
        return [line.count for line in lines]

    store.queues.set("default", groups={"size": 3, "grace": 1000})
    store.jobs.enqueue_many(
        "lines", [{"product": "tea"}, {"product": 5}, {"product": "cup", "count": 2}], group="g", ids=["a", "b", "c"]
    )
    runs = {run.id: run for run in worker.run_until_idle(advance=True)}
    assert (runs["a"].result, runs["c"].result, store.jobs.get("b").state) == (1, 2, "archived")
    with pytest.raises(rc.errors.Invalid, match="count: Expected `int`"):
        lines.enqueue({"product": "tea", "count": "many"})
    assert lines.enqueue(Line("tea")).payload.json() == {"product": "tea", "count": 1}


def test_annotations_that_json_cannot_hold_are_refused_with_the_task(worker: Worker):
    with pytest.raises(TypeError, match=r"parameter 'thing' of .* must be annotated with types that JSON can hold, got Odd"):

        @worker.task("odd")
        def odd(thing: Odd):
            pass

    with pytest.raises(TypeError, match="more than one"):

        @worker.task("two")
        def two(thing: Line | Order):
            pass

    assert not worker.tasks


def test_a_class_of_the_functions_own_scope_is_found(worker: Worker):
    @dataclasses.dataclass
    class Local:
        n: int

    @worker.task("t")
    def handler(given: Local):
        return given.n

    handler.enqueue(Local(5))
    assert worker.run_until_idle().runs[0].result == 5


def json_only(a: int, b: list[dict[str, float]], c: str | None = None, d: Any = None):
    return [a, b, c, d]


class TestWithoutTheExtra:
    @pytest.fixture(autouse=True)
    def without_msgspec(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setitem(sys.modules, "msgspec", None)

    def test_the_types_of_json_need_nothing(self, worker: Worker):
        worker.task("t")(json_only).delay(1, [{"x": 1.5}], d={"any": [None]})
        assert worker.run_until_idle().runs[0].result == [1, [{"x": 1.5}], None, {"any": [None]}]

    def test_others_are_refused_with_the_task(self, worker: Worker):
        with pytest.raises(
            ImportError, match=r"parameter 'order' of .* is annotated Order, which needs msgspec: install the extra .*typed"
        ):
            worker.task("t")(order_whole)
        assert not worker.tasks

    def test_values_are_refused_with_the_extra_named(self, worker: Worker, store: rc.Store):
        with pytest.raises(ImportError, match=r"value of Line becomes JSON by msgspec: install the extra .*typed"):
            worker.enqueue("t", Line("tea"))
        job = worker.task("u")(lambda: NOON).enqueue()
        worker.run_until_idle()
        error = store.jobs.get(job.id).error
        assert error["code"] == "InvalidResult" and "typed" in error["message"]

    def test_models_of_pydantic_need_only_pydantic(self, worker: Worker, store: rc.Store):
        task = worker.task("t")(lambda payload: payload)
        job = task.enqueue(ADA)
        worker.run_until_idle()
        assert store.jobs.get(job.id).result.json() == {"fullName": "Ada", "born": "1815-12-10"}


class TestUpcasts:
    def test_an_old_payload_meets_new_code(self, worker: Worker, store: rc.Store):
        def upcast(payload: Any) -> Any:
            if isinstance(payload, int):  # version 1: the number alone
                return {"number": payload, "placed": NOON}
            return payload

        @worker.task("order", upcast=upcast)
        def handle(order: Order):
            return order.number

        store.jobs.enqueue("order", 5)
        handle.enqueue(ORDER)
        assert [run.result for run in worker.run_until_idle()] == [5, 7]
        with pytest.raises(rc.errors.Invalid):
            handle.enqueue(5)  # what is enqueued through the task is up to date

    def test_members_by_name(self, worker: Worker, store: rc.Store):
        worker.task("t", upcast=lambda old: {"to": old["address"]} if "address" in old else old)(lambda to: to)
        store.jobs.enqueue("t", {"address": "ada"})
        assert worker.run_until_idle().runs[0].result == "ada"

    def test_one_that_raises_fails_the_job_for_good(self, worker: Worker, store: rc.Store):
        worker.task("t", upcast=lambda old: old["missing"])(lambda to: to)
        job = store.jobs.enqueue("t", {})
        worker.run_until_idle()
        error = store.jobs.get(job.id).error
        assert (error["code"], error["message"]) == ("InvalidPayload", "upcast raised KeyError: 'missing'")

    def test_one_that_cannot_be_is_refused(self, worker: Worker):
        with pytest.raises(TypeError, match="upcast must be a function of a payload, got 5"):
            worker.task("t", upcast=5)(lambda to: to)  # type: ignore[arg-type]

        def raw(payload: bytes):
            pass

        with pytest.raises(TypeError, match="upcast must be None for a payload that is not decoded"):
            worker.task("t", upcast=dict)(raw)


def test_the_schema_of_a_handler(worker: Worker):
    schema = worker.task("t")(order_and_more).handler.schema()
    assert schema["required"] == ["order", "account"] and schema["additionalProperties"] is False
    assert schema["properties"]["order"] == {"$ref": "#/$defs/Order"}
    assert schema["properties"]["dry_run"] == {"type": "boolean", "default": False}
    assert schema["$defs"]["Line"]["properties"]["count"] == {"type": "integer", "default": 1}
    assert worker.task("u")(order_whole).handler.schema()["$ref"] == "#/$defs/Order"
