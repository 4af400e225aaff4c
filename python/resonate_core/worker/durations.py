"""Durations and numbers as callers give them."""

from .._calls.values import Duration, integer as whole, milliseconds

__all__ = ["Duration", "milliseconds", "whole"]
