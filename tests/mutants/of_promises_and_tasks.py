"""Mutants of promises, tasks and schedules."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = [
    Mutant("a promise is pending at its deadline", "promises", "PromiseState::pending && «ends_at() <= now» &&", "ends_at() < now"),
    Mutant(
        "a promise created at its deadline is pending",
        "promises",
        "const bool dead = «promise_spec->timeout_at <= now_»",
        "promise_spec->timeout_at < now_",
    ),
    Mutant(
        "a promise created after its deadline has the present as createdAt",
        "promises",
        "created_at = «dead ? promise_spec->timeout_at : now_»",
        "now_",
    ),
    Mutant("a create accepts another idempotency key", "promises", "|| «(key && key->text == *request.ikc)»", "key != nullptr"),
    Mutant(
        "a settle accepts any idempotency key where there is none",
        "promises",
        "(request.iku && («!key || key->text != *request.iku»))",
        "key && key->text != *request.iku",
    ),
    Mutant(
        "a promise that is awaited stays internal",
        "promises",
        "Row& row = set_.edit(awaited); «row.external = true;» // the promise is now awaited, so its timeout is armed (PROTOCOL 2.1) ++row.callbacks;",
        "",
        statement=True,
    ),
    Mutant(
        "a search compares the stored state",
        "promises",
        "name_of(row.task_at(now_)) : «name_of(row.state_at(now_))»",
        "name_of(row.state)",
    ),
    Mutant(
        "a page of promises that is full loses its last one",
        "promises",
        "reply.rows = scan_by_id({.after = {.id = query.cursor}, .limit = limit + 1}, wanted); if («reply.rows.size() > limit»)",
        "reply.rows.size() >= limit",
    ),
    Mutant(
        "a delay that is over dispatches in the past", "promises", "dispatch_instant(promise_spec, «std::max(now, until)»)", "until"
    ),
    Mutant(
        "callbacks of a settled promise are not drained",
        "promises",
        "if («row.callbacks || row.listeners || row.cancels_jobs») return {kAtOnce",
        "row.listeners || row.cancels_jobs",
    ),
    Mutant(
        "a heartbeat renews a task whose promise is over",
        "tasks",
        "next_state(TaskEvent::heartbeat, «row.task_at(now_)»)",
        "row.task",
    ),
    Mutant(
        "a release bumps the version",
        "tasks",
        "«enter_pending(set_.edit(*entry), now_);» set_.touched(*entry); return ok();",
        "enter_pending(set_.edit(*entry), now_); ++set_.edit(*entry).acquisitions;",
        statement=True,
    ),
    Mutant(
        "a lease ends 1 ms early",
        "tasks",
        "row.ttl = ttl; row.expires_at = «saturating_add(now_, ttl)»",
        "saturating_add(now_, ttl - 1)",
    ),
    Mutant(
        "a continued task forgets what it was resumed by",
        "tasks",
        "if (row.resumes) row.current = shared(row.resumes->items.front());",
        "",
        statement=True,
    ),
    Mutant(
        "a suspend does not see that a deadline has passed",
        "tasks",
        "if (!settled && «!awaited->now->pending_at(now_)»)",
        "awaited->now->state != PromiseState::pending",
    ),
    Mutant(
        "a suspended task keeps buffered resumes", "tasks", "TaskState::acquired)); «row.resumes = nullptr;»", "", statement=True
    ),
    Mutant(
        "a second execute is queued beside the first",
        "tasks",
        "if (row.execute_seq) set.remove_message(row.execute_seq);",
        "",
        statement=True,
    ),
    Mutant(
        "an execute that was delivered is never queued again",
        "tasks",
        "«row.execute_waits = false;» set.touched(*entry)",
        "",
        statement=True,
    ),
    Mutant("a task keeps the pid of its last holder", "tasks", "row.task = state; «row.pid = nullptr;»", "", statement=True),
    Mutant(
        "an acquire of 2025 keeps the resume that it is for", "tasks", "if («!row.current || id != row.current->text») kept", "true"
    ),
    Mutant("a heartbeat renews the tasks of other processes", "tasks", "&& «row.pid->text == request.pid» &&", "true"),
    Mutant(
        "a preload holds the promise of the task itself",
        "tasks",
        "if («other.id() == row.id() || !in_scope(other.id())»)",
        "!in_scope(other.id())",
    ),
    Mutant(
        "a delivered execute is dispatched at the instant of its own timer",
        "tasks",
        "if (!row.execute_waits || «row.retry_at > now»)",
        "row.retry_at >= now",
    ),
    Mutant(
        "an interval is silent in a repeated hour",
        "schedules",
        "if (plan.interval) return «at + span.offset»",
        "std::max(at, span.begin + span.repeated) + span.offset",
    ),
    Mutant(
        "a daily job is lost in a skipped hour",
        "schedules",
        "«at == span.begin» && span.skipped > 0 && span.skipped < kLongestSkip",
        "false",
    ),
    Mutant(
        "a skipped day fires at its end",
        "schedules",
        "at == span.begin && «span.skipped > 0 && span.skipped < kLongestSkip»",
        "span.skipped > 0",
    ),
    Mutant(
        "a cron expression with two day fields needs both",
        "schedules",
        "= «both ? days & by_weekday : days | by_weekday»",
        "days & by_weekday",
    ),
    Mutant("Sunday as 7 is no Sunday", "schedules", "weekdays |= weekdays >> 7 & 1;", "", statement=True),
    Mutant("a cron step from a value covers that value alone", "schedules", "else if («slash == std::string_view::npos»)", "true"),
    Mutant(
        "a month's last day does not fire",
        "schedules",
        "const std::uint32_t in_month = («std::uint32_t{2} << length») - 1",
        "std::uint32_t{1} << length",
    ),
    Mutant("an hour that a zone repeats fires twice", "schedules", "std::max(at, «span.begin + span.repeated»)", "span.begin"),
    Mutant(
        "missed occurrences are skipped",
        "schedules",
        "const Instant next = «cron.next_after(at)».value_or(kNever);",
        "cron.next_after(now)",
    ),
    Mutant(
        "an occurrence exactly one grace late is skipped",
        "schedules",
        "CatchUp::none && «at < saturating_sub(now, kMisfireGrace)»",
        "at <= saturating_sub(now, kMisfireGrace)",
    ),
    Mutant(
        "an occurrence without a timeout is born pending",
        "schedules",
        "const bool initially_settled = «promise_spec->timeout_at <= at»",
        "promise_spec->timeout_at < at",
    ),
    Mutant(
        "an occurrence loses the lineage tags that its schedule names",
        "schedules",
        "if («!tags.find(tag)») tags.set(tag, id)",
        "true",
    ),
    Mutant(
        "a page of schedules that is full loses its last one",
        "schedules",
        "if («reply.schedules.size() > limit»)",
        "reply.schedules.size() >= limit",
    ),
]
