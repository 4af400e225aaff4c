"""Measurements of a store in PostgreSQL."""
