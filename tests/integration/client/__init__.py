"""Tests of the typed calls in asyncio and over HTTP."""
