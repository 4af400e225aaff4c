"""PROTOCOL 3.7: the three searches."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, DialectClient

NOUNS = ["promise", "task", "schedule"]


def fill(store: Any, ids: list[str], noun: str) -> DialectClient:
    """Creates a promise, task or schedule for each id."""
    client = DialectClient(store)
    for id in ids:
        if noun == "schedule":
            client.schedule(id).must()
        else:
            client.create(id, target=ADDRESS if noun == "task" else None).must()
    return client


@pytest.mark.parametrize("noun", NOUNS)
def test_s3_7_an_empty_search_finds_all_in_bytewise_order(store: Any, noun: str) -> None:
    ids = ["b", "a", "B", "a.b", "a:b", "a/b", "é", "z", "\uffff", "𝄞", "ab", "~", "a b"]
    client = fill(store, ids, noun)
    answer = client.search(noun, limit=100).must()
    assert set(answer.data) == {f"{noun}s"}, "no cursor where there is no more"
    assert [r["id"] for r in answer[f"{noun}s"]] == sorted(ids, key=lambda i: i.encode())


@pytest.mark.parametrize(("noun", "default"), [("promise", 100), ("task", 100), ("schedule", 10)])
def test_s3_7_default_limits_and_cursors(store: Any, noun: str, default: int) -> None:
    ids = [f"i{n:04}" for n in range(default + 1)]
    client = fill(store, ids, noun)
    answer = client.search(noun).must()
    assert [r["id"] for r in answer[f"{noun}s"]] == ids[:default]
    rest = client.search(noun, cursor=answer["cursor"]).must()
    assert [r["id"] for r in rest[f"{noun}s"]] == ids[default:] and "cursor" not in rest.data


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 1000])
def test_s3_7_pages_are_disjoint_and_whole(store: Any, noun: str, limit: int) -> None:
    ids = sorted(["a", "b", "c", "c.1", "d", "é", "𝄞"], key=lambda i: i.encode())
    client = fill(store, ids, noun)
    found, cursor, pages = [], None, 0
    while True:
        answer = client.search(noun, limit=limit, cursor=cursor).must()
        found += [r["id"] for r in answer[f"{noun}s"]]
        pages += 1
        cursor = answer.data.get("cursor")
        if cursor is None:
            break
        assert isinstance(cursor, str) and len(answer[f"{noun}s"]) == limit
    assert found == ids
    assert pages == max(1, -(-len(ids) // limit)), "a cursor is present exactly when there is more"


@pytest.mark.parametrize("noun", NOUNS)
def test_s3_7_an_id_that_is_inserted_before_the_cursor_is_not_seen_again(store: Any, noun: str) -> None:
    client = fill(store, ["b", "c", "d"], noun)
    cursor = client.search(noun, limit=2).must()["cursor"]
    fill(store, ["a", "bb", "cc"], noun)
    assert client.found(noun, cursor=cursor) == ["cc", "d"]


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize(
    "bad",
    [
        {"limit": 0},
        {"limit": 1001},
        {"limit": -1},
        {"limit": 1.0},
        {"limit": "5"},
        {"limit": True},
        {"limit": 2**64},
        {"cursor": 5},
        {"tags": []},
        {"tags": {"a": 1}},
        {"tags": "a"},
        {"id": 5},
        {"id": []},
    ],
    ids=repr,
)
def test_s3_7_wrong_types_and_limits_are_400(store: Any, noun: str, bad: dict[str, Any]) -> None:
    DialectClient(store).search(noun, now=5, **bad).must(400)
    assert store.now == 0


@pytest.mark.parametrize("noun", NOUNS)
def test_s3_7_null_is_not_given(store: Any, noun: str) -> None:
    client = fill(store, ["a", "b"], noun)
    given = {"limit": None, "cursor": None, "tags": None, "id": None}
    if noun != "schedule":
        given["state"] = None
    if noun == "task":
        given["target"] = None
    assert client.found(noun, **given) == ["a", "b"]
    assert client.found(noun, cursor="", unknown=[1]) == ["a", "b"]


GLOBS = [
    ("*", ["", "a", "a.b", "ab", "b*", "B"]),
    ("a*", ["a", "a.b", "ab"]),
    ("*b", ["a.b", "ab"]),
    ("a", ["a"]),
    ("a*b", ["a.b", "ab"]),
    ("**", ["a", "a.b", "ab", "b*", "B"]),
    ("a.*", ["a.b"]),
    ("a?b", []),
    ("[ab]", []),
    ("b*", ["b*"]),
    ("nothing", []),
    ("a**b", ["a.b", "ab"]),
    ("*.*", ["a.b"]),
    ("", []),
    ("%", []),
    ("_", []),
    ("A", []),
]


@pytest.mark.parametrize(("glob", "matches"), GLOBS)
@pytest.mark.parametrize("noun", NOUNS)
def test_s3_7_the_id_glob_knows_the_star_alone(store: Any, noun: str, glob: str, matches: list[str]) -> None:
    client = fill(store, ["a", "a.b", "ab", "b*", "B"], noun)
    assert client.found(noun, id=glob) == sorted(i for i in matches if i)


def test_s3_7_the_star_is_any_run_of_any_characters(store: Any) -> None:
    ids = ["a\nb", "a\n", "a𝄞b", "a\u2028b"]
    client = fill(store, ids, "promise")
    assert set(client.found("promise", id="a*")) == set(ids)
    assert set(client.found("promise", id="a*b")) == set(ids) - {"a\n"}
    assert client.found("promise", id="a") == []


def test_s3_7_a_glob_is_not_exponential(store: Any) -> None:
    client = fill(store, ["a" * 2_000], "promise")
    assert client.found("promise", id="*a" * 500 + "b") == []
    assert client.found("promise", id="*a" * 500) == ["a" * 2_000]


def test_s3_7_promise_state_is_projected(store: Any) -> None:
    client = DialectClient(store)
    for id, timer in (("p", {}), ("timer", {"resonate:timer": "true"}), ("alive", {})):
        client.create(id, timeout=FAR if id == "alive" else 100, tags=timer, now=0).must()
    client.create("done", now=0).must()
    client.settle("done", "rejected", now=1).must()
    assert client.found("promise", now=99, state="pending") == ["alive", "p", "timer"]
    assert client.found("promise", now=100, state="pending") == ["alive"]
    assert client.found("promise", now=100, state="rejected_timedout") == ["p"]
    assert client.found("promise", now=100, state="resolved") == ["timer"]
    assert client.found("promise", now=100, state="rejected") == ["done"]
    assert client.found("promise", now=100, state="rejected_canceled") == []
    record = client.search("promise", now=100, id="p").must()["promises"][0]
    assert record == client.get("p", now=100)["promise"]


@pytest.mark.parametrize("bad", ["", "Pending", "fulfilled", "timedout", 5, []])
def test_s3_7_an_unknown_promise_state_is_a_400(store: Any, bad: Any) -> None:
    DialectClient(store).search("promise", state=bad).must(400)


@pytest.mark.parametrize("bad", ["", "Pending", "resolved", "claimed", 5, []])
def test_s3_7_an_unknown_task_state_is_a_400(store: Any, bad: Any) -> None:
    DialectClient(store).search("task", state=bad).must(400)


def test_s3_7_all_tags_must_match(store: Any) -> None:
    client = DialectClient(store)
    for id, tags in (("p1", {"a": "1"}), ("p2", {"a": "1", "b": "2"}), ("p3", {"b": "2"}), ("p4", {"a": ""})):
        client.create(id, tags=tags, target=ADDRESS).must()
        client.schedule(f"s{id}", tags=tags).must()
    for noun, prefix in (("promise", "p"), ("task", "p"), ("schedule", "sp")):

        def found(tags: dict[str, str], noun: str = noun, prefix: str = prefix) -> list[str]:
            return [i.removeprefix(prefix) for i in DialectClient(store).found(noun, tags=tags)]

        assert found({"a": "1"}) == ["1", "2"]
        assert found({"a": "1", "b": "2"}) == ["2"]
        assert found({"a": ""}) == ["4"]
        assert found({"a": "2"}) == found({"c": "1"}) == []
        assert found({}) == ["1", "2", "3", "4"]


def test_s3_7_task_search_by_state_and_target(store: Any) -> None:
    client = DialectClient(store)
    client.create("gate", now=0).must()
    for id in ("a", "h", "s", "f", "e"):
        client.task_create(id, timeout=50 if id == "e" else FAR, target=f"poll://any@{id}", now=0).must()
    client.create("p", target="poll://any@a", now=0).must()
    client.halt("h", now=0).must()
    client.suspend("s", 1, "gate", now=0).must()
    client.fulfill("f", 1, now=0).must()
    for state, ids in (("pending", ["p"]), ("acquired", ["a"]), ("suspended", ["s"]), ("halted", ["h"]), ("fulfilled", ["e", "f"])):
        assert client.found("task", now=50, state=state) == ids
    assert client.found("task", target="poll://any@a") == ["a", "p"]
    assert client.found("task", target="poll://any@a", state="pending") == ["p"]
    assert client.found("task", target="poll://any@nobody") == client.found("task", target="") == []
    record = client.search("task", id="a").must()["tasks"][0]
    assert record == client.task("a")["task"]


def test_s3_7_a_search_of_tasks_does_not_show_plain_promises(store: Any) -> None:
    client = DialectClient(store)
    client.create("plain").must()
    assert client.found("task") == [] and client.found("promise") == ["plain"]


def test_s3_7_limit_counts_matches_and_not_rows(store: Any) -> None:
    client = DialectClient(store)
    for n in range(30):
        client.create(f"i{n:02}", tags={"odd": str(n % 2)}).must()
    first = client.search("promise", tags={"odd": "1"}, limit=10).must()
    assert [p["id"] for p in first["promises"]] == [f"i{n:02}" for n in range(1, 20, 2)]
    rest = client.search("promise", tags={"odd": "1"}, limit=5, cursor=first["cursor"]).must()
    assert [p["id"] for p in rest["promises"]] == [f"i{n:02}" for n in range(21, 30, 2)]
    assert "cursor" not in rest.data


def test_s3_7_any_text_is_a_cursor(store: Any) -> None:
    client = fill(store, ["b", "d"], "promise")
    assert client.found("promise", cursor="c") == ["d"]
    assert client.found("promise", cursor="zzz") == []


def test_s3_7_a_schedule_record(store: Any) -> None:
    client = DialectClient(store)
    created = client.schedule("s", tags={"a": "b"}, now=7).must()["schedule"]
    assert client.search("schedule").must()["schedules"] == [created]
