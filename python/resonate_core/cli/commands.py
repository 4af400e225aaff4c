"""A group of commands whose errors name the command that was probably meant."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from resonate_core.cli.exits import CommandFailed, Exit

__all__ = ["Commands"]

#: Names of other programs for what a command does.
_MEANT = {
    "retry": "run",
    "rerun": "run",
    "requeue": "run",
    "resume": "run",
    "unarchive": "run",
    "remove": "delete",
    "rm": "delete",
    "kill": "cancel",
    "abort": "cancel",
    "terminate": "cancel",
    "stop": "cancel",
    "push": "enqueue",
    "add": "enqueue",
    "create": "enqueue",
    "ls": "list",
    "search": "list",
    "get": "show",
    "info": "show",
    "inspect": "show",
    "history": "show",
    "count": "stats",
    "update": "set",
    "unpause": "resume",
    "start": "serve",
    "signal": "send",
    "job": "jobs",
    "queue": "queues",
    "workflow": "workflows",
}
#: The names that groups with other commands use for these.
_ELSE = {"list": "search", "show": "get", "enqueue": "create", "run": "continue"}


class Commands(TyperGroup):
    """A group of commands. An unknown one is refused with the nearest name, or with the one that means it here."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of the arguments.

        Raises:
            CommandFailed: There is no such command, and a command of another name does what it says (USAGE).
        """
        name = args[0]
        if not ctx.resilient_parsing and self.get_command(ctx, name) is None:  # completion offers nothing
            meant = _MEANT.get(name.lower(), name)
            for one in (meant, _ELSE.get(meant), _ELSE.get(name)):
                if one in self.commands:
                    raise CommandFailed(f"there is no command {ctx.command_path} {name}: did you mean {one}?", Exit.USAGE)
        return super().resolve_command(ctx, args)
