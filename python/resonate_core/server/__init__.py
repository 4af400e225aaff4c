"""The HTTP server's parts: what it may be told, who may ask for what, and how messages leave the store."""
