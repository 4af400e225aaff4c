"""Measurements of a store in PostgreSQL."""

#: How often the two sides of a ratio are measured in a round, in turns, if what else the machine does moves the ratio: one server and
#: two, and `Worker` and River, whose runs take 1 s.
TURNS = 3
