"""Jobs as they are in requests on the wire."""

from ..calls.jobs import order as enqueue_data

__all__ = ["enqueue_data"]
