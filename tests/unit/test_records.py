"""Records: immutable, compared by content, with readable reprs and safe HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc

TARGET = "poll://any@workers"


@pytest.fixture
def store() -> Iterator[rc.Store]:
    with rc.Store(clock=rc.ManualClock(), check=True) as made:
        yield made


def one_of_each(store: rc.Store) -> dict[str, Any]:
    promise = store.promises.create("p", 1000, param={"a": 1}, headers={"h": "1"}, tags={"x": "y", "resonate:external": "true"})
    claim = store.tasks.create("t", pid="w", ttl=10, timeout=500, target=TARGET)
    schedule = store.schedules.create("s", "@hourly", promise_timeout=60, param=b"raw", tags={"k": "v"})
    store.promises.create("job", 5000, tags={"resonate:target": TARGET})
    return {
        "promise": promise,
        "value": promise.param,
        "task": claim.task,
        "schedule": schedule,
        "message": store.messages()[0],
        "fired": store.clock.advance_to_next()[0] if isinstance(store.clock, rc.ManualClock) else None,
    }


KINDS = ["promise", "value", "task", "schedule", "message", "fired"]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_by_content(kind: str) -> None:
    first, second = (one_of_each(rc.Store(clock=rc.ManualClock()))[kind] for _ in range(2))
    assert first == second
    assert (first != second) is False
    assert hash(first) == hash(second)
    assert first is not second
    assert first.to_dict() == second.to_dict()
    assert first != "something else"
    assert len({first, second}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_immutable(store: rc.Store, kind: str) -> None:
    record = one_of_each(store)[kind]
    for name in [n for n in dir(record) if not n.startswith("_") and not callable(getattr(record, n))]:
        with pytest.raises(AttributeError):
            setattr(record, name, None)


@pytest.mark.parametrize("kind", KINDS)
def test_repr_names_the_record(store: rc.Store, kind: str) -> None:
    assert re.fullmatch(r"(?s)\w+\(.*\)", repr(one_of_each(store)[kind]))


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_a_table(store: rc.Store, kind: str) -> None:
    html = one_of_each(store)[kind]._repr_html_()
    assert html.startswith("<table>") and html.endswith("</table>")


def test_differences_tell() -> None:
    store = rc.Store(clock=rc.ManualClock())
    records = [
        store.promises.create("a", 1000),
        store.promises.create("b", 1000),
        store.promises.create("c", 2000),
        store.promises.create("d", 2000, param=1),
        store.promises.create("e", 2000, tags={"t": "1"}),
    ]
    assert len(set(records)) == len(records)
    assert store.promises.resolve("a") != records[0]


def test_a_record_is_what_it_was(store: rc.Store) -> None:
    before = store.promises.create("a", 1000)
    store.promises.resolve("a", 1)
    assert before.state == "pending" and before.settled_at is None and not before.value


def test_members_of_a_dict_are_copies(store: rc.Store) -> None:
    promise = store.promises.create("a", 1000, tags={"k": "v"})
    promise.tags["k"] = "changed"
    assert promise.tags == {"k": "v"}


def test_wire_record(store: rc.Store) -> None:
    store.promises.create("a", 1000, param=Ellipsis and 1)
    assert store.promises.resolve("a", "done", headers={"h": "1"}).to_dict() == {
        "id": "a",
        "state": "resolved",
        "param": {"data": "MQ=="},
        "value": {"headers": {"h": "1"}, "data": "ImRvbmUi"},
        "tags": {},
        "timeoutAt": 1000,
        "createdAt": 0,
        "settledAt": 0,
    }


def test_html_is_escaped(store: rc.Store) -> None:
    evil = "<script>alert(1)</script>"
    store.promises.create(evil, 1000, param=evil, tags={evil: evil})
    for shown in (store.promises.get(evil), store.promises.search(), store, rc.Value(data=evil)):
        assert "<script>" not in shown._repr_html_()


def test_store_html(store: rc.Store) -> None:
    one_of_each(store)
    html = store._repr_html_()
    assert "promises pending" in html and "next due" in html
    store.close()
    assert "closed" in store._repr_html_()


class TestPages:
    def test_is_a_sequence(self, store: rc.Store) -> None:
        store.promises.create_many([f"p{i}" for i in range(5)], 1000)
        page = store.promises.search()
        assert len(page) == 5 and page.cursor is None
        assert [p.id for p in page] == ["p0", "p1", "p2", "p3", "p4"] == [page[i].id for i in range(5)]
        assert page[-1].id == "p4" and page[1:3] == [page[1], page[2]] and [p.id for p in page[::-2]] == ["p4", "p2", "p0"]
        for out_of_range in (5, -6):
            with pytest.raises(IndexError):
                page[out_of_range]
        with pytest.raises(TypeError):
            page["0"]  # type: ignore[call-overload]

    def test_iterator_keeps_the_page(self, store: rc.Store) -> None:
        store.promises.create_many(["a", "b"], 1000)
        iterator = iter(store.promises.search())
        assert [p.id for p in iterator] == ["a", "b"] and list(iterator) == []

    def test_every_kind_of_search(self, store: rc.Store) -> None:
        one_of_each(store)
        assert isinstance(store.promises.search(), rc.Page)
        assert [t.id for t in store.tasks.search(target=TARGET)] == ["job", "t"]
        assert [s.id for s in store.schedules.search("s*", tags={"k": "v"})] == ["s"]
        assert "TaskPage of 2 records" in repr(store.tasks.search(target=TARGET))
        assert "SchedulePage" in store.schedules.search()._repr_html_()

    def test_html_of_a_long_page_says_so(self, store: rc.Store) -> None:
        store.promises.create_many([f"p{i:03}" for i in range(50)], 1000)
        assert "50 records, the first 20" in store.promises.search()._repr_html_()


class TestValues:
    def test_members_that_were_not_given(self) -> None:
        empty = rc.Value()
        assert empty.headers is None and empty.data is None and not empty
        assert (empty.bytes(), empty.text(), empty.json(), empty.to_dict()) == (b"", "", None, {})
        given = rc.Value({}, "")
        assert given and given.to_dict() == {"headers": {}, "data": ""} and given.json() is None

    @pytest.mark.parametrize("data", ["a", "====", "YQ", "YQ=a", "Y===", "YR==", "ü", "YQ==\n"])
    def test_no_base64(self, data: str) -> None:
        with pytest.raises(rc.Invalid):
            rc.Value(data=data).bytes()

    def test_neither_text_nor_json(self, store: rc.Store) -> None:
        value = store.promises.create("a", 1000, param=b"\xff").param
        assert value.bytes() == b"\xff"
        with pytest.raises(rc.Invalid):
            value.text()
        with pytest.raises(rc.Invalid):
            value.json()
        with pytest.raises(rc.Invalid):
            rc.Value(data="ew==").json()
