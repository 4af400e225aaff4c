// What happens to a row when its job goes from one state to another (JOBS 3), for requests and internal steps alike. Each function
// leaves promise, task and job in agreement (JOBS 1), the counts of the queue with them, and the row's timers to touched().
#pragma once

#include <optional>

#include "machine/working_set.hpp"

namespace resonate {

// The job of a row that set.edit() gave: a copy of its own unless nobody else holds it.
Job& edit_job(Row& row);

// scheduled, retry, archived or held → pending.
void make_ready(WorkingSet& set, WorkingSet::Entry& entry, Instant enqueued_at);
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
void expire_job(WorkingSet& set, WorkingSet::Entry& entry);
// The promise is being settled, from outside or by its deadline, and the job with it.
void settle_job(WorkingSet& set, Row& row, PromiseState state, Instant at);

// Counts a job that is new, or one that goes.
void count_job(WorkingSet& set, const Job& job, int by);

}  // namespace resonate
