"""A job as a worker sees it."""

from .._core import Job

__all__ = ["JobRecord"]

#: A job as it was at the instant of the call (JOBS 2), of a store in this process or of a server.
JobRecord = Job
