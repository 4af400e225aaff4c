"""Tests of the rules in docs/spec/protocol.md and docs/spec/jobs.md: tables of cases as data, and code that checks them."""
