"""The properties that tests check on states of the reference model, `resonate_core.conformance.reference`."""
