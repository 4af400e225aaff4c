"""Small programs with one planted bug each, and the same programs without it. `zoo.catalogue` lists them."""
