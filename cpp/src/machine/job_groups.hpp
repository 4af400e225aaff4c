// Jobs that gather: those of one queue, type and group wait for one another, until they are many enough, none has joined for a
// while, or the first has waited long enough; then they may be claimed, together (decision 14).
#pragma once

#include "machine/working_set.hpp"

namespace resonate {

// A scheduled job that is not gathering joins its group as of `at`, or begins one.
void join_group(WorkingSet& set, WorkingSet::Entry& entry, Instant at);
// Without effect on a job that does not gather. The overload with a working set also updates the other members of the group.
void leave_group(WorkingSet& set, WorkingSet::Entry& entry);
void leave_group(Job& job);
// Those that gather with this leader may be claimed from `at` on.
void make_batch_ready(WorkingSet& set, WorkingSet::Entry& leader, Instant at);

std::string generated_name(std::string_view prefix, std::int64_t number);

}  // namespace resonate
