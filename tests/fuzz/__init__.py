"""Random and broken input at the envelope door."""
