"""Small defects that are put into a copy of the sources, to see whether the tests find each."""
