"""The parts of the HTTP server: settings, access checks, requests, and the delivery of messages."""
