#include "machine/job_moves.hpp"

#include <algorithm>
#include <utility>

#include "calendar.hpp"
#include "machine/derive.hpp"
#include "machine/job_groups.hpp"
#include "machine/job_policy.hpp"
#include "machine/machine.hpp"

namespace resonate {

namespace {

constexpr Duration kDay = 86'400'000;

// Numbers of a restored state may be anything; check() says what is wrong with them.
void count(Queue& queue, JobState state, int by) {
  std::int64_t& counted = queue.counts[static_cast<std::size_t>(state)];
  counted = saturating_add(counted, by);
}

void move(WorkingSet& set, Job& job, JobState to) {
  Queue& queue = set.edit_queue(job.spec->queue);
  count(queue, job.state, -1);
  count(queue, to, 1);
  job.state = to;
}

void count_run(WorkingSet& set, const Job& job, Instant at, bool failed) {
  auto& days = set.edit_queue(job.spec->queue).days;
  const std::int64_t day = calendar::floor_div(at, kDay);
  auto place = std::lower_bound(days.begin(), days.end(), day, [](const QueueDay& a, std::int64_t b) { return a.day < b; });
  if (place == days.end() || place->day != day) {
    place = days.insert(place, QueueDay{day, 0, 0});
    if (days.size() > kDaysKept) {
      if (place == days.begin()) return days.erase(place), void();
      days.erase(days.begin());
      place = std::lower_bound(days.begin(), days.end(), day, [](const QueueDay& a, std::int64_t b) { return a.day < b; });
    }
  }
  place->processed = saturating_add(place->processed, 1);
  if (failed) place->failed = saturating_add(place->failed, 1);
}

void open_attempt(Job& job, const Shared<const SharedString>& worker, Instant now) {
  Attempt attempt;
  attempt.number = job.attempt_count = saturating_add(job.attempt_count, 1);
  attempt.worker = worker;
  attempt.started_at = now;
  if (job.attempts.size() == kAttemptsKept) job.attempts.erase(job.attempts.begin());
  job.attempts.push_back(std::move(attempt));
  job.started_at = now;
}

void close_attempt(WorkingSet& set, Job& job, Outcome outcome, Instant at, const JobError* error) {
  if (job.attempts.empty() || job.attempts.back().outcome != Outcome::open) return;
  Attempt& attempt = job.attempts.back();
  attempt.outcome = outcome;
  attempt.finished_at = at;
  if (error) attempt.error = *error;
  if (outcome != Outcome::snoozed && outcome != Outcome::cancelled) count_run(set, job, at, outcome != Outcome::completed);
}

// A job that nobody holds, and that nobody may claim yet.
void put_back(Job& job) {
  job.claimed_at = kUnset;
  job.run_lease = 0;
  job.started_at = kUnset;
  job.enqueued_at = kUnset;
}

void set_retention(Job& job) {
  if (job.spec->retention != kKept) job.reclaim_at = saturating_add(job.completed_at, job.spec->retention);
}

// Its task waits for that instant.
void wait_until(Row& row, Instant at) {
  clear_task(row, TaskState::pending);
  row.retry_at = at;
}

void end_with_error(WorkingSet& set, Job& job, JobState to, Instant at, const JobError& error) {
  move(set, job, to);
  job.run_lease = 0;
  (to == JobState::failed ? job.failed_at : to == JobState::cancelled ? job.cancelled_at : job.expired_at) = at;
  job.next_retry_at = kUnset;
  job.error = error;
}

const JobError& cancelled_error() {
  static const JobError kError{"Cancelled", "the job was cancelled", {}};
  return kError;
}

const JobError& rejected_error() {
  static const JobError kError{"Rejected", "the promise was rejected from outside", {}};
  return kError;
}

Shared<const SharedValue> shared(Value value) { return Shared<const SharedValue>(new SharedValue(std::move(value))); }

}  // namespace

Job& edit_job(Row& row) {
  if (!row.job->held_once()) row.job = Shared<const Job>(new Job(*row.job));
  return const_cast<Job&>(*row.job);
}

void count_job(WorkingSet& set, const Job& job, int by) { count(set.edit_queue(job.spec->queue), job.state, by); }

void make_ready(WorkingSet& set, WorkingSet::Entry& entry, Instant enqueued_at) {
  leave_group(set, entry);
  Row& row = set.edit(entry);
  Job& job = edit_job(row);
  move(set, job, JobState::pending);
  put_back(job);
  job.next_retry_at = kUnset;
  job.enqueued_at = enqueued_at;
  wait_until(row, row.birth->timeout_at);
  set.touched(entry);
}

void claim_job(WorkingSet& set, WorkingSet::Entry& entry, const Shared<const SharedString>& worker, Duration lease,
               Duration run_lease, bool start, Instant now) {
  Row& row = set.edit(entry);
  Job& job = edit_job(row);
  if (start) lease = run_lease;
  job.run_lease = start ? 0 : run_lease;
  move(set, job, start ? JobState::running : JobState::claimed);
  job.claimed_at = now;
  clear_task(row, TaskState::acquired);
  row.acquisitions = saturating_add(row.acquisitions, 1);
  row.pid = worker;
  row.ttl = lease;
  row.expires_at = saturating_add(now, lease);
  if (start) open_attempt(job, worker, now);
  set.touched(entry);
}

void start_job(WorkingSet& set, WorkingSet::Entry& entry, Duration lease, Instant now) {
  Row& row = set.edit(entry);
  Job& job = edit_job(row);
  move(set, job, JobState::running);
  job.run_lease = 0;
  row.ttl = lease;
  row.expires_at = saturating_add(now, lease);
  open_attempt(job, row.pid, now);
  set.touched(entry);
}

void complete_job(WorkingSet& set, WorkingSet::Entry& entry, Value result, Instant now) {
  settle(set, entry, PromiseState::resolved, now, result.empty() ? nullptr : shared(std::move(result)), nullptr);
}

void fail_attempt(WorkingSet& set, WorkingSet::Entry& entry, JobError error, Outcome outcome, bool retryable,
                  std::optional<Duration> retry_after, Instant now) {
  Row& row = set.edit(entry);
  Job& job = edit_job(row);
  close_attempt(set, job, outcome, now, &error);
  const RetryPolicy& policy = job.spec->policy;
  if (retryable && job.retry_count < job.spec->max_retries && retries_after(policy, error.code)) {
    const Duration delay =
        retry_after ? *retry_after : retry_delay(policy, job.batch ? job.batch->text : row.id(), job.retry_count);
    move(set, job, JobState::retry);
    put_back(job);
    job.retry_count = saturating_add(job.retry_count, 1);
    job.next_retry_at = saturating_add(now, delay);
    job.error = std::move(error);
    wait_until(row, job.next_retry_at);
    set.touched(entry);
    return;
  }
  if (job.spec->on_exhausted == OnExhausted::archived) {
    move(set, job, JobState::archived);
    put_back(job);
    job.failed_at = now;
    job.error = std::move(error);
    clear_task(row, TaskState::halted);
    set.touched(entry);
    return;
  }
  end_with_error(set, job, JobState::failed, now, error);
  settle(set, entry, PromiseState::rejected, now, shared(error_value(error)), nullptr);
}

void snooze_job(WorkingSet& set, WorkingSet::Entry& entry, Duration delay, Instant now) {
  Row& row = set.edit(entry);
  Job& job = edit_job(row);
  close_attempt(set, job, Outcome::snoozed, now, nullptr);
  move(set, job, JobState::scheduled);
  put_back(job);
  job.process_at = saturating_add(now, delay);
  wait_until(row, job.process_at);
  set.touched(entry);
}

void cancel_job(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  settle(set, entry, PromiseState::rejected_canceled, now, shared(error_value(cancelled_error())), nullptr);
}

void archive_job(WorkingSet& set, WorkingSet::Entry& entry) {
  leave_group(set, entry);
  Row& row = set.edit(entry);
  Job& job = edit_job(row);
  move(set, job, JobState::archived);
  put_back(job);
  job.next_retry_at = kUnset;
  clear_task(row, TaskState::halted);
  set.touched(entry);
}

void expire_job(WorkingSet& set, WorkingSet::Entry& entry) {
  const Instant at = entry.now->ends_at();
  end_with_error(set, edit_job(set.edit(entry)), JobState::expired, at, expired_job_error());
  settle(set, entry, PromiseState::rejected, at, shared(expired_job_value()), nullptr);
}

void settle_job(WorkingSet& set, Row& row, PromiseState state, Instant at) {
  Job& job = edit_job(row);
  switch (state) {
    case PromiseState::resolved:
      close_attempt(set, job, Outcome::completed, at, nullptr);
      move(set, job, JobState::completed);
      job.run_lease = 0;
      job.completed_at = at;
      job.failed_at = kUnset;
      job.next_retry_at = kUnset;
      job.error.reset();
      set_retention(job);
      return;
    case PromiseState::rejected_canceled:
      close_attempt(set, job, Outcome::cancelled, at, nullptr);
      return end_with_error(set, job, JobState::cancelled, at, cancelled_error());
    case PromiseState::rejected_timedout:
      close_attempt(set, job, Outcome::timed_out, at, &deadline_job_error());
      return end_with_error(set, job, JobState::failed, at, deadline_job_error());
    case PromiseState::rejected:
    case PromiseState::pending:
      close_attempt(set, job, Outcome::failed, at, &rejected_error());
      return end_with_error(set, job, JobState::failed, at, rejected_error());
  }
}

}  // namespace resonate
