"""The server's settings on the command line: their file, the origin of each value, and the errors of invalid values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resonate_core.base.extras import how_to_install
from resonate_core.cli.exits import CommandFailed, Exit

if TYPE_CHECKING:
    from pydantic import ValidationError

    from resonate_core.server.settings import Settings

__all__ = ["Given", "config_file", "described", "flag_of", "load", "origins"]

Given = dict[str, dict[str, Any]]
PREFIX = "RESONATE_"
DEFAULT_FILE = "resonate.toml"
MASK = "********"
# Tables whose keys need no prefix, and what is not named after its key.
_BARE = ("store", "server")
_NAMES = {("store", "path"): "--db", ("server", "cors_origins"): "--cors-origin", ("log", "access"): "--access-log"}


@dataclass(frozen=True)
class Described:
    """One setting: its value, masked if it is a secret, and its origin."""

    table: str
    key: str
    value: Any
    origin: str
    source: str


def flag_of(table: str, key: str) -> str:
    """The flag of a setting.

    Example:
        >>> from resonate_core.cli.configuration import flag_of
        >>> flag_of("store", "path"), flag_of("server", "tls_key"), flag_of("log", "level")
        ('--db', '--tls-key', '--log-level')
    """
    name = key if table in _BARE else f"{table}_{key}"
    return _NAMES.get((table, key), "--" + name.replace("_", "-"))


def config_file(given: Path | None) -> Path | None:
    """Return the configuration file: the given one, else that of RESONATE_CONFIG, else `resonate.toml` if it exists, else None."""
    if given is not None:
        return given
    named = os.environ.get("RESONATE_CONFIG")
    if named:
        return Path(named)
    usual = Path(DEFAULT_FILE)
    return usual if usual.is_file() else None


def has_environment(table: str) -> bool:
    """Return whether the environment has a value of a table."""
    wanted = f"{PREFIX}{table.upper()}"
    return any(name.upper() == wanted or name.upper().startswith(wanted + "__") for name, value in os.environ.items() if value)


def load(file: Path | None, given: Given) -> Settings:
    """The settings: flags, then the environment, then the file.

    Args:
        file: The result of `config_file`.
        given: The values of flags, by table and key.

    Raises:
        CommandFailed: A value breaks its rule, a key is unknown, or the file cannot be read (USAGE). It names key, value and rule, and
            never shows a secret.
    """
    try:
        from pydantic import ValidationError
        from pydantic_settings import SettingsError

        from resonate_core.server.settings import Settings
    except ModuleNotFoundError as error:
        raise CommandFailed(f"settings need {error.name}: {how_to_install('cli')}", Exit.USAGE) from error
    try:
        return Settings.load(file, **given)
    except ValidationError as error:
        raise CommandFailed("\n".join(_errors(error, file, given)), Exit.USAGE) from error
    except SettingsError as error:  # a table of the environment that is no JSON; its text is not shown, it may be a secret
        raise CommandFailed(f"the environment: {error}", Exit.USAGE) from error
    except ValueError as error:  # a variable that names no table, or a file that is no TOML
        raise CommandFailed(str(error), Exit.USAGE) from error
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename is None:
            raise CommandFailed(str(error), Exit.USAGE) from error
        raise CommandFailed(f"cannot read {str(error.filename or file)!r}: {error.strerror or error}", Exit.USAGE) from error


def _sources(file: Path | None) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the values of the environment and those of the file, if they can be read."""
    from pydantic_settings import EnvSettingsSource

    from resonate_core.server.settings import FileSource, Settings

    environment = EnvSettingsSource(Settings)()
    return environment, {} if file is None else FileSource(Settings, toml_file=file)()


def _held(source: Mapping[str, Any], table: str, key: str) -> bool:
    rows = source.get(table)
    return isinstance(rows, Mapping) and any(str(name).lower() == key for name in rows)


def origins(table: str, key: str, file: Path | None, given: Given, flag: str) -> tuple[str, str]:
    """Where a value comes from: `flag`, `environment`, `file` or `default`, and its name there."""
    if _held(given, table, key):
        return "flag", flag
    environment, written = _sources(file)
    if _held(environment, table, key):
        return "environment", f"{PREFIX}{table.upper()}__{key.upper()}"
    if _held(written, table, key):
        return "file", str(file)
    return "default", ""


def is_secret(table: str, key: str) -> bool:
    """Return whether a setting must not be shown."""
    from resonate_core.server.settings import Settings

    field = Settings.model_fields.get(table)
    keys = getattr(field.annotation, "model_fields", {}) if field is not None else {}
    return key in keys and "SecretStr" in str(keys[key].annotation)


def _errors(error: ValidationError, file: Path | None, given: Given) -> Iterator[str]:
    """Yield a line for each broken rule. A union reports one value several times, which makes one line."""
    found: dict[tuple[str, ...], list[str]] = {}
    shown: dict[tuple[str, ...], str] = {}
    for one in error.errors(include_url=False, include_context=False):
        place = tuple(str(part) for part in one["loc"][:2])
        rule = one["msg"].removeprefix("Value error, ")
        if one["type"] == "extra_forbidden":
            rule = "there is no such setting"
        rules = found.setdefault(place, [])
        if rule not in rules:
            rules.append(rule[0].lower() + rule[1:])
        if len(place) == 2 and not is_secret(*place) and one["type"] != "extra_forbidden":
            shown.setdefault(place, f" = {one['input']!r}")
    for place, rules in found.items():
        where = ""
        if len(place) == 2:
            origin, source = origins(place[0], place[1], file, given, flag_of(*place))
            where = f" ({origin if origin != 'flag' else 'flag'} {source})" if source else ""
        name = ".".join(place) or "settings"
        yield f"{name}{shown.get(place, '')}{where}: {'; or '.join(rules)}"


def described(settings: Settings, file: Path | None, given: Given) -> list[Described]:
    """Every setting, in the order of the tables."""
    from pydantic import SecretStr

    rows = []
    for table in type(settings).model_fields:
        values = getattr(settings, table)
        for key in type(values).model_fields:
            value = getattr(values, key)
            value = MASK if isinstance(value, SecretStr) else type(values).model_dump(values, mode="json", include={key})[key]
            rows.append(Described(table, key, value, *origins(table, key, file, given, flag_of(table, key))))
    return rows
