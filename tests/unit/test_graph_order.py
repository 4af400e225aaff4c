"""The order in which a graph's request names its nodes."""

from __future__ import annotations

import pytest

import resonate_core as rc


def names(graph: rc.Graph) -> list[str]:
    return [order["id"].removeprefix("g:") for order in graph.made().data["jobs"]]


@pytest.fixture
def graph() -> rc.Graph:
    return rc.Store(clock=rc.ManualClock()).jobs.graph("g")


def test_nodes_that_can_run_at_the_same_time_are_together(graph: rc.Graph) -> None:
    for chain in "ab":
        before = None
        for step in range(3):
            before = graph.add(f"{chain}{step}", "t", after=before)
    graph.add("join", "t", after=["a1", "b2"])
    graph.add("alone", "t", after="elsewhere")
    assert names(graph) == ["a0", "b0", "alone", "a1", "b1", "a2", "b2", "join"]


def test_a_node_that_is_added_before_those_that_it_waits_for_is_sent_behind_them(graph: rc.Graph) -> None:
    graph.add("last", "t", after=["middle", "first"])
    graph.add("middle", "t", after="first")
    graph.add("first", "t")
    assert names(graph) == ["first", "middle", "last"]
    assert list(graph.enqueue()) == ["last", "middle", "first"]


def test_a_node_that_waits_for_itself_is_a_circle(graph: rc.Graph) -> None:
    graph.add("a", "t")
    graph.add("b", "t", after=["a", "b"])
    with pytest.raises(rc.errors.Invalid, match="'b' waits for 'b'"):
        graph.enqueue()


def test_a_node_of_two_graphs_has_the_id_and_the_tags_of_each(graph: rc.Graph) -> None:
    node = rc.Node("t", tags={"own": "1"}, queue="q")
    other = rc.Store(clock=rc.ManualClock()).jobs.graph("h")
    graph.add("a", node)
    other.add("b", node, after=["elsewhere"])
    assert graph.made().data["jobs"] == [
        {"id": "g:a", "queue": "q", "type": "t", "tags": {"own": "1", "resonate:graph": "g"}},
    ]
    assert other.made().data["jobs"] == [
        {"id": "h:b", "queue": "q", "type": "t", "tags": {"own": "1", "resonate:graph": "h"}, "after": ["elsewhere"]},
    ]
    assert node.order == {"queue": "q", "type": "t", "tags": {"own": "1"}}


def test_a_name_that_is_added_later_is_meant_by_an_earlier_node(graph: rc.Graph) -> None:
    graph.add("a", "t", after="b")
    assert graph.made().data["jobs"][0]["after"] == ["b"]
    graph.add("b", "t")
    assert names(graph) == ["b", "a"]
    assert graph.made().data["jobs"][1]["after"] == ["g:b"]
