"""The server over HTTP, beside a bare echo app on the same HTTP server in the same run."""
