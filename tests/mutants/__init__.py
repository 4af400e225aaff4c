"""Puts small defects into a copy of the sources, to see whether the tests find each of them."""
