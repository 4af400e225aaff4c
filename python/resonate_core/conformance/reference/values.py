"""Equality of values: their meaning decides, not their spelling (JOBS 3, enqueue on an existing id)."""

from __future__ import annotations

import base64
import binascii
import decimal
import json


def refuse_constant(text):
    raise ValueError(f"{text} is not JSON")


DEEPEST = 500
"""Levels; data that are nested deeper are compared as they are."""


def decoded(data):
    """The value that the data encode, JSON in base64, with exact numbers; None if the data are anything else."""
    try:
        text = base64.b64decode(data, validate=True).decode("utf-8")
        return json.loads(text, parse_int=decimal.Decimal, parse_float=decimal.Decimal, parse_constant=refuse_constant), True
    except (binascii.Error, ValueError, RecursionError, decimal.DecimalException):
        return None, False


def same_json(one, other):
    """Whether two decoded values are the same; true is not 1."""
    pairs = [(one, other, 0)]
    while pairs:
        mine, its, level = pairs.pop()
        if type(mine) is not type(its) or level > DEEPEST:
            return False
        if isinstance(mine, dict):
            if mine.keys() != its.keys():
                return False
            pairs += [(mine[name], its[name], level + 1) for name in mine]
        elif isinstance(mine, list):
            if len(mine) != len(its):
                return False
            pairs += [(*each, level + 1) for each in zip(mine, its)]
        elif mine != its:
            return False
    return True


def same_value(one, other):
    """Whether two params have the same headers and data."""
    if one.get("headers", {}) != other.get("headers", {}):
        return False
    mine, its = one.get("data", ""), other.get("data", "")
    if mine == its:
        return True
    (mine, readable), (its, also) = decoded(mine), decoded(its)
    return readable and also and same_json(mine, its)
