// What happens to a row when its job goes from one state to another (JOBS 3), for requests and internal steps alike. Each function
// leaves promise, task and job in agreement (JOBS 1), the counts of the queue with them, and the row's timers to touched(). Where
// an event takes a job says the table (job_transitions.hpp); that it may meet the job has been asked before.
#pragma once

#include <optional>

#include "machine/job_transitions.hpp"
#include "machine/working_set.hpp"

namespace resonate {

// The job of a row that set.edit() gave: a copy of its own unless nobody else holds it.
Job& edit_job(Row& row);

// To where the event takes it.
void move(Job& job, JobEvent event);
// Without effect where no attempt is open.
void close_attempt(Job& job, Outcome outcome, Instant at, const JobError* error);

// scheduled, retry, archived or held → pending.
void make_ready(WorkingSet& set, WorkingSet::Entry& entry, JobEvent event, Instant enqueued_at);
// pending → claimed, or running where it starts at once.
void claim_job(WorkingSet& set, WorkingSet::Entry& entry, const Shared<const SharedString>& worker, Duration lease,
               Duration run_lease, bool start, Instant now);
void start_job(WorkingSet& set, WorkingSet::Entry& entry, Duration lease, Instant now);
void complete_job(WorkingSet& set, WorkingSet::Entry& entry, Value result, Instant now);
// An attempt that did not succeed: another follows, or none.
void fail_attempt(WorkingSet& set, WorkingSet::Entry& entry, JobError error, Outcome outcome, bool retryable,
                  std::optional<Duration> retry_after, Instant now);
void snooze_job(WorkingSet& set, WorkingSet::Entry& entry, Duration delay, Instant now);
void cancel_job(WorkingSet& set, WorkingSet::Entry& entry, Instant now);
void archive_job(WorkingSet& set, WorkingSet::Entry& entry);

// Whether a task that was told of the job's end is not over, so that it may read it again.
bool may_be_read_again(const Job& job, WorkingSet& set, Instant now);

// Counts a job that is new, or one that goes.
void count_job(WorkingSet& set, const Job& job, int by);

// The counters of a queue that a change of a job moves: construct it before the change, ask it afterwards.
class JobCount {
 public:
  explicit JobCount(const Job& job) noexcept;
  void change_to(WorkingSet& set, const Job& job) const;

 private:
  JobState state_;
  bool attempting_;
};

// Calls change(row, job), both to be written to; the counts of the queue and the row's timers follow.
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
