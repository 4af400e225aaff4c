"""Random operations on a store: abstract ones, which Hypothesis draws, and the requests that they become on the rows of a store.

An operation names rows by number, so that it fits every state and stays small when Hypothesis shrinks it. A resolver replaces the numbers
by ids, versions and instants of a store's rows: most requests then have an effect, and instants are near what is due.
"""
