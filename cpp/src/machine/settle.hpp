// Settling: what it makes of a row, whether a request asks for it, a step takes it, or a reply shows a row whose last step is due.
#pragma once

#include "machine/job_transitions.hpp"
#include "machine/working_set.hpp"

namespace resonate {

struct Settlement {
  PromiseState state = PromiseState::resolved;
  Instant at = 0;
  Shared<const SharedValue> value = {};
  Shared<const SharedString> iku = {};
  // Of its job, if it is one, and of the attempt that runs.
  JobEvent event = JobEvent::resolve;
  Outcome outcome = Outcome::completed;
  const JobError* error = nullptr;  // null: it ended well
};

// As a promise is settled by a client or by its deadline, whether or not it is a job.
Settlement settlement(PromiseState state, Instant at);

// Settles the row, and its task and job with it.
void settle(WorkingSet& set, WorkingSet::Entry& entry, Settlement settlement);
// The last step of a row that is dead at some instant: its deadline, or the good_until of its job.
void settle_dead(WorkingSet& set, WorkingSet::Entry& entry);

// The row as every reply shows it at an instant (PROTOCOL 1.2): itself, or once it is dead a copy for which its last step was
// taken.
RowRef shown_at(const RowRef& row, Instant now);
// The state of its job in it.
JobState job_state_at(const Row& row, Instant now) noexcept;

void clear_task(Row& row, TaskState state);

}  // namespace resonate
