"""The workflows of a worker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from ..errors import Invalid
from .calling import Upcast
from .job_source import JobSourceOwner
from .listening import Listening
from .option_values import text
from .options import TaskOptions
from .tasks import WorkerTask
from .tracing import Tracing
from .workflow_task import WorkflowTask

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["WorkflowRegistry", "name_of_type"]

P = ParamSpec("P")
R = TypeVar("R")


def name_of_type(type: str | Callable[..., Any] | None, function: Callable[..., Any]) -> str:
    """Return the type of a handler's jobs: the given one, or module and name of the function."""
    if type is not None and not callable(type):
        return text("type", type)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"


class WorkflowRegistry(Listening):
    """The part of a registry that registers workflows."""

    _clients: JobSourceOwner

    def tracing(self) -> Tracing | None:
        """The object that opens spans."""
        raise NotImplementedError

    def _add(self, task: WorkerTask[Any, Any]) -> WorkerTask[Any, Any]:
        raise NotImplementedError

    @overload
    def workflow(self, type: Callable[P, R], /) -> WorkflowTask[P, R]: ...

    @overload
    def workflow(
        self,
        type: str | None = None,
        /,
        *,
        unpack: bool | None = None,
        upcast: Upcast | None = None,
        **options: Unpack[TaskOptions],
    ) -> Callable[[Callable[P, R]], WorkflowTask[P, R]]: ...

    def workflow(
        self,
        type: str | Callable[..., Any] | None = None,
        /,
        *,
        unpack: bool | None = None,
        upcast: Upcast | None = None,
        **options: Unpack[TaskOptions],
    ) -> Any:
        """Register a workflow; a decorator, with or without arguments.

        A workflow is a job whose function is durable. What its steps return is recorded; after a crash, a deploy or a year of sleep
        the function runs again from its beginning, takes the records and continues behind the last one. Its effects belong into steps
        (`resonate_core.workflow.step`). The function is an `async def`, or a `def` that imports the calls from
        `resonate_core.workflow.blocking`. Its jobs have the lifecycle `workflow`, unless the options say otherwise.

        Args:
            type: As of `task`.
            unpack: As of `task`.
            upcast: As of `task`.
            options: As of `task`, except for `group`.

        Raises:
            Invalid: The type has a handler already, or there is a group.
            TypeError: An option that tasks do not have, or an annotation that JSON cannot hold.

        Example:
            >>> from datetime import timedelta
            >>> from resonate_core.workflow import receive, sleep, step
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> worker = rc.worker.Worker(store)
            >>> @step
            ... async def mail(to: str, text: str) -> None:
            ...     print(text, "to", to)
            >>> @worker.workflow("onboard")
            ... async def onboard(user: str) -> bool:
            ...     await mail(user, "welcome")
            ...     clicked = await receive("click", type=bool, timeout=timedelta(days=3), default=False)
            ...     if not clicked:
            ...         await mail(user, "a reminder")
            ...     return clicked
            >>> _ = onboard.using(id="onboard-ada").delay("ada")
            >>> worker.run_until_idle(advance=True).runs[-1].result
            welcome to ada
            a reminder to ada
            False
        """

        def register(function: Callable[..., Any]) -> WorkflowTask[Any, Any]:
            if options.get("group") is not None:
                raise Invalid(
                    f"group must be None for a workflow, got {options['group']!r}: its job is suspended and woken by itself"
                )
            made: WorkflowTask[Any, Any] = WorkflowTask(
                self._clients,
                name_of_type(type, function),
                function,
                lifecycle="workflow",
                unpack=unpack,
                upcast=upcast,
                names=sys._getframe(1 if decorates else 2).f_locals,
                tracing=self.tracing,
                options=options,
            )
            self._add(made)
            return made

        decorates = not callable(type)
        return register if decorates else register(type)  # type: ignore[arg-type]
