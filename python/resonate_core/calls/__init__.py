"""The typed calls, written once: each function makes a `Call`, and the faces of a store (async) and of a server (sync, async) run it."""
