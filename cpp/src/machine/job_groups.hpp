// Groups: jobs of one queue, type and group gather until the group is large enough, none has joined for the grace period, or the
// first has waited for the maximum delay. Then they are claimed together (decision 14).
#pragma once

#include "machine/working_set.hpp"

namespace resonate {

// Adds a scheduled job to its group as of `at`; creates the group if none is gathering.
void join_group(WorkingSet& set, WorkingSet::Entry& entry, Instant at);
// No effect on a job that does not gather. The overload with a working set also updates the other members of the group.
void leave_group(WorkingSet& set, WorkingSet::Entry& entry);
void leave_group(Job& job);
// Makes the leader and the jobs that gather with it runnable from `at` on.
void make_batch_ready(WorkingSet& set, WorkingSet::Entry& leader, Instant at);

std::string generated_name(std::string_view prefix, std::int64_t number);

}  // namespace resonate
