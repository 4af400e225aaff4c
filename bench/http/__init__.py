"""The server over HTTP, on both engines, beside a bare echo app on the same engine in the same run."""
