"""Jobs that wait: chains and a fan through `Worker`, beside plain jobs, Celery canvas and BullMQ flows in the same run."""
