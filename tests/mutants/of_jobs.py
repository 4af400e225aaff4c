"""Mutants of jobs, queues and groups of jobs."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        "a job has one retry more than it may",
        "jobs",
        "failed.retry_count < failed.spec->max_retries",
        "failed.retry_count <= failed.spec->max_retries",
    ),
    Mutant(
        "retention is ignored",
        "jobs",
        "if (job.spec->retention != kKept) job.reclaim_at = saturating_add(end.at, job.spec->retention);",
        "",
        statement=True,
    ),
    Mutant(
        "a queue's tokens come back at one a period",
        "jobs",
        "saturating_add(queue.level, «saturating_mul(elapsed, rate.limit)»)",
        "elapsed",
    ),
    Mutant(
        "the wait for a token is rounded down",
        "jobs",
        "const Duration wait = «lacking / limit + (lacking % limit ? 1 : 0)»",
        "lacking / limit",
    ),
    Mutant(
        "a window holds one claim more than the rate",
        "jobs",
        "if («taken < most_claims(*queue.rate)») break",
        "taken <= most_claims(*queue.rate)",
    ),
    Mutant(
        "claims are counted as of the beginning of their slot",
        "jobs",
        "saturating_mul(calendar::floor_div(now, slot), slot), «slot - 1»)",
        "0",
    ),
    Mutant(
        "a job that has started expires",
        "jobs",
        "«may_expire(state) && !has_started()» ? spec->good_until : kNever",
        "may_expire(state)",
    ),
    Mutant(
        "payloads with another order of members are different",
        "jobs",
        "«if (one == other) return true;» const auto mine = base64_decode(one);",
        "return one == other;",
        statement=True,
    ),
    Mutant(
        "a number is the same as a longer one",
        "jobs",
        "if («one.kind != other.kind || one.text != other.text») return false",
        "one.kind != other.kind",
    ),
    Mutant(
        "a unique key is held 1 ms too long",
        "jobs",
        "|| «now < saturating_add(spec->sent_at, spec->unique_for)»",
        "now <= saturating_add(spec->sent_at, spec->unique_for)",
    ),
    Mutant(
        "a job that waits for a retry releases its unique key",
        "jobs",
        "unique_key || «is_terminal(row.job->state)»",
        "is_terminal(row.job->state) || row.job->state == JobState::retry",
    ),
    Mutant(
        "one job more than the concurrency runs",
        "jobs",
        "queue.concurrency && «queue.active() >= queue.concurrency»",
        "queue.active() > queue.concurrency",
    ),
    Mutant(
        "a cancelled workflow cancels a job that another one awaits",
        "jobs",
        "applies(JobEvent::cancel, job_state_at(*job.now, now)) && «!has_pending_awaiter(set, edge->owner, now)»",
        "true",
    ),
    Mutant(
        "a workflow past its deadline keeps the jobs that it awaits",
        "jobs",
        "const WorkingSet::Entry* const awaiter = set.follow(edge.other); return «awaiter && awaiter->now->pending_at(now)»;",
        "awaiter && awaiter->now->state == PromiseState::pending",
    ),
    Mutant(
        "a rejected workflow cancels its jobs too",
        "jobs",
        "return «row.state == PromiseState::rejected_canceled» && set.first_cancelled_with(row.id());",
        "row.state == PromiseState::rejected_canceled || row.state == PromiseState::rejected",
    ),
    Mutant(
        "a restored store forgets the jobs that a cancelled workflow still has to cancel",
        "jobs",
        "awaiter.cancels_jobs = «true»;",
        "false",
    ),
    Mutant("claims forget who waited longest", "jobs", "key.minor = «row.job->turn()»", "0"),
    Mutant(
        "a heartbeat does not renew a job's lease",
        "jobs",
        "Row& row = set_.edit(*entry); «row.expires_at = saturating_add(now_, row.ttl);»",
        "",
        statement=True,
    ),
    Mutant(
        "a snooze counts as a failure of the day",
        "jobs",
        "if (closed && «counts_as_run(closed->outcome)»)",
        "closed->outcome != Outcome::cancelled",
    ),
    Mutant(
        "an archived job keeps its next retry",
        "jobs",
        "JobEvent::archive); clear_claim(job); «job.next_retry_at = kUnset;»",
        "",
        statement=True,
    ),
    Mutant("a failure that must not be retried is retried", "jobs", "if («retryable» && failed.retry_count", "true"),
    Mutant("a worker's own delay is 1 ms longer", "jobs", "delay = retry_after ? «*retry_after» :", "*retry_after + 1"),
    Mutant("retries have no jitter", "jobs", "std::floor(delay * (1 + «policy.jitter * (2 * unit - 1)»))", "0.0"),
    Mutant(
        "the heaviest queue is served first, always",
        "jobs",
        "queue.current = saturating_sub(queue.current, weights);",
        "",
        statement=True,
    ),
    Mutant(
        "a claim starts one job more than it was asked to",
        "jobs",
        "|| «reply.rows.size() < static_cast<std::size_t>(request.start)»",
        "reply.rows.size() <= static_cast<std::size_t>(request.start)",
    ),
    Mutant("jobs that are awaited are deleted by a filter", "jobs", "return «!row.job->deleted && !awaited»", "!row.job->deleted"),
    Mutant(
        "a timeout at the end of the lease counts as a crash",
        "jobs",
        "const bool crashed = «row.expires_at < times_out_at»",
        "row.expires_at <= times_out_at",
    ),
    Mutant(
        "one attempt more is kept", "jobs", "if («job.attempts.size() == kAttemptsKept»)", "job.attempts.size() > kAttemptsKept"
    ),
    Mutant(
        "a job goes while somebody has still to be told of its end",
        "jobs",
        "if («has_pending_awaiter(*row.job, set, now) || set.has_unblock(row.id())» ||",
        "has_pending_awaiter(*row.job, set, now)",
    ),
    Mutant(
        "a job sent in the future keeps its unique key longer",
        "jobs",
        "spec->sent_at = «std::min(order.sent_at.value_or(now), now)»",
        "order.sent_at.value_or(now)",
    ),
    Mutant(
        "a new rate limit begins with an empty bucket",
        "jobs",
        "queue.level = rate ? «rate->burst * rate->per» : 0",
        "0",
    ),
    Mutant(
        "a batch waits for one job more",
        "groups",
        "const bool full = «group_state->count >= limits.size»",
        "group_state->count > limits.size",
    ),
    Mutant(
        "the longest delay counts from the last job",
        "groups",
        "std::min(at, saturating_add(«group_state.first_at», *limits.max_delay))",
        "group_state.last_at",
    ),
    Mutant(
        "a leader that leaves is still counted",
        "groups",
        "with_member_count(*left->group_state, «saturating_sub(left->group_state->count, 1)»)",
        "left->group_state->count",
    ),
    Mutant(
        "a job that leaves is still counted",
        "groups",
        "«saturating_sub(leader->now->job->group_state->count, 1)»), leader->now->retry_at",
        "leader->now->job->group_state->count",
    ),
    Mutant("a claimed batch holds jobs that are over", "groups", "if («eligible(*other->now)») claim(*other)", "true"),
    Mutant(
        "a job joins a batch that is due", "groups", "if (leader && «leader->now->retry_at <= at»)", "leader->now->retry_at < at"
    ),
    Mutant("a job that was snoozed gathers again", "groups", "if (job.spec->group && «entry.now->acquisitions == 0»)", "true"),
    Mutant(
        "the jobs of a failed batch are retried at different instants",
        "groups",
        "failed.batch ? failed.batch->text : entry.now->id()",
        "entry.now->id()",
    ),
    Mutant(
        "jobs of a ready batch are claimed one by one",
        "groups",
        "!job.group_state && !job.gathering && «job.state != JobState::pending»",
        "true",
    ),
    Mutant("a new attempt shows the progress of the one before", "jobs", "if («job.report && job.report->progress») {", "false"),
    Mutant("a report keeps one line too many", "jobs", "«size > kLinesKept»)", "size > kLinesKept + 1"),
    Mutant(
        "the lines of a report have the number of the next attempt",
        "jobs",
        "report->lines.push_back({now, «job.attempt_count», std::move(line)});",
        "job.attempt_count + 1",
    ),
    Mutant(
        "a job is woken although others are missing",
        "jobs",
        "if («job.awaits.size() > 1» && job.until != Until::any",
        "job.awaits.size() > 2",
    ),
    Mutant("the first settled promise wakes a job that waits for all", "jobs", "«job.until != Until::any» &&", "!job.until"),
    Mutant("a failed promise does not wake a job that waits for all", "jobs", "&& !«(job.until && failed)»", "false"),
    Mutant(
        "a job runs although what it waited for has failed",
        "jobs",
        "if («!job.until && failed» && job.spec->after_failed",
        "false",
    ),
    Mutant("a woken job does not wait for its processAt", "jobs", "} else if («!job.until && job.process_at > now») {", "false"),
    Mutant(
        "a job is woken past its end", "jobs", "if (job.state != JobState::waiting || «row.dead_at(now)») return false", "false"
    ),
    Mutant(
        "a job that has suspended goes to the end of its queue",
        "jobs",
        "return «first_enqueued_at != kUnset» ? first_enqueued_at",
        "false",
    ),
    Mutant(
        "a settled job is gone before those that waited have read it",
        "jobs",
        "if (taken == kKeepersAtOnce || «keeps(set.follow(edge->other), now)») return true",
        "false",
    ),
    Mutant(
        "a job that was suspended by any keeps what it lacked", "jobs", "job.awaits.clear(); job.until.reset();", "", statement=True
    ),
    Mutant("all are enqueued although one is refused", "jobs", "if («request.atomic»)", "false"),
    Mutant(
        "what an unfinished job names is purged",
        "jobs",
        "ids_.insert(row.job->spec->after.begin(), row.job->spec->after.end());",
        "",
        statement=True,
    ),
]
