"""Tests of the typed calls that are awaited or sent to a server."""
