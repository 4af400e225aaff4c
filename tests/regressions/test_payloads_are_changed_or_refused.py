"""Payloads and results that a program may well have: a secret was stored as asterisks, valid models and values were refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import sys
import uuid
from collections.abc import Callable
from typing import Any, Literal

import attrs
import msgspec
import pydantic
import pytest
from pydantic import Field
from typing_extensions import TypedDict

import resonate_core as rc
from resonate_core.worker import Worker


class Login(pydantic.BaseModel):
    user: str
    password: pydantic.SecretStr


class Key(pydantic.BaseModel):
    key: pydantic.SecretBytes


class Logins(pydantic.BaseModel):
    all: list[Login] = []
    by_name: dict[str, Login] = {}


class Opened(pydantic.BaseModel):
    password: pydantic.SecretStr

    @pydantic.field_serializer("password", when_used="json")
    def reveal(self, password: pydantic.SecretStr) -> str:
        return password.get_secret_value()


@dataclasses.dataclass
class Session:
    login: Login


@dataclasses.dataclass
class Bare:
    token: Any


@attrs.define
class Attrs:
    logins: list[Login]


class Struct(msgspec.Struct):
    login: Login


class Typed(TypedDict):
    login: Login


ANN = Login(user="ann", password=pydantic.SecretStr("hunter2"))

#: Annotation, value, and the path of the secret.
SECRETS: dict[str, tuple[Any, Any, str]] = {
    "model": (Login, ANN, "password"),
    "bytes": (Key, Key(key=pydantic.SecretBytes(b"\xff")), "key"),
    "list in a model": (Logins, Logins(all=[ANN]), "all[0].password"),
    "dict in a model": (Logins, Logins(by_name={"ann": ANN}), "by_name.ann.password"),
    "list": (list[Login], [ANN], "[0].password"),
    "dict": (dict[str, Login], {"ann": ANN}, "ann.password"),
    "dataclass": (Session, Session(ANN), "login.password"),
    "attrs": (Attrs, Attrs([ANN]), "logins[0].password"),
    "struct": (Struct, Struct(ANN), "login.password"),
    "TypedDict": (Typed, {"login": ANN}, "login.password"),
    "no model": (Any, Bare(pydantic.SecretStr("x")), "token"),
    "union": (Login | None, ANN, "password"),
}


@pytest.fixture
def worker() -> Worker:
    return Worker(rc.Store(clock=rc.ManualClock()))


def enqueue(worker: Worker, hint: Any, value: Any, way: str = "enqueue") -> list[Any]:
    """Enqueue a value for a handler with this annotation, run it, and return what the handlers got."""
    seen: list[Any] = []

    def handler(payload, /):  # type: ignore[no-untyped-def]
        seen.append(payload)

    handler.__annotations__ = {"payload": hint}
    task = worker.task("t", max_retries=0)(handler)
    {"enqueue": task.enqueue, "enqueue_many": lambda one: task.enqueue_many([one]), "delay": task.delay}[way](value)
    worker.run_until_idle()
    return seen


@pytest.mark.parametrize("way", ["enqueue", "enqueue_many", "delay"])
@pytest.mark.parametrize("case", SECRETS)
def test_a_hidden_secret_is_refused(worker: Worker, case: str, way: str):
    hint, value, path = SECRETS[case]
    with pytest.raises(rc.errors.Invalid) as refused:
        enqueue(worker, hint, value, way)
    assert str(refused.value).startswith(f"payload of a job of type 't': {path.lstrip('.')} must not be a secret")
    assert len(worker.client.store.jobs.search()) == 0


@pytest.mark.parametrize("case", SECRETS)
def test_a_hidden_secret_in_a_result_fails_the_job(worker: Worker, case: str):
    _, value, path = SECRETS[case]
    job = worker.task("t", max_retries=0)(lambda: value).enqueue()
    worker.run_until_idle()
    error = worker.client.store.jobs.get(job.id).error or {}
    assert error["code"] == "InvalidResult" and f"{path.lstrip('.')} must not be a secret" in error["message"]


def test_it_is_refused_where_it_is_submitted(worker: Worker):
    task = worker.task("t")(lambda payload: None)
    with pytest.raises(rc.errors.Invalid, match="password must not be a secret"):
        task.submit(None, ANN)
    with pytest.raises(rc.errors.Invalid, match=r"data\.password must not be a secret"):
        worker.task("named")(lambda data, n: None).delay(ANN, 2)
    with pytest.raises(rc.errors.Invalid, match="password must not be a secret"):
        worker.periodic("@daily", task, ANN)


def test_a_secret_that_its_model_serializes(worker: Worker):
    (opened,) = enqueue(worker, Opened, Opened(password=pydantic.SecretStr("hunter2")))
    assert opened.password.get_secret_value() == "hunter2"


def test_asterisks_and_empty_secrets_are_no_hidden_ones(worker: Worker):
    (login,) = enqueue(worker, Login, Login(user="**********", password=pydantic.SecretStr("")))
    assert (login.user, login.password.get_secret_value()) == ("**********", "")


class Colour(enum.Enum):
    RED = "red"


class Computed(pydantic.BaseModel, extra="forbid"):
    side: int

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.side**2


class Encoded(pydantic.BaseModel):
    data: pydantic.Json[dict[str, int]]


class Aliased(pydantic.BaseModel):
    number: int = Field(validation_alias="in", serialization_alias="out")


class Choices(pydantic.BaseModel):
    number: int = Field(validation_alias=pydantic.AliasChoices("a", pydantic.AliasPath("b", 0)), serialization_alias="out")


class Nested(pydantic.BaseModel):
    one: Aliased
    many: list[Computed] = []
    name: str = Field(alias="fullName", default="")


class ByName(pydantic.BaseModel, validate_by_alias=False, validate_by_name=True):
    number: int = Field(alias="x")


class Outer(pydantic.BaseModel):
    inner: ByName


class Strict(pydantic.BaseModel, strict=True):
    at: dt.datetime
    id: uuid.UUID
    colour: Colour
    pair: tuple[int, int]
    kinds: frozenset[str]
    data: bytes


class Base64(pydantic.BaseModel, ser_json_bytes="base64", val_json_bytes="base64"):
    data: bytes


class Text(pydantic.BaseModel):
    data: bytes


class Cat(pydantic.BaseModel):
    kind: Literal["cat"] = Field(default="cat", serialization_alias="species")


class Root(pydantic.RootModel[list[Aliased]]):
    pass


NOON = dt.datetime(2026, 2, 1, 12, tzinfo=dt.timezone.utc)
FOUR = Aliased.model_validate({"in": 4})
MODELS: dict[str, Any] = {
    "computed field": Computed(side=3),
    "Json": Encoded(data='{"a": 1}'),  # type: ignore[arg-type]
    "differing aliases": FOUR,
    "choices of aliases": Choices.model_validate({"a": 5}),
    "nested": Nested.model_validate({"one": {"in": 4}, "many": [{"side": 2}], "fullName": "Ada"}),
    "read by name alone": ByName.model_validate({"number": 6}),
    "read by name alone, nested": Outer.model_validate({"inner": {"number": 6}}),
    "strict": Strict(at=NOON, id=uuid.UUID(int=7), colour=Colour.RED, pair=(1, 2), kinds=frozenset({"a"}), data=b"abc"),
    "bytes in base64": Base64(data=b"\xff\x00aGk="),
    "bytes of text": Text(data="é".encode()),
    "only a serialization alias": Cat(),
    "root model": Root([FOUR]),
}


@pytest.mark.parametrize("way", ["enqueue", "enqueue_many", "delay"])
@pytest.mark.parametrize("case", MODELS)
def test_a_model_comes_back_as_it_was(worker: Worker, case: str, way: str):
    assert enqueue(worker, type(MODELS[case]), MODELS[case], way) == [MODELS[case]]


@pytest.mark.parametrize("case", MODELS)
def test_so_do_lists_and_dataclasses_of_models(worker: Worker, case: str):
    model = MODELS[case]
    assert enqueue(worker, list[type(model)], [model]) == [[model]]  # type: ignore[misc]
    holder = dataclasses.make_dataclass("Holder", [("model", type(model))])
    assert enqueue(Worker(rc.Store(clock=rc.ManualClock())), holder, holder(model)) == [holder(model)]


def test_both_names_of_a_field_are_read(worker: Worker):
    assert enqueue(worker, Aliased, {"in": 4}) == [FOUR]
    assert enqueue(Worker(rc.Store(clock=rc.ManualClock())), Aliased, {"number": 4}) == [FOUR]


def test_a_result_has_its_aliases_and_computed_fields(worker: Worker):
    job = worker.task("t", retention="kept")(lambda: [FOUR, Computed(side=3)]).enqueue()
    worker.run_until_idle()
    assert worker.client.store.result(job.id, timeout=30) == [{"out": 4}, {"side": 3, "area": 9}]


@pytest.mark.parametrize("value", [Text(data=b"\xff"), {"a": [Text(data=b"\xff")]}])
def test_bytes_that_are_no_text_name_their_field(worker: Worker, value: Any):
    place = "data" if isinstance(value, Text) else r"a\[0\].data"
    with pytest.raises(rc.errors.Invalid, match=rf"^payload of a job of type 't': {place} must be UTF-8 text.*base64"):
        worker.task("t")(lambda payload: None).enqueue(value)
    job = worker.task("r", max_retries=0)(lambda: value).enqueue()
    worker.run_until_idle()
    assert "data must be UTF-8 text" in (worker.client.store.jobs.get(job.id).error or {})["message"]


class S(str):
    pass


class I(int):  # noqa: E742
    def __int__(self) -> int:
        raise AssertionError("its own conversion is not asked")


class F(float):
    pass


#: What a store writes without the extra `typed`, with its JSON.
RESULTS: list[tuple[Any, Any]] = [
    (S("a"), "a"),
    (I(3), 3),
    (F(1.5), 1.5),
    ([S("a"), {"i": I(3), "f": (F(1.5),)}], ["a", {"i": 3, "f": [1.5]}]),
    ({True: 1, False: 2, None: 3}, {"true": 1, "false": 2, "null": 3}),
    ([{"deep": ({True: S("a")},)}], [{"deep": [{"true": "a"}]}]),
    ({I(3): 1, S("a"): 2, 1.5: 3}, {"3": 1, "a": 2, "1.5": 3}),
]
#: Values that need the extra.
MORE: list[tuple[Any, Any]] = [
    ({True: NOON, "n": F(1.5)}, {"true": "2026-02-01T12:00:00Z", "n": 1.5}),
    (Bare(F(1.5)), {"token": 1.5}),
    (Bare(S("a")), {"token": "a"}),
]


@pytest.mark.parametrize(("value", "json"), RESULTS + MORE, ids=repr)
def test_results_and_payloads_of_other_types(worker: Worker, value: Any, json: Any):
    job = worker.task("t", max_retries=0, retention="kept")(lambda: value).enqueue()
    worker.run_until_idle()
    assert worker.client.store.jobs.get(job.id).error is None
    assert worker.client.store.result(job.id, timeout=30) == json
    assert worker.task("p")(lambda payload: None).enqueue(value).payload.json() == json


@pytest.mark.parametrize(("value", "json"), RESULTS, ids=repr)
def test_the_store_writes_them_as_well(value: Any, json: Any):
    assert rc.Store(clock=rc.ManualClock()).jobs.enqueue("t", value).payload.json() == json


@pytest.mark.parametrize("buffer", [bytearray(b"\xff\0"), memoryview(b"\xff\0"), b"\xff\0"])
def test_buffers_are_stored_as_their_bytes(worker: Worker, buffer: Any):
    job = worker.task("t", max_retries=0, retention="kept")(lambda: buffer).enqueue()
    worker.run_until_idle()
    result = worker.client.store.jobs.get(job.id).result
    assert result is not None and result.bytes() == b"\xff\0"

    @worker.task("p")
    def raw(data: bytes) -> None:
        """Takes every payload."""

    assert raw.enqueue(buffer).payload.bytes() == b"\xff\0"


@pytest.mark.parametrize(
    "value", [{(1, 2): 3}, object(), {"a": lambda: 1}], ids=["a key of two numbers", "an object", "a function"]
)
def test_what_has_no_json_is_refused(worker: Worker, value: Any):
    job = worker.task("t", max_retries=0)(lambda: value).enqueue()
    worker.run_until_idle()
    assert (worker.client.store.jobs.get(job.id).error or {})["code"] == "InvalidResult"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, worker: Worker):
    monkeypatch.setitem(sys.modules, "msgspec", None)
    for value, json in RESULTS:
        job = worker.task(f"t{id(value)}", max_retries=0, retention="kept")(returns(value)).enqueue()
        worker.run_until_idle()
        assert worker.client.store.result(job.id, timeout=30) == json


def returns(value: Any) -> Callable[[], Any]:
    return lambda: value
