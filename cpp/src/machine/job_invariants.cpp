#include "machine/job_invariants.hpp"

#include <string>

#include "machine/job_transitions.hpp"
#include "machine/quoted.hpp"

namespace resonate {

namespace {

std::string described(const Row& row) {
  const Job& job = *row.job;
  return "job " + std::string(name_of(job.state)) + ", promise " + std::string(name_of(row.state)) + ", task " +
         std::string(name_of(row.task)) + ", version " + std::to_string(row.acquisitions) + ", attempts " +
         std::to_string(job.attempt_count) + ", sentAt " + instant_text(job.spec->sent_at) + ", enqueuedAt " +
         instant_text(job.enqueued_at) + ", claimedAt " + instant_text(job.claimed_at) + ", startedAt " +
         instant_text(job.started_at) + ", settledAt " + instant_text(row.settled_at);
}

// Compares the three states with the table of JOBS 1.
bool agrees(const Row& row) noexcept {
  switch (row.job->state) {
    case JobState::scheduled:
    case JobState::retry:
    case JobState::pending: return row.state == PromiseState::pending && row.task == TaskState::pending;
    case JobState::waiting: return row.state == PromiseState::pending && row.task == TaskState::suspended;
    case JobState::claimed:
    case JobState::running: return row.state == PromiseState::pending && row.task == TaskState::acquired;
    case JobState::archived: return row.state == PromiseState::pending && row.task == TaskState::halted;
    case JobState::completed: return row.state == PromiseState::resolved && row.task == TaskState::fulfilled;
    case JobState::cancelled: return row.state == PromiseState::rejected_canceled && row.task == TaskState::fulfilled;
    case JobState::expired: return row.state == PromiseState::rejected && row.task == TaskState::fulfilled;
    case JobState::failed:
      return (row.state == PromiseState::rejected || row.state == PromiseState::rejected_timedout) &&
             row.task == TaskState::fulfilled;
  }
  return false;
}

// Returns whether the instants that are set never decrease.
bool in_order(std::initializer_list<Instant> instants) noexcept {
  Instant last = kUnset;
  for (const Instant instant : instants) {
    if (instant == kUnset) continue;
    if (instant < last) return false;
    last = instant;
  }
  return true;
}

bool timestamps_agree(const Row& row) noexcept {
  const Job& job = *row.job;
  const bool held = is_held(job.state);
  if ((job.state == JobState::pending) != (job.enqueued_at != kUnset) && !held && !is_terminal(job.state)) return false;
  if (held && (job.claimed_at == kUnset || job.enqueued_at == kUnset)) return false;
  if ((job.state == JobState::running) != (job.started_at != kUnset) && !is_terminal(job.state)) return false;
  if (job.state == JobState::retry && job.next_retry_at != row.retry_at) return false;
  if (job.state == JobState::scheduled && !job.gathering && job.process_at != row.retry_at) return false;
  if ((job.state == JobState::retry) != (job.next_retry_at != kUnset)) return false;
  return (job.state == JobState::completed) == (job.completed_at != kUnset) &&
         (job.state == JobState::cancelled) == (job.cancelled_at != kUnset) &&
         (job.state == JobState::expired) == (job.expired_at != kUnset);
}

bool attempts_agree(const Job& job) noexcept {
  const auto kept = static_cast<std::int64_t>(job.attempts.size());
  if (job.attempt_count < kept) return false;
  std::int64_t number = job.attempt_count - kept;
  for (std::size_t i = 0; i < job.attempts.size(); ++i) {
    const Attempt& attempt = job.attempts[i];
    const bool open = attempt.outcome == Outcome::open;
    if (attempt.number != ++number || open != (attempt.finished_at == kUnset)) return false;
    if (open && (i + 1 < job.attempts.size() || job.state != JobState::running)) return false;
    if (!open && attempt.finished_at < attempt.started_at) return false;
  }
  return job.state != JobState::running || (!job.attempts.empty() && job.attempts.back().outcome == Outcome::open &&
                                            job.attempts.back().started_at == job.started_at);
}

// A gathering job is scheduled and in a batch of its group; exactly one of them, the leader, has the timer.
bool gathering_agrees(const Row& row) noexcept {
  const Job& job = *row.job;
  if (job.group_state && !job.gathering) return false;
  if (!job.gathering) return true;
  if (job.state != JobState::scheduled || !job.spec->group || !job.batch || job.enqueued_at != kUnset) return false;
  if (!job.group_state) return row.retry_at == row.promise_spec->timeout_at;
  return job.group_state->count >= 1 && job.group_state->first_at <= job.group_state->last_at &&
         job.group_state->last_at <= row.retry_at;
}

// The instant at which a finished job ended; kUnset for others.
Instant ended_at(const Job& job) noexcept {
  Instant Job::*const instant = end_instant(job.state);
  return instant ? job.*instant : kUnset;
}

}  // namespace

void check_job(const Row& row, std::vector<Violation>& found) {
  const Job& job = *row.job;
  const auto require = [&](bool holds, const char* name) {
    if (!holds) found.push_back({name, row.id(), described(row)});
  };
  require(agrees(row), "job_states_disagree");
  require(in_order({job.enqueued_at, job.claimed_at, job.started_at, job.completed_at}) &&
              in_order({job.started_at, job.state == JobState::failed ? job.failed_at : kUnset}) &&
              in_order({job.spec->sent_at, job.enqueued_at}),
          "job_timestamps_out_of_order");
  require(timestamps_agree(row), "job_timestamps_mismatch");
  require(attempts_agree(job), "job_attempt_without_start");
  require(job.attempt_count <= row.acquisitions, "job_attempts_beyond_claims");
  require(job.retry_count <= job.spec->max_retries, "job_retries_beyond_limit");
  require(job.reclaim_at == kUnset || is_terminal(job.state), "job_reclaimed_before_end");
  require(row.external, "job_not_external");
  require(gathering_agrees(row), "job_group_mismatch");
  require(ended_at(job) == row.settled_at, "job_end_mismatch");
  require((job.state == JobState::waiting) != job.awaits.empty() && (job.state == JobState::waiting || !job.until),
          "job_waits_for_nothing");
}

void check_job_step(const Row& before, const Row& after, Instant now, std::vector<Violation>& found) {
  const auto require = [&](bool holds, const char* name, const std::string& detail) {
    if (!holds) found.push_back({name, after.id(), detail});
  };
  if (!after.job) return require(false, "job_lost", "the promise no longer has a job");
  if (!before.job) return;  // enqueued on an existing promise
  const Job& was = *before.job;
  const Job& is = *after.job;
  const std::string edge = std::string(name_of(was.state)) + " to " + std::string(name_of(is.state));
  require(was.spec == is.spec, "job_spec_changed", "the spec of a job never changes");
  require(!is_terminal(was.state) || was.state == is.state, "job_terminal_moved", edge);
  require(job_edge_allowed(was.state, is.state), "job_edge_not_allowed", edge);
  const bool claimed = was.state == JobState::pending && is_held(is.state);
  require(claimed == (after.acquisitions != before.acquisitions) && after.acquisitions <= saturating_add(before.acquisitions, 1),
          "job_version_moved", edge);
  require(!is_held(is.state) || claimed || is_held(was.state), "job_claimed_twice", edge);
  const bool kept = is_held(was.state) && is_held(is.state);
  require(!kept || (before.pid->text == after.pid->text && was.claimed_at == is.claimed_at), "job_holder_changed", edge);
  require(!was.batch || was.gathering || (is.batch && is.batch->text == was.batch->text), "job_batch_changed", edge);
  const bool renewed = is_held(is.state) && before.expires_at != after.expires_at;
  require(!renewed || after.expires_at == saturating_add(now, after.ttl), "job_lease_mismatch",
          edge + ", now " + std::to_string(now) + ", ttl " + std::to_string(after.ttl) + ", expiresAt " +
              instant_text(after.expires_at));
  // A new child, or a new run, sets it to 0.
  const bool begins_anew =
      was.state == JobState::running && is.retry_count == 0 && (is.made > was.made || is.restarts > was.restarts);
  require(begins_anew || is.retry_count ==
                             saturating_add(was.retry_count, was.state == JobState::running && is.state == JobState::retry ? 1 : 0),
          "job_retry_count_moved", edge);
}

void JobSetCheck::add(const RowRef& row, Instant now) {
  const Job& job = *row->job;
  ++by_queue_[job.spec->queue][static_cast<std::size_t>(job.state)];
  if (!row->dead_at(now) && job.holds_unique_key(now)) keys_[{job.spec->queue, *job.spec->unique_key}].push_back(row->id());
  if (!job.gathering) return;
  Gathered& gathered = gathered_[{job.spec->queue, job.spec->type, job.spec->group ? job.spec->group->text : std::string()}];
  ++gathered.jobs;
  gathered.batches.insert(job.batch ? job.batch->text : std::string());
  if (!job.group_state) return;
  ++gathered.leaders;
  gathered.counted = job.group_state->count;
}

void JobSetCheck::check(const std::vector<QueueRef>& queues, std::vector<Violation>& found) {
  for (const QueueRef& queue : queues) {
    check_queue(*queue, by_queue_[queue->name], found);
    by_queue_.erase(queue->name);
  }
  for (const auto& [name, counts] : by_queue_)
    found.push_back({"queue_missing", name, "jobs of this queue exist, but the queue does not"});
  for (const auto& [key, holders] : keys_)
    if (holders.size() > 1)
      found.push_back(
          {"job_unique_twice", holders.back(), "key " + quoted(key.second) + " is held by " + quoted(holders.front()) + " too"});
  for (const auto& [key, gathered] : gathered_) {
    if (gathered.leaders == 1 && gathered.batches.size() == 1 && gathered.counted == gathered.jobs) continue;
    found.push_back({"job_flight_count", std::get<2>(key),
                     std::to_string(gathered.jobs) + " jobs gather, " + std::to_string(gathered.counted) + " counted, leaders " +
                         std::to_string(gathered.leaders) + ", batches " + std::to_string(gathered.batches.size())});
  }
}

void JobSetCheck::check_queue(const Queue& queue, const Counts& found_jobs, std::vector<Violation>& found) {
  for (std::size_t i = 0; i < kJobStates; ++i) {
    if (queue.counts[i] == found_jobs[i]) continue;
    found.push_back({"queue_count_mismatch", queue.name,
                     std::to_string(queue.counts[i]) + " " + std::string(name_of(static_cast<JobState>(i))) + " counted, " +
                         std::to_string(found_jobs[i]) + " found"});
  }
}

}  // namespace resonate
