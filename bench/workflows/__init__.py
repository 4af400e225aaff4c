"""Workflows of five steps: in memory, on SQLite and PostgreSQL, beside plain jobs and DBOS."""
