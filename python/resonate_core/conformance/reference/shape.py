"""JSON types: required members and their types (the first checks that refuse with 400)."""

from __future__ import annotations


class Refused(Exception):
    """Raised for a refused request; has its status and a message."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.message = message


def text(data, name):
    """A required string."""
    if not isinstance(data.get(name), str):
        raise Refused(400, f"{name} is {data.get(name)!r}, a string is needed")
    return data[name]


def optional_text(data, name):
    """A string, or None if it is absent or null."""
    return None if data.get(name) is None else text(data, name)


def integer(data, name):
    """A required integer within int64; ``1.0``, ``"5"`` and ``true`` are not integers."""
    found = data.get(name)
    if type(found) is not int or not -(2**63) <= found < 2**63:
        raise Refused(400, f"{name} is {found!r}, an integer is needed")
    return found


def mapping(data, name):
    """A required object."""
    if not isinstance(data.get(name), dict):
        raise Refused(400, f"{name} is {data.get(name)!r}, an object is needed")
    return data[name]


def listing(data, name):
    """A required array."""
    if not isinstance(data.get(name), list):
        raise Refused(400, f"{name} is {data.get(name)!r}, an array is needed")
    return data[name]


def string_map(data, name):
    """An object of strings; absent is empty, null is refused."""
    found = mapping(data, name) if name in data else {}
    for key in found:
        text(found, key)
    return dict(found)


def value_of(data, name):
    """A value with only its given members; absent is empty, null is refused."""
    given = mapping(data, name) if name in data else {}
    value = {}
    if given.get("headers") is not None:
        value["headers"] = string_map(given, "headers")
    if given.get("data") is not None:
        value["data"] = text(given, "data")
    return value


def check_text(found, name):
    """Refuses an empty string and a string with NUL."""
    if found == "" or "\0" in found:
        raise Refused(400, f"{name} is {found!r}")
