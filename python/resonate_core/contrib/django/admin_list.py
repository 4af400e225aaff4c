"""A page of jobs for the admin: the filters of a user, and the jobs that match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from resonate_core import Job, Store
from resonate_core.base.states import JOB_STATES
from resonate_core.errors import Invalid, NotFound

__all__ = ["JobPage", "Question", "page_of"]

#: How many jobs a page shows.
PAGE = 100
#: Up to so many jobs are put in order by time; of more, pages are in the order of ids.
SORTED = 10_000


@dataclass(frozen=True)
class Question:
    """The filters of a user of the admin; an empty text matches everything.

    Attributes:
        backend: The alias of the backend.
        state: The state.
        queue: The name of the queue.
        text: An id, a pattern of ids with `*`, or the import path of a task.
        page: The number of the page, from 1, if the jobs are in order by time.
        cursor: Where the page begins otherwise.
    """

    backend: str = ""
    state: str = ""
    queue: str = ""
    text: str = ""
    page: int = 1
    cursor: str = ""

    @classmethod
    def read(cls, asked: Mapping[str, str]) -> Question:
        """Read the query of a request; invalid values are ignored."""
        state = asked.get("state", "")
        page = asked.get("p", "1")
        return cls(
            backend=asked.get("backend", ""),
            state=state if state in JOB_STATES else "",
            queue=asked.get("queue", ""),
            text=asked.get("q", "").strip(),
            page=max(1, int(page)) if page.isdecimal() and len(page) < 10 else 1,
            cursor=asked.get("after", ""),
        )

    @property
    def hidden(self) -> list[tuple[str, str]]:
        """Return the hidden fields that keep the other filters of a search: names and values."""
        return [(name, value) for name in ("backend", "state", "queue") if (value := getattr(self, name))]

    def query(self, **changes: Any) -> str:
        """Return the query of a link, with some parts changed; it leads to the first page."""
        parts = {"backend": self.backend, "state": self.state, "queue": self.queue, "q": self.text, **changes}
        return "?" + urlencode({name: value for name, value in parts.items() if value})


@dataclass
class JobPage:
    """A page of jobs.

    Attributes:
        jobs: The jobs.
        total: How many match; None: unknown.
        newest_first: Whether they are in order by time; otherwise by id.
        previous: The query of the page before; empty: there is none.
        next: The query of the page after; empty: there is none.
        counts: How many jobs there are by state, in the chosen queue.
        queues: The names of all queues.
    """

    jobs: list[Job]
    total: int | None
    newest_first: bool
    previous: str = ""
    next: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    queues: list[str] = field(default_factory=list)


def page_of(store: Store, question: Question) -> JobPage:
    """Read the page of jobs for some filters.

    Args:
        store: The store.
        question: The filters.
    """
    stats = store.queues.stats()
    counts: dict[str, int] = dict.fromkeys(JOB_STATES, 0)
    for each in stats:
        if question.queue in ("", each["name"]):
            for state, count in each["counts"].items():
                counts[state] += count
    page = _found(store, question, counts[question.state] if question.state else sum(counts.values()))
    page.counts, page.queues = counts, sorted(each["name"] for each in stats)
    return page


def _found(store: Store, question: Question, most: int) -> JobPage:
    filters: dict[str, Any] = {"state": question.state or None, "queue": question.queue or None}
    text = question.text
    if text and "*" not in text:
        try:
            job = store.jobs.get(text)
        except (NotFound, Invalid):
            filters["type"] = text
        else:
            wanted = question.state in ("", job.state) and question.queue in ("", job.queue)
            return JobPage([job] if wanted else [], int(wanted), newest_first=True)
    elif text:
        filters["id"] = text
    if most > SORTED:
        return _by_id(store, question, filters)
    found, cursor = [], None
    while True:
        batch = store.jobs.search(limit=1000, cursor=cursor, **filters)
        found += list(batch)
        cursor = batch.cursor
        if cursor is None or len(found) >= SORTED:
            break
    found.sort(key=lambda job: (job.sent_at, job.id), reverse=True)
    pages = max(1, -(-len(found) // PAGE))
    number = min(question.page, pages)
    return JobPage(
        found[(number - 1) * PAGE : number * PAGE],
        len(found),
        newest_first=True,
        previous=question.query(p=number - 1) if number > 1 else "",
        next=question.query(p=number + 1) if number < pages else "",
    )


def _by_id(store: Store, question: Question, filters: Mapping[str, Any]) -> JobPage:
    batch = store.jobs.search(limit=PAGE, cursor=question.cursor or None, **filters)
    return JobPage(
        list(batch),
        None,
        newest_first=False,
        previous=question.query() if question.cursor else "",
        next=question.query(after=batch.cursor) if batch.cursor is not None else "",
    )
