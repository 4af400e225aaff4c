"""The zoo's programs as workflows. `tests/zoo/workflows/judging.py` has the searches, `zoo.catalogue` the list."""
