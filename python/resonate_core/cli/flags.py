"""A flag for each setting of the server, made from the models of the settings."""

from __future__ import annotations

import inspect
import types
import typing
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from resonate_core.cli.configuration import Given, flag_of
from resonate_core.server.settings import Settings

__all__ = ["given_by", "parameters"]


def _members(annotation: Any) -> list[Any]:
    """Return the types that a value may have, except None."""
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _members(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [member for part in typing.get_args(annotation) for member in _members(part) if member is not type(None)]
    return [annotation]


def _metavar(field: FieldInfo) -> str:
    words = []
    for member in _members(field.annotation):
        if typing.get_origin(member) is Literal:
            words += [str(choice) for choice in typing.get_args(member)]
        else:
            names = {int: "NUMBER", float: "SECONDS", Path: "FILE", SecretStr: "SECRET"}
            words.append(names.get(member, "TEXT"))
    return "|".join(dict.fromkeys(words))


def _default(field: FieldInfo) -> str:
    if field.default in (None, [], ""):
        return ""
    return f" (default: {'on' if field.default is True else 'off' if field.default is False else field.default})"


def parameters() -> list[inspect.Parameter]:
    """Return the parameters of a function that takes every setting; None means that a setting is not given."""
    made = []
    for table, field in Settings.model_fields.items():
        model = typing.cast(Any, field.annotation)
        panel = f"\\[{table}] {(model.__doc__ or '').splitlines()[0].split('; see')[0].rstrip('.')}"
        for key, setting in model.model_fields.items():
            members = _members(setting.annotation)
            flag = flag_of(table, key)
            text = (setting.description or "").replace("[", "\\[") + _default(setting)
            kind: Any = str | None
            metavar: str | None = _metavar(setting)
            if members == [bool]:
                kind, metavar, flag = bool | None, None, f"{flag}/--no-{flag[2:]}"
            elif typing.get_origin(members[0]) is list:
                kind, text = list[str] | None, text + "; may be repeated"
            option = typer.Option(flag, metavar=metavar, help=text, rich_help_panel=panel, show_default=False)
            made.append(
                inspect.Parameter(
                    f"{table}__{key}", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option]
                )
            )
    return made


def given_by(arguments: dict[str, Any]) -> Given:
    """Return the tables of settings that were given as flags, from the arguments of such a function."""
    tables: Given = {}
    for name, value in arguments.items():
        table, _, key = name.partition("__")
        if key and value is not None and value != []:
            tables.setdefault(table, {})[key] = ",".join(value) if isinstance(value, list) else value
    return tables
