"""Tests of the reference model, `resonate_core.conformance.reference`."""
