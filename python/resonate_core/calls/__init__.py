"""The typed calls for asyncio and over HTTP: the method of the core makes the request, a runner sends it, `replies` reads the answer."""
