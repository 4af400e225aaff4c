"""The places of the jobs of a graph in its picture: each right of all that it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..explain.job_graph import JobGraph

__all__ = ["picture_of"]

#: The size of a box, and the room between two columns and two rows, in pixels.
_WIDTH, _HEIGHT, _BETWEEN, _ABOVE = 150, 42, 36, 14
#: The most characters of an id in a box. Of a longer one the middle is left out.
_LONGEST = 20

#: The id of a promise and a column: that of its box, or one that an edge from it crosses.
_Place = tuple[str, int]


def picture_of(graph: JobGraph) -> dict[str, Any]:
    """Return the size of the picture, the place and the label of each box, and the path of each edge, which ends in an arrow.

    Args:
        graph: With at least one node.

    Example:
        >>> from resonate_core.explain.job_graph import graph_of
        >>> from resonate_core.explain.store_reader import StoreReader
        >>> from resonate_core.ui.graph_picture import picture_of
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("parse", id="a")
        >>> _ = store.jobs.enqueue("pack", id="b", after=["a"])
        >>> picture_of(graph_of(StoreReader(store), "b", 10))["boxes"]
        [{'id': 'b', 'label': 'b', 'x': 187, 'y': 1}, {'id': 'a', 'label': 'a', 'x': 1, 'y': 1}]
    """
    columns = _columns(graph)
    lanes = _lanes(graph, columns)
    rows = _rows(graph, columns, lanes)
    places = {place: (1 + place[1] * (_WIDTH + _BETWEEN), 1 + row * (_HEIGHT + _ABOVE)) for place, row in rows.items()}
    boxes = {id: places[id, columns[id]] for id in graph.nodes}
    paths = []
    for edge in graph.edges:
        way = range(columns[edge.awaited] + 1, columns[edge.awaiter])
        between = [places[edge.awaited, column] for column in way if (edge.awaited, column) in places]
        paths.append(_path([boxes[edge.awaited], *between, boxes[edge.awaiter]]))
    return {
        "width": max(x for x, _ in boxes.values()) + _WIDTH + 1,
        "height": max(y for _, y in places.values()) + _HEIGHT + 1,
        "box": [_WIDTH, _HEIGHT],
        "boxes": [{"id": id, "label": _label(id), "x": x, "y": y} for id, (x, y) in boxes.items()],
        "paths": paths,
    }


def _columns(graph: JobGraph) -> dict[str, int]:
    """Return the column of each: one right of the last that it waits for. A circle is cut somewhere."""
    awaits = {id: graph.awaited_by(id) for id in graph.nodes}
    columns: dict[str, int] = {}
    for start in graph.nodes:
        path, open_ones = [start], {start}
        while path:
            id = path[-1]
            following = next((other for other in awaits[id] if other not in columns and other not in open_ones), None)
            if following is not None:
                path.append(following)
                open_ones.add(following)
                continue
            path.pop()
            open_ones.discard(id)
            columns.setdefault(id, 1 + max((columns[other] for other in awaits[id] if other in columns), default=-1))
    return columns


def _lanes(graph: JobGraph, columns: Mapping[str, int]) -> set[_Place]:
    """Return the places without a box through which edges go: one in each column between two that are not neighbours."""
    return {(edge.awaited, column) for edge in graph.edges for column in range(columns[edge.awaited] + 1, columns[edge.awaiter])}


def _rows(graph: JobGraph, columns: Mapping[str, int], lanes: set[_Place]) -> dict[_Place, int]:
    """Return the row of each box and lane: in a column, by the mean of the rows of those from which edges lead to it."""
    rows: dict[_Place, int] = {}
    for column in range(max(columns.values()) + 1):
        places = [(id, column) for id in graph.nodes if columns[id] == column]
        before = {id: row for (id, known), row in rows.items() if known == column - 1}
        means: dict[_Place, float] = {}
        for place in places:
            found = [before[other] for other in graph.awaited_by(place[0]) if other in before]
            means[place] = sum(found) / len(found) if found else len(graph.nodes)
        means |= {(id, column): before[id] for id in graph.nodes if (id, column) in lanes and id in before}
        rows.update((place, row) for row, place in enumerate(sorted(means, key=lambda place: means[place])))
    return rows


def _path(way: Sequence[tuple[int, int]]) -> str:
    """Return a curve from the right of the first box, along the lanes, to the left of the last; it ends in an arrow."""
    x, y = way[0][0] + _WIDTH, way[0][1] + _HEIGHT // 2
    said = f"M{x} {y}"
    for place, (left, top) in enumerate(way[1:], start=2):
        end, middle = left - (2 if place == len(way) else 0), top + _HEIGHT // 2
        bend = _BETWEEN // 2 if end > x else _WIDTH  # back, in a circle
        said += f"C{x + bend} {y} {end - bend} {middle} {end} {middle}"
        x, y = end, middle
        if place < len(way):
            x += _WIDTH
            said += f"H{x}"
    return f"{said}m-6 -4l6 4l-6 4"


def _label(id: str) -> str:
    return id if len(id) <= _LONGEST else f"{id[: _LONGEST - 11]}…{id[-10:]}"
