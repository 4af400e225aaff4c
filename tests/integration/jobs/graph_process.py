"""A worker of the jobs of test_graph_kills.py, until it is killed.

graph_process.py STORE
"""

from __future__ import annotations

import sys
import time

from resonate_core.worker import JobContext, Worker


def main(place: str) -> None:
    worker = Worker(place, queues="graphs", concurrency=4, lease=1000, poll_interval=20)

    @worker.task("node", queue="graphs", max_retries=10_000, retry_policy={"kind": "fixed", "intervals": [0]})
    def node(job: JobContext) -> int:
        time.sleep(0.02)
        return 1 + max(job.dependencies.values(), default=0)

    worker.run()


if __name__ == "__main__":
    main(sys.argv[1])
