// State changes of jobs (JOBS 3), for requests and internal steps alike. Each function updates promise, task and job consistently
// (JOBS 1), the counts of the queue, and through touched() the row's timers. The table in job_transitions.hpp gives the new state.
// Callers check beforehand that the event applies to the job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/job_transitions.hpp"
#include "machine/working_set.hpp"

namespace resonate {

// Returns the job of a row from set.edit() for writing; copies it first if it is shared.
Job& edit_job(Row& row);

// Sets the state that the event leads to.
void move(Job& job, JobEvent event);
// No effect if no attempt is open.
void close_attempt(Job& job, Outcome outcome, Instant at, const JobError* error);

// waiting → scheduled, until process_at.
void postpone_job(WorkingSet& set, WorkingSet::Entry& entry);
// scheduled, waiting, retry, archived or held → pending.
void make_ready(WorkingSet& set, WorkingSet::Entry& entry, JobEvent event, Instant enqueued_at);
// pending → claimed, or → running if `start` is true.
void claim_job(WorkingSet& set, WorkingSet::Entry& entry, const Shared<const SharedString>& worker, Duration lease,
               Duration run_lease, bool start, Instant now);
void start_job(WorkingSet& set, WorkingSet::Entry& entry, Duration lease, Instant now);
void complete_job(WorkingSet& set, WorkingSet::Entry& entry, Value result, Instant now);
// Ends an attempt that did not succeed; the job retries, is archived or fails. `archive`: it is archived, whatever else holds.
void fail_attempt(WorkingSet& set, WorkingSet::Entry& entry, JobError error, Outcome outcome, bool retryable,
                  std::optional<Duration> retry_after, bool archive, Instant now);
// Adds to the report of a running job. The oldest lines give way to new ones.
void add_report(WorkingSet& set, WorkingSet::Entry& entry, std::optional<double> progress, std::vector<std::string> lines,
                Instant now);
void snooze_job(WorkingSet& set, WorkingSet::Entry& entry, Duration delay, Instant now);
// Ends a run; the next one has `args`, and takes its place among new work.
void start_over(WorkingSet& set, WorkingSet::Entry& entry, Value args, Instant now);
// `awaits`: the ids that the job lacks.
void suspend_job(WorkingSet& set, WorkingSet::Entry& entry, std::vector<std::string> awaits, Until until, Instant now);
void cancel_job(WorkingSet& set, WorkingSet::Entry& entry, Instant now);
// The same with the error that says why.
void cancel_job(WorkingSet& set, WorkingSet::Entry& entry, const JobError& error, Instant now);
void archive_job(WorkingSet& set, WorkingSet::Entry& entry);

// Returns whether an unfinished task that was notified of the job's settlement can still read its result.
bool has_pending_awaiter(const Job& job, WorkingSet& set, Instant now);

// Updates the counts of the queue for a job that was created, or is deleted.
void count_created(WorkingSet& set, const Job& job);
void count_deleted(WorkingSet& set, const Job& job);

// Updates the counts of a queue for a change of a job: construct it before the change, call change_to() afterwards.
class JobCount {
 public:
  explicit JobCount(const Job& job) noexcept;
  void change_to(WorkingSet& set, const Job& job) const;

 private:
  JobState state_;
  bool attempting_;
};

// Calls change(row, job) with both for writing, then updates the queue's counts and the row's timers.
template <class Change>
void change_job(WorkingSet& set, WorkingSet::Entry& entry, Change change) {
  Row& row = set.edit(entry);
  Job& job = edit_job(row);
  const JobCount before(job);
  change(row, job);
  before.change_to(set, job);
  set.touched(entry);
}

}  // namespace resonate
