// Keepers of a settled job, or of a child of a job (JOBS 8). A job that has waited for it keeps it until that job is final. A
// keeper is an edge of the kind keeper. It can also be a drained callback that stays, so that the drain writes the row alone
// (decision 54).
//
// Invariants, of the row of a job:
// - Its callbacks with numbers up to drained_through have been drained. Such a callback that still exists is a keeper:
//   kept_callbacks says how many there are.
// - These callbacks became keepers before all edges of the kind keeper, so they come first in the order of registration.
#pragma once

#include <string>

#include "machine/working_set.hpp"

namespace resonate {

// Returns whether a row can be removed without purge, so that who waited for it has to keep it: a job, or a child of one.
inline bool may_have_keepers(const Row& row) noexcept { return row.job || row.promise_spec->child; }

// Keeps a settled job, or child of one, until another job or task is final.
void keep(WorkingSet& set, WorkingSet::Entry& settled, const std::string& keeper);

// Returns whether a callback of a settled promise, the first that is not drained, can become a keeper as it is.
bool may_stay(const WorkingSet& set, const Row& settled, const Edge& callback) noexcept;
// Drains such a callback. Then call one of these: whether its awaiter continues, and keeps the job, is known after it was woken.
void let_stay(WorkingSet& set, WorkingSet::Entry& settled, const EdgeRef& callback);
void keep_drained(WorkingSet& set, WorkingSet::Entry& settled, const EdgeRef& callback);
void remove_drained(WorkingSet& set, WorkingSet::Entry& settled, const EdgeRef& callback);

// Returns whether `wanted` accepts a keeper; asks in order of registration.
bool any_keeper(WorkingSet& set, const Row& settled, const EdgeOverlay::Wanted& wanted);
// Returns whether a job that is not final keeps a settled job.
bool has_keeper(WorkingSet& set, const Row& settled, Instant now);
// Forgets keepers in order of registration, as long as they are final or gone. Returns whether keepers are left: the first is not
// final, or there are more than one call reads.
bool has_keeper_left(WorkingSet& set, WorkingSet::Entry& settled, Instant now);
// Forgets all of them.
void forget_keepers(WorkingSet& set, WorkingSet::Entry& settled);

}  // namespace resonate
