"""Colours and shapes of the static timeline. Those of the interactive one are in `ui/modules/timeline.css`."""

from __future__ import annotations

from typing import Any

__all__ = ["BAND", "ENDS", "EVENTS", "HALTED", "HATCHES", "LINES", "MARKS", "SUSPENDED", "WAKE", "WORKERS"]

BAND = "#e3e8ef"
ENDS = {
    "resolved": "#2f7d4f",
    "rejected": "#c0392b",
    "rejected_canceled": "#7d7466",
    "rejected_timedout": "#c77f2b",
    "deleted": "#9aa3ad",
}
ENDS.update(
    completed=ENDS["resolved"], failed=ENDS["rejected"], cancelled=ENDS["rejected_canceled"], expired=ENDS["rejected_timedout"]
)
#: By `worker_colour`.
WORKERS = [
    "#1f6cb0", "#a8611a", "#007e46", "#9b4e8c", "#6453a7", "#00818a", "#857000", "#587502",
    "#007ba8", "#9d4616", "#007459", "#8a5bad", "#34468e", "#b4567f", "#814a00", "#4a8040",
]  # fmt: skip
#: Of workers whose names give the same colour, in order of their names.
HATCHES = ["", "////", "....", "xxxx", "||||", "----"]
SUSPENDED = "#8a93a0"
HALTED = "#5b5b5b"
WAKE = "#7a8594"
EVENTS = {"note": "#5f6f80", "fault": "#c0392b", "crash": "#c0392b", "outage": "#c0392b", "deploy": "#1f6cb0"}
# state of a job: (colour, style of its line, what the legend says)
LINES: dict[str, tuple[str, Any, str]] = {
    "scheduled": ("#8a93a0", ":", "scheduled"),
    "waiting": ("#8a93a0", (0, (1, 2)), "waits for other promises"),
    "pending": ("#8a93a0", "-", "waits in its queue"),
    "retry": ("#c77f2b", (0, (3, 2)), "waits for its retry"),
    "archived": ("#5b5b5b", "--", "archived"),
}
# kind: (marker, size, colour, height in the row, what the legend says)
MARKS = {
    "dispatch": ("^", 5.5, "#2f6f9f", -0.40, "dispatched"),
    "heartbeat": ("|", 6.0, "#ffffff", 0.0, "heartbeat"),
    "lease_expiry": ("X", 8.0, "#c0392b", 0.0, "lease expired"),
    "promise_timeout": ("D", 6.0, "#d08a1d", 0.0, "deadline"),
    "listener_drain": ("o", 6.0, "#3c7d5a", 0.0, "listener notified"),
    "schedule": ("d", 5.5, "#2f6f9f", 0.0, "schedule fired"),
    "schedule_set_aside": ("d", 5.5, "#c0392b", 0.0, "schedule set aside"),
    "refused": ("x", 6.0, "#c0392b", 0.36, "refused"),
    "completed": ("o", 5.5, "#3c7d5a", 0.0, "attempt completed"),
    "failed": ("X", 7.0, "#c0392b", 0.0, "attempt failed"),
    "crashed": ("P", 7.0, "#c0392b", 0.0, "worker crashed"),
    "timed_out": ("D", 6.0, "#d08a1d", 0.0, "attempt timed out"),
    "snoozed": ("<", 6.0, "#5f6f80", 0.0, "snoozed"),
    "suspended": ("h", 6.0, "#5f6f80", 0.0, "suspended"),
    "cancelled": ("s", 5.5, "#7d7466", 0.0, "attempt cancelled"),
}
