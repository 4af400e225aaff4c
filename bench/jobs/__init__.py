"""Jobs: by the typed calls and through the worker, beside huey on SQLite and asynq on Redis in the same run."""
