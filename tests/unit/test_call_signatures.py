"""The typed calls of a store, of `store.aio` and of a client have the same signatures."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.aio import AsyncStore, AsyncStoreJobs, AsyncStorePromises
from resonate_core.calls import async_faces, sync_faces
from resonate_core.client import AsyncClient, AsyncClientJobs, Client, ClientJobs

STUB = Path(rc.__file__).with_name("_core.pyi")

#: Methods of the core that a face has not, and why.
NOT_AWAITED = {("Promises", "count"): "it counts the rows of this process's engine: no request of the protocol has it"}
NOT_SENT = {
    **NOT_AWAITED,
    ("Promises", "create_many"): "all or none in one transaction: the protocol has no such request",
    ("Promises", "settle_many"): "all or none in one transaction: the protocol has no such request",
}

AWAITED = {
    "Promises": AsyncStorePromises,
    "Tasks": async_faces.AsyncTasks,
    "Schedules": async_faces.AsyncSchedules,
    "Jobs": AsyncStoreJobs,
    "Queues": async_faces.AsyncQueues,
}
SENT = {
    "Promises": sync_faces.Promises,
    "Tasks": sync_faces.Tasks,
    "Schedules": sync_faces.Schedules,
    "Jobs": ClientJobs,
    "Queues": sync_faces.Queues,
}
SENT_AWAITED = {
    "Promises": async_faces.AsyncPromises,
    "Tasks": async_faces.AsyncTasks,
    "Schedules": async_faces.AsyncSchedules,
    "Jobs": AsyncClientJobs,
    "Queues": async_faces.AsyncQueues,
}

Signature = list[tuple[str, str, str]]


def of_the_core() -> dict[tuple[str, str], Signature]:
    """Returns name, kind and default of every parameter of the typed calls, from the stub."""
    found = {}
    for noun in ast.parse(STUB.read_text()).body:
        if not isinstance(noun, ast.ClassDef) or noun.name not in SENT:
            continue
        for method in noun.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                found[noun.name, method.name] = _parameters(method.args)
    return found


def _parameters(arguments: ast.arguments) -> Signature:
    places = [*arguments.posonlyargs, *arguments.args][1:]
    defaults = [None] * (len(places) - len(arguments.defaults)) + list(arguments.defaults)
    made = [(one.arg, "place", _default(default)) for one, default in zip(places, defaults, strict=True)]
    made += [
        (one.arg, "keyword", _default(default)) for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return made + ([("kwargs", "many", "")] if arguments.kwarg else [])


def _default(default: ast.expr | None) -> str:
    return "" if default is None else repr(ast.literal_eval(default))


def of_a_face(method: Any) -> Signature:
    kinds = {
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "place",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "many",
    }
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return [(one.name, kinds[one.kind], "" if one.default is one.empty else repr(one.default)) for one in parameters]


@pytest.mark.parametrize(
    ("faces", "missing"), [(AWAITED, NOT_AWAITED), (SENT, NOT_SENT), (SENT_AWAITED, NOT_SENT)], ids=["aio", "client", "client.aio"]
)
def test_each_call_has_the_parameters_of_the_core(faces: dict[str, type], missing: dict[tuple[str, str], str]) -> None:
    core = of_the_core()
    names = {(noun, name) for noun, face in faces.items() for name in dir(face) if not name.startswith("_")}
    assert names == set(core) - set(missing)
    for noun, name in sorted(names):
        assert of_a_face(getattr(faces[noun], name)) == core[noun, name], (noun, name)


@pytest.mark.parametrize("faces", [AWAITED, SENT, SENT_AWAITED], ids=["aio", "client", "client.aio"])
def test_each_call_has_its_text(faces: dict[str, type]) -> None:
    for face in faces.values():
        for name in dir(face):
            if not name.startswith("_"):
                method = getattr(face, name)
                text = inspect.getdoc(method)
                assert text and text[0].isupper(), (face, name)
                assert "(self" not in text, (face, name)
                assert inspect.iscoroutinefunction(method) == (face not in SENT.values() and name != "graph"), (face, name)


@pytest.mark.parametrize("face", [AsyncStore, Client, AsyncClient])
def test_each_face_has_the_nouns_and_waits(face: type) -> None:
    made = face(rc.Store(clock=rc.ManualClock())) if face is AsyncStore else face("http://127.0.0.1:1")
    for noun in (*SENT, "Wait", "Result"):
        assert hasattr(made, noun.lower()), noun
    for name in ("wait", "result"):
        assert list(inspect.signature(getattr(face, name)).parameters) == ["self", "id", "timeout"]
