// Settling a row: used by requests, by internal steps, and by replies that show a row whose last step is due.
#pragma once

#include "machine/job_transitions.hpp"
#include "machine/working_set.hpp"

namespace resonate {

struct Settlement {
  PromiseState state = PromiseState::resolved;
  Instant at = 0;
  Shared<const SharedValue> value = {};
  Shared<const SharedString> iku = {};
  // For the row's job, if it has one, and its open attempt.
  JobEvent event = JobEvent::resolve;
  Outcome outcome = Outcome::completed;
  const JobError* error = nullptr;  // null: it succeeded
};

// The settlement of a promise by a client or by its deadline; it also suits a job's promise.
Settlement settlement(PromiseState state, Instant at);

// Settles the row's promise, task and job.
void settle(WorkingSet& set, WorkingSet::Entry& entry, Settlement settlement);
// Runs the last step of a row that is dead at some instant: its deadline, or the good_until of its job.
void run_last_step(WorkingSet& set, WorkingSet::Entry& entry);

// The row as replies show it at an instant (PROTOCOL 1.2): the row itself, or if it is dead, a copy on which its last step has run.
RowRef shown_at(const RowRef& row, Instant now);
// The job's state in that row.
JobState job_state_at(const Row& row, Instant now) noexcept;

void clear_task(Row& row, TaskState state);

}  // namespace resonate
