"""Random and broken envelopes."""
