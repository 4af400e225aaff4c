"""Workflows of a project: declared in modules of its apps, started with the caller's transaction, run by ``manage.py resonate_worker``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from resonate_core._core import Jobs
from resonate_core.calls.made import data_of
from resonate_core.errors import Invalid
from resonate_core.worker.job_source import JobSourceOwner
from resonate_core.worker.workflow_task import WorkflowTask

from .backends import backend_of
from .ids import new_id

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from resonate_core.worker import JobOptions, TaskOptions

__all__ = ["DjangoWorkflow", "send", "workflow", "workflows_of"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
_declared: dict[str, dict[str, DjangoWorkflow[Any, Any]]] = {}  # by backend and type


@dataclass(frozen=True)
class _Started:
    """The known members of a job whose transaction has not committed."""

    id: str


class _Sender:
    """Enqueues through a backend: at once, or inside of a transaction with its commit."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    @property
    def client(self) -> _Sender:
        """Itself."""
        return self

    def enqueue(self, type: str, payload: Any, options: Mapping[str, Any]) -> _Started:
        """Enqueue a job, whose id is made here unless it is given."""
        given = {name: value for name, value in options.items() if value is not None}
        given.setdefault("id", new_id())
        backend_of(self._backend).send("job.enqueue", data_of(Jobs.enqueue, type, payload, **given))
        return _Started(given["id"])


class DjangoWorkflow(Generic[P, R_co]):
    """A workflow of a project; `workflow` makes it. A call calls the function, without any record.

    Args:
        task: The workflow, which enqueues through the backend.

    Attributes:
        task: For ``task.call`` and ``task.start`` in another workflow.
    """

    def __init__(self, task: WorkflowTask[P, R_co]) -> None:
        self.task = task
        functools.update_wrapper(self, task.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The function itself."""
        return self.task.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<DjangoWorkflow {self.task.type!r}>"

    def using(self, **options: Unpack[JobOptions]) -> DjangoWorkflow[P, R_co]:
        """Return it with other options for those that are started through the returned one, such as id and deadline.

        Args:
            options: As of `store.jobs.enqueue`.

        Raises:
            Invalid: An option out of its range.
            TypeError: An option that jobs do not have.
        """
        return DjangoWorkflow(cast("WorkflowTask[P, R_co]", self.task.using(**options)))

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """Start it by a call of the function; inside of a transaction it exists if and only if the transaction commits.

        Args:
            args: As of the function.
            kwargs: As of the function.

        Returns:
            Its id.

        Raises:
            TypeError: The function cannot be called so.
            Invalid: An argument is not of the type that its parameter is annotated with.
            Conflict: Its id is another job's; only outside of a transaction.
        """
        return self.task.delay(*args, **kwargs).id


@overload
def workflow(type: Callable[P, R_co], /) -> DjangoWorkflow[P, R_co]: ...


@overload
def workflow(
    type: str | None = None, /, *, backend: str = "default", **options: Unpack[TaskOptions]
) -> Callable[[Callable[P, R_co]], DjangoWorkflow[P, R_co]]: ...


def workflow(type: str | Callable[..., Any] | None = None, /, *, backend: str = "default", **options: Any) -> Any:
    """Declare a function as a workflow; a decorator, with or without arguments.

    ``manage.py resonate_worker`` runs the workflows in the modules `workflows` and `tasks` of the installed apps. A `def`, which imports
    its calls from `resonate_core.workflow.blocking`, has a thread in which it may use models; before and after, its database
    connections are treated as between two requests.

    Args:
        type: Of its jobs; None: module and name of the function.
        backend: The name of the backend in TASKS, which must be one of this package.
        options: As of `Worker.workflow`: queue, priority, deadline, unique_key, …

    Raises:
        Invalid: The backend has another workflow of this type.
        TypeError: There is no such option.
    """

    def declare(function: Callable[..., Any]) -> DjangoWorkflow[Any, Any]:
        name = type if isinstance(type, str) else f"{function.__module__}.{function.__qualname__}"
        sender = cast("JobSourceOwner", _Sender(backend))
        task: WorkflowTask[Any, Any] = WorkflowTask(sender, name, function, lifecycle="workflow", options=options)
        found = _declared.setdefault(backend, {})
        if name in found and found[name].task.function.__qualname__ != function.__qualname__:
            raise Invalid(f"type of a workflow must be unique in a backend, got {name!r} twice")
        found[name] = DjangoWorkflow(task)
        return found[name]

    return declare(type) if callable(type) else declare


def workflows_of(backend: str) -> dict[str, WorkflowTask[Any, Any]]:
    """Return the workflows of a backend that modules have declared so far, by type.

    Args:
        backend: Its name in TASKS.
    """
    return {type: found.task for type, found in _declared.get(backend, {}).items()}


def send(id: str, topic: str, value: Any = None, *, key: str | None = None, backend: str | None = None) -> None:
    """Send a message to a workflow: at once, or inside of a transaction with its commit.

    Args:
        id: Of the workflow.
        topic: Which it receives.
        value: What JSON can hold.
        key: The same key sends one message, however often it is sent.
        backend: The name of a backend in TASKS; None: the first of this package.

    Raises:
        Invalid: The topic or the key breaks a rule.
        NotFound: There is no such workflow; only outside of a transaction.
        Conflict: It has ended; only outside of a transaction.
    """
    backend_of(backend).send("job.send", data_of(Jobs.send, id, topic, value, key=key))
