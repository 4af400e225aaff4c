// Internal steps (PROTOCOL 4): each checks its own condition again, so it may be called late, early or repeatedly.
#include <algorithm>
#include <optional>
#include <utility>

#include "machine/derive.hpp"
#include "machine/job_cancellation.hpp"
#include "machine/job_children.hpp"
#include "machine/job_groups.hpp"
#include "machine/job_moves.hpp"
#include "machine/job_waiting.hpp"
#include "machine/keepers.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/schedules.hpp"
#include "machine/settle.hpp"
#include "machine/transitions.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

Fired fired_by(StepKind kind, const Row& row, Instant at, Instant now) {
  return Fired{.kind = kind, .id = row.id(), .at = at, .now = now, .detail = {}, .created = false};
}

Fired time_out(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  const Row& row = *entry.now;
  Fired fired = fired_by(row.expires() ? StepKind::job_expiry : StepKind::promise_timeout, row, row.ends_at(), now);
  run_last_step(set, entry);
  return fired;
}

// Ends an attempt that its worker did not end, at its lease's end or its timeout, whichever is earlier; at a tie, the timeout.
Fired end_attempt(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  const Row& row = *entry.now;
  const Instant times_out_at = row.job->times_out_at();
  if (row.job->state == JobState::claimed) {
    Fired fired = fired_by(StepKind::job_lease, row, row.expires_at, now);
    make_ready(set, entry, JobEvent::lose_claim, row.job->enqueued_at);
    return fired;
  }
  const bool crashed = row.expires_at < times_out_at;
  Fired fired = fired_by(crashed ? StepKind::job_lease : StepKind::job_timeout, row, crashed ? row.expires_at : times_out_at, now);
  JobError error = crashed ? JobError{"WorkerCrashed", "the worker's lease expired", {}}
                           : JobError{"TaskTimeout", "the attempt took longer than its timeout", {}};
  fail_attempt(set, entry, std::move(error), crashed ? Outcome::crashed : Outcome::timed_out, true, std::nullopt, false, now);
  return fired;
}

Fired make_job_ready(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  const Instant at = entry.now->retry_at;
  Fired fired = fired_by(StepKind::job_ready, *entry.now, at, now);
  const Job& job = *entry.now->job;
  if (job.spec->group && entry.now->acquisitions == 0) {  // a job that was claimed before, and then snoozed, does not gather again
    join_group(set, entry, at);
  } else {
    make_ready(set, entry, JobEvent::ready, at);
  }
  return fired;
}

// Ends the gathering of a group. Jobs that are dead by now become ready too, as they would have at the group's instant.
Fired end_gathering(WorkingSet& set, WorkingSet::Entry& leader, Instant now) {
  const Instant at = leader.now->retry_at;
  Fired fired = fired_by(StepKind::job_batch, *leader.now, at, now);
  fired.detail = leader.now->job->batch->text;
  make_batch_ready(set, leader, at);
  return fired;
}

// Deletes a finished job: first its family, one row each step. If an undelivered unblock, an unfinished awaiter or a keeper still
// needs what is next, schedules another attempt instead.
Fired reclaim(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  constexpr Duration kSoonest = 1000;
  constexpr Duration kLatest = 3'600'000;
  WorkingSet::Entry* const first = first_to_remove(set, entry, now);
  if (!first) {
    const Duration waited = saturating_sub(now, entry.now->settled_at);
    const Duration pause = is_too_young(*entry.now, now) ? 1 : std::clamp(waited, kSoonest, kLatest);
    Fired fired = fired_by(StepKind::job_retention_put_off, *entry.now, entry.now->job->reclaim_at, now);
    edit_job(set.edit(entry)).reclaim_at = saturating_add(now, pause);
    set.touched(entry);
    return fired;
  }
  Fired fired = fired_by(StepKind::job_retention, *first->now, entry.now->job->reclaim_at, now);
  remove_row(set, *first);
  return fired;
}

Fired expire_lease(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  Fired fired = fired_by(StepKind::lease_expiry, *entry.now, entry.now->expires_at, now);
  enter_pending(set.edit(entry), now);
  set.touched(entry);
  return fired;
}

Fired dispatch(WorkingSet& set, WorkingSet::Entry& entry, Instant now, const Options& options) {
  Fired fired = fired_by(StepKind::dispatch, *entry.now, entry.now->retry_at, now);
  Row& row = set.edit(entry);
  fired.detail = *row.promise_spec->target;

  Shared<OutboxMessage> message(new OutboxMessage);
  message->kind = MessageKind::execute;
  message->id = row.id();
  message->address = *row.promise_spec->target;
  message->version = row.acquisitions;
  message->resume = static_cast<bool>(row.current);
  message->dialect = row.promise_spec->dialect;
  message->queued_at = now;
  if (row.execute_seq) set.remove_message(row.execute_seq);  // a task has at most one execute in the outbox: the newest
  row.execute_seq = set.add_message(std::move(message));
  row.execute_waits = true;
  row.retry_at = saturating_add(now, retry_interval(row, options.retry_timeout));
  set.touched(entry);
  return fired;
}

// The first edge of a row that counts some; of callbacks the first that is not drained.
EdgeRef counted_edge(WorkingSet& set, EdgeKind kind, const Row& row) {
  EdgeRef edge = set.first_edge(kind, row.id(), kind == EdgeKind::callback ? row.drained_through() : 0);
  if (!edge)
    throw Error(ErrorCode::storage, "a stored row is damaged: promise " + quoted(row.id()) + " counts " +
                                        (kind == EdgeKind::listener ? "listeners" : "callbacks") + " that do not exist");
  return edge;
}

Fired drain_listener(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  Fired fired = fired_by(StepKind::listener_drain, *entry.now, entry.now->settled_at, now);
  const EdgeRef edge = counted_edge(set, EdgeKind::listener, *entry.now);
  fired.detail = edge->other;
  Shared<OutboxMessage> message(new OutboxMessage);
  message->kind = MessageKind::unblock;
  message->id = edge->owner;
  message->address = edge->other;
  message->dialect = edge->dialect;
  message->queued_at = now;
  set.add_message(std::move(message));
  set.remove_first_edge(edge);
  --set.edit(entry).listeners;
  set.touched(entry);
  return fired;
}

// Wakes the awaiter of a settled promise, or records the resume for later if it is not suspended.
void resume(WorkingSet& set, WorkingSet::Entry& awaiter, const std::string& awaited, Instant now) {
  const Row& seen = *awaiter.now;
  if (!seen.has_task() || seen.dead_at(now)) return;
  if (next_state(TaskEvent::resume, seen.task)) {
    Row& row = set.edit(awaiter);
    enter_pending(row, now);
    row.resumes = Shared<const SharedStrings>(new SharedStrings({awaited}));
    row.current = Shared<const SharedString>(new SharedString(awaited));
    set.touched(awaiter);
  } else if (next_state(TaskEvent::buffer_resume, seen.task)) {
    std::vector<std::string> resumes = seen.resumes ? seen.resumes->items : std::vector<std::string>();
    if (std::find(resumes.begin(), resumes.end(), awaited) != resumes.end()) return;
    resumes.push_back(awaited);
    set.edit(awaiter).resumes = Shared<const SharedStrings>(new SharedStrings(std::move(resumes)));
    set.touched(awaiter);
  }
}

Fired drain_callback(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  Fired fired = fired_by(StepKind::callback_drain, *entry.now, entry.now->settled_at, now);
  const EdgeRef edge = counted_edge(set, EdgeKind::callback, *entry.now);
  fired.detail = edge->other;
  WorkingSet::Entry* const awaiter = set.follow(edge->other);
  const bool by_job = awaiter && awaiter->now->job;
  const bool stays = by_job && may_stay(set, *entry.now, *edge);
  if (stays) {
    let_stay(set, entry, edge);
  } else {
    set.remove_first_edge(edge);
  }
  Row& row = set.edit(entry);
  --row.callbacks;
  if (row.job && !by_job) edit_job(row).awaiters.push_back(edge->other);
  set.touched(entry);
  if (by_job) {
    const bool goes_on = wake_job(set, *awaiter, *entry.now, now);
    if (stays) {
      goes_on ? keep_drained(set, entry, edge) : remove_drained(set, entry, edge);
    } else if (goes_on && may_have_keepers(*entry.now)) {
      keep(set, entry, edge->other);
    }
  } else if (awaiter) {
    resume(set, *awaiter, edge->owner, now);
    if (!entry.now->job && may_have_keepers(*entry.now)) keep(set, entry, edge->other);
  }
  return fired;
}

}  // namespace

Instant observe_instant(WorkingSet& set, Instant now, const Options& options) {
  Instant& seen = set.counters().now;
  seen = std::max(seen, now);
  set.drop_unblocks(saturating_sub(seen, options.unblock_retention));
  return seen;
}

void remove_delivered(WorkingSet& set, const OutboxMessage& message, Instant now, const Options& options) {
  set.remove_message(message.seq);
  WorkingSet::Entry* const entry = message.kind == MessageKind::execute ? set.follow(message.id) : nullptr;
  if (!entry || !entry->now->execute_waits || entry->now->execute_seq != message.seq) return;
  Row& row = set.edit(*entry);
  row.retry_at = shown_retry_at(row, now, options.retry_timeout);
  row.execute_waits = false;
  set.touched(*entry);
}

std::size_t steps_before(const Operation& operation) noexcept {
  const auto* claim = std::get_if<JobClaim>(&operation);
  return claim ? kStepsPerRequest + static_cast<std::size_t>(claim->count) : 0;
}

std::size_t steps_after(const Operation& operation) noexcept {
  const auto* completed = std::get_if<JobCompleteMany>(&operation);
  return kStepsPerRequest + (completed ? completed->jobs.size() : 0);
}

std::optional<Fired> run_step(WorkingSet& set, Instant now, const Options& options) {
  while (const auto next = set.next_due(now)) {
    if (next->schedule) {
      if (std::optional<Fired> fired = fire_schedule(set, *next->schedule, now, options)) return fired;
      continue;
    }
    WorkingSet::Entry& entry = *next->row;
    switch (next->due.kind) {
      case DueKind::drain:
        if (entry.now->listeners) return drain_listener(set, entry, now);
        if (entry.now->callbacks) return drain_callback(set, entry, now);
        if (std::optional<Fired> fired = cancel_awaited(set, entry, now)) return fired;
        continue;
      case DueKind::timeout:
        if (!entry.now->dead_at(now)) {
          // A release whose good_until also ended jobs that had started wrote it as the timer of such a job.
          set.edit(entry);
          set.touched(entry);
          continue;
        }
        return time_out(set, entry, now);
      case DueKind::retention: return reclaim(set, entry, now);
      case DueKind::lease:
      case DueKind::dispatch:
        if (entry.now->job && entry.now->job->group_state) return end_gathering(set, entry, now);
        if (entry.now->dead_at(now)) {
          // A row past its deadline has one step left, which is ordered by the deadline: so the row is queued again with that
          // instant.
          set.edit(entry);
          set.touched(entry, Due{entry.now->ends_at(), DueKind::timeout});
          continue;
        }
        if (entry.now->job)
          return next->due.kind == DueKind::lease ? end_attempt(set, entry, now) : make_job_ready(set, entry, now);
        return next->due.kind == DueKind::lease ? expire_lease(set, entry, now) : dispatch(set, entry, now, options);
      case DueKind::schedule:
      case DueKind::none: break;
    }
    throw Error(ErrorCode::storage, "storage returned the row \"" + entry.now->id() + "\" with an unknown kind of timer");
  }
  return std::nullopt;
}

}  // namespace resonate
