"""The parts of the HTTP server: settings, access checks, requests, and the delivery of messages."""

from ..base.log_lines import escape_lines

escape_lines("resonate_core.server", "resonate_core.delivery")
