"""Mutants of the creates beside other processes that begin without a look (decision 58)."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "created at once: a process that was alone meanwhile is not seen",
        "storage",
        '«" FROM counters ORDER BY version DESC LIMIT 1) AS counters"» + join_first_due() + " WHERE version = ? AND NOT EXISTS',
        '" FROM counters ORDER BY version DESC LIMIT 1) AS stored (was), LATERAL (SELECT stored.due_from, $7::bigint AS "\n'
        '"version) AS counters"',
    ),
    Mutant(
        "created at once: a submission comes later than the request",
        "storage",
        '«" WHERE version = ? AND NOT EXISTS (SELECT FROM inbox WHERE status IS NULL) AND NOT EXISTS (SELECT FROM writers AS w " '
        '"WHERE w.seen > ?) AND "» + kClock',
        '" WHERE version = ? AND NOT EXISTS (SELECT FROM writers AS w WHERE w.seen > ?) AND "',
    ),
    Mutant(
        "created at once: a later instant of another process is not seen",
        "storage",
        "stored.integer(«now»).integer(options_.clock ?",
        "kNever",
    ),
    Mutant(
        "created at once: the instant is that before a long wait",
        "storage",
        ".integer(«options_.clock ? saturating_add(now, kLooksWithin) : kNever»)",
        "kNever",
    ),
    Mutant(
        "created at once: a promise that is due runs later than the request",
        "storage",
        'kClock + «" <= ? AND coalesce(least(first.due_at, "» + kScheduleDue',
        '" <= ? AND coalesce(least(NULL::bigint, "',
    ),
    Mutant(
        "created at once: a schedule that is due runs later than the request",
        "storage",
        'least(first.due_at, " + «kScheduleDue» + ") > ?, true)',
        '"NULL::bigint"',
    ),
    Mutant(
        "created at once: the instant is not stored",
        "storage",
        "integer(batch_ + 1).integer(«now»).integer(kAtOnce)",
        "0",
    ),
    Mutant(
        "created at once: the commit has the number of the one before",
        "storage",
        "integer(writer_).integer(«batch_ + 1»).integer(now)",
        "batch_",
    ),
    Mutant(
        "created at once: it does not keep out who must be alone",
        "storage",
        "lock_shared_at_once, parameters.text(moment).text(«address_.schema»)",
        'std::string("another")',
    ),
    Mutant(
        "created at once: it waits in the commit for a process that is alone",
        "storage",
        "lock_shared_at_once, parameters.text(«moment»).text(address_.schema)",
        "longest",
    ),
    Mutant(
        "created at once: a wrong guess is made again and again",
        "storage",
        "if («shares») looks_left_beside_ = kLooksAfterCreating;",
        "false",
    ),
    Mutant(
        "created at once: the mark of what is due is that before a commit alone of this process",
        "storage",
        "looked_version_ != KnownState::kUnknown && «looked_version_ == seen_version_»;",
        "true",
    ),
    Mutant(
        "created at once: after a wrong guess nothing is looked up",
        "storage",
        "return may_commit_at_once() && «looks_left_beside_ == 0» && looked_version_",
        "true",
    ),
    Mutant(
        "created at once: others count as writing for ever",
        "storage",
        "if («access == Access::creating») count_transaction();",
        "false",
    ),
    Mutant(
        "created at once: requests of other kinds are tried, too",
        "storage",
        "[](const Caller& one) { return «only_creates(one.requests)»; }",
        "true",
    ),
]
