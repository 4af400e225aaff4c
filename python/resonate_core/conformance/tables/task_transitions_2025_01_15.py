"""The 80 transitions of a task in the dialect 2025-01-15 as data, in that dialect's own numbers.

Columns: number, operation, state before, state after, result, side effect. A state is ⊥ (no task) or ⟨state, e, l, v, c, R⟩
with the states p(ending), a(cquired), s(uspended), f(ulfilled); e expiry, l ttl, v version, c current, R resumes. A condition
follows a colon. v' is any version other than v. Row 67 is struck out in the table: no request reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass

TABLE = """
1  | TaskGet()             | ⊥                               | ⊥                           | 404 |
2  | TaskGet()             | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 200 |
3  | TaskGet()             | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 200 |
4  | TaskGet()             | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 200 |
5  | TaskGet()             | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 200 |
6  | TaskCreate(t, l)      | ⊥                               | ⟨a, t+l, l, 0, Invoke, ∅⟩   | 200 |
7  | TaskCreate(t, l)      | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 200 |
8  | TaskCreate(t, l)      | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 200 |
9  | TaskCreate(t, l)      | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 200 |
10 | TaskCreate(t, l)      | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 200 |
11 | TaskAcquire(t, l, v)  | ⊥                               | ⊥                           | 404 |
12 | TaskAcquire(t, l, v)  | ⟨p, e, l, v, c, R⟩              | ⟨a, t+l, l, v, c, R⟩        | 200 |
13 | TaskAcquire(t, l, v') | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
14 | TaskAcquire(t, l, v)  | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 409 |
15 | TaskAcquire(t, l, v') | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 409 |
16 | TaskAcquire(t, l, v)  | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
17 | TaskAcquire(t, l, v') | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
18 | TaskAcquire(t, l, v)  | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 409 |
19 | TaskRelease(t, l, v)  | ⊥                               | ⊥                           | 404 |
20 | TaskRelease(t, l, v)  | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
21 | TaskRelease(t, l, v') | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
22 | TaskRelease(t, l, v)  | ⟨a, e, l, v, Invoke, R⟩         | ⟨p, t+l, l, v+1, Invoke, R⟩ | 200 | Send(Invoke)
23 | TaskRelease(t, l, v)  | ⟨a, e, l, v, Resume, R⟩         | ⟨p, t+l, l, v+1, Resume, R⟩ | 200 | Send(Resume)
24 | TaskRelease(t, l, v') | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 409 |
25 | TaskRelease(t, l, v)  | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
26 | TaskRelease(t, l, v') | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
27 | TaskRelease(t, l, v)  | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 409 |
28 | TaskSuspend(v, P)     | ⊥                               | ⊥                           | 404 |
29 | TaskSuspend(v, P)     | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
30 | TaskSuspend(v', P)    | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
31 | TaskSuspend(v, P)     | ⟨a, e, l, v, c, ∅⟩ : Pend(p)    | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 200 |
32 | TaskSuspend(v, P)     | ⟨a, e, l, v, c, ∅⟩ : Settled(p) | ⟨a, e, l, v, Resume, ∅⟩     | 300 |
33 | TaskSuspend(v, P)     | ⟨a, e, l, v, c, c'::R'⟩         | ⟨a, e, l, v, c', R'⟩        | 300 |
34 | TaskSuspend(v', P)    | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 409 |
35 | TaskSuspend(v, P)     | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
36 | TaskSuspend(v', P)    | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
37 | TaskSuspend(v, P)     | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 409 |
38 | TaskFence(v)          | ⊥                               | ⊥                           | 404 |
39 | TaskFence(v)          | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
40 | TaskFence(v')         | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
41 | TaskFence(v)          | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 200 |
42 | TaskFence(v')         | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 409 |
43 | TaskFence(v)          | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
44 | TaskFence(v')         | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
45 | TaskFence(v)          | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 409 |
46 | TaskHeartbeat(t, v)   | ⊥                               | ⊥                           | 404 |
47 | TaskHeartbeat(t, v)   | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 200 |
48 | TaskHeartbeat(t, v')  | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 200 |
49 | TaskHeartbeat(t, v)   | ⟨a, e, l, v, c, R⟩              | ⟨a, t+l, l, v, c, R⟩        | 200 |
50 | TaskHeartbeat(t, v')  | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 200 |
51 | TaskHeartbeat(t, v)   | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 200 |
52 | TaskHeartbeat(t, v')  | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 200 |
53 | TaskHeartbeat(t, v)   | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 200 |
54 | TaskFulfill(v)        | ⊥                               | ⊥                           | 404 |
55 | TaskFulfill(v)        | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
56 | TaskFulfill(v')       | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          | 409 |
57 | TaskFulfill(v)        | ⟨a, e, l, v, c, R⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 200 |
58 | TaskFulfill(v')       | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          | 409 |
59 | TaskFulfill(v)        | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
60 | TaskFulfill(v')       | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          | 409 |
61 | TaskFulfill(v)        | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          | 409 |
62 | Enqueue(Invoke, t, l) | ⊥                               | ⟨p, t+l, l, 0, Invoke, ∅⟩   |     | Send(Invoke)
63 | Enqueue(Invoke, t, l) | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R⟩          |     |
64 | Enqueue(Invoke, t, l) | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R⟩          |     |
65 | Enqueue(Invoke, t, l) | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          |     |
66 | Enqueue(Invoke, t, l) | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          |     |
67 | Enqueue(Resume, t, l) | ⊥                               | ⊥                           |     |
68 | Enqueue(Resume, t, l) | ⟨p, e, l, v, c, R⟩              | ⟨p, e, l, v, c, R::Resume⟩  |     |
69 | Enqueue(Resume, t, l) | ⟨a, e, l, v, c, R⟩              | ⟨a, e, l, v, c, R::Resume⟩  |     |
70 | Enqueue(Resume, t, l) | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨p, t+l, l, v+1, Resume, ∅⟩ |     | Send(Resume)
71 | Enqueue(Resume, t, l) | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          |     |
72 | Tick(t)               | ⊥                               | ⊥                           |     |
73 | Tick(t)               | ⟨p, e, l, v, c, R⟩ : t < e      | ⟨p, e, l, v, c, R⟩          |     |
74 | Tick(t)               | ⟨p, e, l, v, Invoke, R⟩ : t ≥ e | ⟨p, t+l, l, v, Invoke, R⟩   |     | Send(Invoke)
75 | Tick(t)               | ⟨p, e, l, v, Resume, R⟩ : t ≥ e | ⟨p, t+l, l, v, Resume, R⟩   |     | Send(Resume)
76 | Tick(t)               | ⟨a, e, l, v, c, R⟩ : t < e      | ⟨a, e, l, v, c, R⟩          |     |
77 | Tick(t)               | ⟨a, e, l, v, Invoke, R⟩ : t ≥ e | ⟨p, t+l, l, v+1, Invoke, R⟩ |     | Send(Invoke)
78 | Tick(t)               | ⟨a, e, l, v, Resume, R⟩ : t ≥ e | ⟨p, t+l, l, v+1, Resume, R⟩ |     | Send(Resume)
79 | Tick(t)               | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩              | ⟨s, ⊥, ⊥, v, ⊥, ∅⟩          |     |
80 | Tick(t)               | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩              | ⟨f, ⊥, ⊥, ⊥, ⊥, ∅⟩          |     |
"""

STRUCK_OUT = 67


@dataclass(frozen=True)
class Row:
    """One row of the table, as text.

    Attributes:
        number: 1..80.
        operation: The operation's name: TaskRelease, Enqueue, Tick, ...
        arguments: The arguments in parentheses.
        before: The fields of the state before: () for ⊥, else six texts.
        condition: A further condition of the row, or "".
        after: The fields of the state after.
        result: The status, or None if the operation has none.
        sends: "Invoke", "Resume" or None.
    """

    number: int
    operation: str
    arguments: tuple[str, ...]
    before: tuple[str, ...]
    condition: str
    after: tuple[str, ...]
    result: int | None
    sends: str | None

    @property
    def name(self) -> str:
        """The test's id."""
        return f"{self.number}-{self.operation}-{self.before[0] if self.before else 'none'}"


def _state(text: str) -> tuple[str, ...]:
    return () if text == "⊥" else tuple(field.strip() for field in text.strip("⟨⟩").split(","))


def _row(line: str) -> Row:
    number, operation, before, after, result, sends = (line.split("|") + [""] * 6)[:6]
    name, _, arguments = operation.strip().rstrip(")").partition("(")
    before, _, condition = before.strip().partition(" : ")
    return Row(
        number=int(number),
        operation=name,
        arguments=tuple(a.strip() for a in arguments.split(",") if a.strip()),
        before=_state(before),
        condition=condition.strip(),
        after=_state(after.strip()),
        result=int(result) if result.strip() else None,
        sends=sends.strip().removeprefix("Send(").rstrip(")") or None,
    )


ROWS = [_row(line) for line in TABLE.strip().splitlines()]
