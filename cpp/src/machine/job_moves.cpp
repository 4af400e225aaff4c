#include "machine/job_moves.hpp"

#include <algorithm>
#include <utility>

#include "machine/calendar.hpp"
#include "machine/job_events.hpp"
#include "machine/job_groups.hpp"
#include "machine/job_policy.hpp"
#include "machine/job_waiting.hpp"
#include "machine/settle.hpp"

namespace resonate {

namespace {

constexpr Duration kDay = 86'400'000;

bool has_open_attempt(const Job& job) noexcept { return !job.attempts.empty() && job.attempts.back().outcome == Outcome::open; }

// A restored state can contain any number, so the sum saturates; check() reports wrong counts.
void count(Queue& queue, JobState state, int by) {
  std::int64_t& counted = queue.counts[static_cast<std::size_t>(state)];
  counted = saturating_add(counted, by);
}

void count_run(Queue& queue, Instant at, bool failed) {
  auto& days = queue.days;
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

// When the present change of a job happened; `now` if the job does not say it.
Instant instant_of(const Job& job, bool started, const Attempt* closed, Instant now) {
  if (started) return job.started_at;
  if (closed) return closed->finished_at;
  Instant Job::*const end = end_instant(job.state);
  return end ? job.*end : now;
}

void open_attempt(Job& job, const Shared<const SharedString>& worker, Instant now) {
  Attempt attempt;
  attempt.number = job.attempt_count = saturating_add(job.attempt_count, 1);
  attempt.worker = worker;
  attempt.started_at = now;
  if (job.attempts.size() == kAttemptsKept) job.attempts.erase(job.attempts.begin());
  job.attempts.push_back(std::move(attempt));
  job.started_at = now;
  if (job.report && job.report->progress) {  // that of the attempt before
    Shared<WorkReport> kept(new WorkReport(*job.report));
    kept->progress.reset();
    job.report = std::move(kept);
  }
}

// Clears the members of a held or runnable job.
void clear_claim(Job& job) {
  job.claimed_at = kUnset;
  job.run_lease = 0;
  job.started_at = kUnset;
  job.enqueued_at = kUnset;
}

// Makes the task pending, with its timer at `at`.
void wait_until(Row& row, Instant at) {
  clear_task(row, TaskState::pending);
  row.retry_at = at;
}

}  // namespace

Job& edit_job(Row& row) {
  if (!row.job->is_unshared()) row.job = Shared<const Job>(new Job(*row.job));
  return const_cast<Job&>(*row.job);
}

void move(Job& job, JobEvent event) {
  job.state = *transition(event).to;
  job.awaits.clear();
  job.until.reset();
}

void close_attempt(Job& job, Outcome outcome, Instant at, const JobError* error) {
  if (!has_open_attempt(job)) return;
  Attempt& attempt = job.attempts.back();
  attempt.outcome = outcome;
  attempt.finished_at = at;
  if (error) attempt.error = *error;
}

void count_created(WorkingSet& set, const Job& job) {
  WorkingSet::QueueEntry& entry = set.edit_queue_entry(job.spec->queue);
  count(const_cast<Queue&>(*entry.now), job.state, 1);
  JobEvents(set, entry, set.counters().now).created();
}

void count_deleted(WorkingSet& set, const Job& job) { count(set.edit_queue(job.spec->queue), job.state, -1); }

JobCount::JobCount(const Job& job) noexcept : state_(job.state), attempting_(has_open_attempt(job)) {}

void JobCount::change_to(WorkingSet& set, const Job& job) const {
  WorkingSet::QueueEntry& entry = set.edit_queue_entry(job.spec->queue);
  Queue& queue = const_cast<Queue&>(*entry.now);
  count(queue, state_, -1);
  count(queue, job.state, 1);
  const bool attempts = has_open_attempt(job);
  const Attempt* const closed = attempting_ && !attempts ? &job.attempts.back() : nullptr;
  const bool started = attempts && !attempting_;
  if (state_ == job.state && !started && !closed) return;
  JobEvents events(set, entry, instant_of(job, started, closed, set.counters().now));
  if (started) events.started(job);
  if (closed) events.ended(*closed);
  if (state_ != job.state) events.entered(job.state, closed ? JobEvents::Attempted::yes : JobEvents::Attempted::no);
  if (closed && counts_as_run(closed->outcome)) count_run(queue, closed->finished_at, closed->outcome != Outcome::completed);
}

bool has_pending_awaiter(const Job& job, WorkingSet& set, Instant now) {
  return std::any_of(job.awaiters.begin(), job.awaiters.end(), [&](const std::string& id) {
    const WorkingSet::Entry* const awaiter = set.follow(id);
    return awaiter && awaiter->now->pending_at(now);
  });
}

void postpone_job(WorkingSet& set, WorkingSet::Entry& entry) {
  change_job(set, entry, [](Row& row, Job& job) {
    move(job, JobEvent::postpone);
    wait_until(row, job.process_at);
  });
}

void make_ready(WorkingSet& set, WorkingSet::Entry& entry, JobEvent event, Instant enqueued_at) {
  leave_group(set, entry);
  leave_awaits(set, entry);
  change_job(set, entry, [&](Row& row, Job& job) {
    move(job, event);
    clear_claim(job);
    job.next_retry_at = kUnset;
    job.enqueued_at = enqueued_at;
    wait_until(row, row.promise_spec->timeout_at);
  });
}

void claim_job(WorkingSet& set, WorkingSet::Entry& entry, const Shared<const SharedString>& worker, Duration lease,
               Duration run_lease, bool start, Instant now) {
  change_job(set, entry, [&](Row& row, Job& job) {
    move(job, start ? JobEvent::claim_and_start : JobEvent::claim);
    job.run_lease = start ? 0 : run_lease;
    job.claimed_at = now;
    clear_task(row, TaskState::acquired);
    row.acquisitions = saturating_add(row.acquisitions, 1);
    row.pid = worker;
    row.ttl = start ? run_lease : lease;
    row.expires_at = saturating_add(now, row.ttl);
    if (start) open_attempt(job, worker, now);
  });
}

void start_job(WorkingSet& set, WorkingSet::Entry& entry, Duration lease, Instant now) {
  change_job(set, entry, [&](Row& row, Job& job) {
    move(job, JobEvent::start);
    job.run_lease = 0;
    row.ttl = lease;
    row.expires_at = saturating_add(now, lease);
    open_attempt(job, row.pid, now);
  });
}

void add_report(WorkingSet& set, WorkingSet::Entry& entry, std::optional<double> progress, std::vector<std::string> lines,
                Instant now) {
  Job& job = edit_job(set.edit(entry));
  Shared<WorkReport> report(job.report ? new WorkReport(*job.report) : new WorkReport);
  report->at = now;
  if (progress) report->progress = progress;
  for (std::string& line : lines) report->lines.push_back({now, job.attempt_count, std::move(line)});
  if (const std::size_t size = report->lines.size(); size > kLinesKept)
    report->lines.erase(report->lines.begin(), report->lines.begin() + static_cast<std::ptrdiff_t>(size - kLinesKept));
  job.report = std::move(report);
  set.touched(entry);
}

void complete_job(WorkingSet& set, WorkingSet::Entry& entry, Value result, Instant now) {
  Settlement end{.at = now, .event = JobEvent::complete};
  end.value = shared_value(std::move(result));
  settle(set, entry, std::move(end));
}

void fail_attempt(WorkingSet& set, WorkingSet::Entry& entry, JobError error, Outcome outcome, bool retryable,
                  std::optional<Duration> retry_after, bool archive, Instant now) {
  const Job& failed = *entry.now->job;
  const RetryPolicy& policy = failed.spec->policy;
  if (!archive && retryable && failed.retry_count < failed.spec->max_retries && retries_after(policy, error.code)) {
    const Duration delay =
        retry_after ? *retry_after : retry_delay(policy, failed.batch ? failed.batch->text : entry.now->id(), failed.retry_count);
    return change_job(set, entry, [&](Row& row, Job& job) {
      close_attempt(job, outcome, now, &error);
      move(job, JobEvent::retry);
      clear_claim(job);
      job.retry_count = saturating_add(job.retry_count, 1);
      job.next_retry_at = saturating_add(now, delay);
      job.error = std::move(error);
      wait_until(row, job.next_retry_at);
    });
  }
  if (archive || failed.spec->on_exhausted == OnExhausted::archived || (failed.spec->workflow && outcome == Outcome::crashed)) {
    return change_job(set, entry, [&](Row& row, Job& job) {
      close_attempt(job, outcome, now, &error);
      move(job, JobEvent::exhaust);
      clear_claim(job);
      job.failed_at = now;
      job.error = std::move(error);
      clear_task(row, TaskState::halted);
    });
  }
  settle(set, entry,
         {.state = PromiseState::rejected,
          .at = now,
          .value = shared_value(error_value(error)),
          .event = JobEvent::fail,
          .outcome = outcome,
          .error = &error});
}

void snooze_job(WorkingSet& set, WorkingSet::Entry& entry, Duration delay, Instant now) {
  change_job(set, entry, [&](Row& row, Job& job) {
    close_attempt(job, Outcome::snoozed, now, nullptr);
    move(job, JobEvent::snooze);
    clear_claim(job);
    job.process_at = saturating_add(now, delay);
    wait_until(row, job.process_at);
  });
}

void start_over(WorkingSet& set, WorkingSet::Entry& entry, Value args, Instant now) {
  change_job(set, entry, [&](Row& row, Job& job) {
    close_attempt(job, Outcome::completed, now, nullptr);
    move(job, JobEvent::start_over);
    clear_claim(job);
    job.enqueued_at = now;
    job.first_enqueued_at = kUnset;
    job.retry_count = 0;
    job.steps = 0;
    job.restarts = saturating_add(job.restarts, 1);
    job.args = Shared<const SharedValue>(new SharedValue(std::move(args)));
    job.failed_at = kUnset;
    job.error.reset();
    wait_until(row, row.promise_spec->timeout_at);
  });
}

void suspend_job(WorkingSet& set, WorkingSet::Entry& entry, std::vector<std::string> awaits, Until until, Instant now) {
  change_job(set, entry, [&](Row& row, Job& job) {
    if (job.first_enqueued_at == kUnset) job.first_enqueued_at = job.enqueued_at;
    close_attempt(job, Outcome::suspended, now, nullptr);
    move(job, JobEvent::suspend);
    clear_claim(job);
    job.awaits = IdList(std::move(awaits));
    job.until = until;
    clear_task(row, TaskState::suspended);
  });
}

void cancel_job(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  cancel_job(set, entry, *settlement(PromiseState::rejected_canceled, now).error, now);
}

void cancel_job(WorkingSet& set, WorkingSet::Entry& entry, const JobError& error, Instant now) {
  Settlement end = settlement(PromiseState::rejected_canceled, now);
  end.error = &error;
  end.value = shared_value(error_value(error));
  settle(set, entry, std::move(end));
}

void archive_job(WorkingSet& set, WorkingSet::Entry& entry) {
  leave_group(set, entry);
  leave_awaits(set, entry);
  change_job(set, entry, [](Row& row, Job& job) {
    move(job, JobEvent::archive);
    clear_claim(job);
    job.next_retry_at = kUnset;
    clear_task(row, TaskState::halted);
  });
}

}  // namespace resonate
