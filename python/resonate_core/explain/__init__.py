"""Explanations of a state or a recording: why an id does not move, spans of records and jobs, call trees, differences of two states."""
