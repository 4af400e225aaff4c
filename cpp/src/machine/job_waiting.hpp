// Jobs that wait for other promises (JOBS 8). A job that a waiting job has waited for is kept until that one is final: keepers.hpp.
#pragma once

#include <string>
#include <vector>

#include "machine/working_set.hpp"

namespace resonate {

// Ends the wait of a job for a promise that has just been settled, as far as the job lacks it. Returns whether the job lacked it
// and is not cancelled because of it: it can read the outcome later.
bool wake_job(WorkingSet& set, WorkingSet::Entry& waiting, const Row& settled, Instant now);

// Ids without those that come again; the ids of rows.
std::vector<std::string> distinct(const std::vector<std::string>& ids);
std::vector<std::string> ids_of(const std::vector<WorkingSet::Entry*>& entries);

// Takes back the callbacks of what a job lacks; call it before a waiting job changes its state or is removed. No effect on others.
// `cancelled`: the job is about to be cancelled. Callbacks that cancel what they await stay then: further steps take them.
void leave_awaits(WorkingSet& set, WorkingSet::Entry& job, bool cancelled = false);

// The error of a job that is cancelled because of a promise in its `after`, which is settled and not resolved at `now`.
JobError dependency_failed(const Row& settled, Instant now);

// Removes a job without children and messages, with its keepers, and counts it as deleted.
void remove_job(WorkingSet& set, WorkingSet::Entry& entry);

}  // namespace resonate
