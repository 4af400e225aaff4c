"""An independent model of the engine, written from ``PROTOCOL`` alone.

It uses plain dicts and loops, as simple as possible, so that a reader can compare it
with the contract. It shares no code with the engine: if the two differ, one of them
is wrong about the contract.

It needs only the standard library, except for cron expressions: those are read by ``cronsim`` (extra ``conformance``).

Example:
    >>> model = Model()
    >>> head = {"corrId": "1", "version": "2026-04-01"}
    >>> reply = model.apply({"kind": "promise.create", "head": head, "data": {"id": "p", "timeoutAt": 10}}, now=3)
    >>> reply["head"]["status"], reply["data"]["promise"]["createdAt"]
    (200, 3)
"""

from .model import Model

__all__ = ["Model"]
