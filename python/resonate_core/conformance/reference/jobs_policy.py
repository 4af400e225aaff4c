"""The delays of retries: three policies, whose jitter is a hash of an id and the number of failures (JOBS 3).

The id is that of the job, or of its batch, whose jobs are retried together."""

from __future__ import annotations

import base64
import json
import math

MOST = 2**64
GOLDEN = 0x9E3779B97F4A7C15
LONGEST = 2**53
DAY = 86_400_000


def fnv1a(text):
    """The 64-bit FNV-1a hash of a text."""
    found = 14695981039346656037
    for byte in text.encode("utf-8"):
        found = (found ^ byte) * 1099511628211 % MOST
    return found


def splitmix(state):
    """The number that splitmix64 gives for a state."""
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % MOST
    state = (state ^ state >> 27) * 0x94D049BB133111EB % MOST
    return state ^ state >> 31


def hashed(job_id, failures):
    """A 64-bit hash of a job's id and the number of its failures so far."""
    return splitmix((fnv1a(job_id) + (failures + 1) * GOLDEN) % MOST)


def unit(job_id, failures):
    """The hash as a number in [0, 1)."""
    return (hashed(job_id, failures) >> 11) * 2.0**-53


def delay(policy, job_id, failures):
    """Milliseconds from a failure to the next attempt; ``failures`` is the number of earlier failures."""
    if policy["kind"] == "fixed":
        return policy["intervals"][min(failures, len(policy["intervals"]) - 1)]
    if policy["kind"] == "asynq":
        seconds = failures**4 + 15 + hashed(job_id, failures) % 30 * (failures + 1)
        return min(seconds * 1000, LONGEST)
    length, cap = float(policy["base"]), policy["cap"]
    for _ in range(failures):
        grown = min(float(cap), length * policy["factor"])
        if grown == length:
            break
        length = grown
    length *= 1.0 + policy["jitter"] * (2.0 * unit(job_id, failures) - 1.0)
    return max(0, min(math.floor(length), cap))


def retries(policy, code):
    """Whether the policy retries after an error with this code."""
    return "codes" not in policy or code in policy["codes"]


def error(code, message, data=None):
    """The error of a job."""
    found = {"code": code, "message": message}
    if data is not None:
        found["data"] = data
    return found


def error_value(found):
    """The value of a promise that is rejected with a job's error."""
    members = {"__type": "error", "name": found["code"], "message": found["message"], "code": found["code"]}
    if "data" in found:
        members["data"] = found["data"]
    text = json.dumps(members, separators=(",", ":"))
    return {"data": base64.b64encode(text.encode("utf-8")).decode("ascii")}
