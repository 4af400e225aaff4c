"""Workflows: jobs whose function is durable. `resonate_core.workflow` has the names for programs."""
