// Jobs that are cancelled with their awaiters (JOBS 3, decision 28).
#pragma once

#include <optional>

#include "machine/working_set.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// Returns whether the cancellation of a promise cancels the job that it awaits. A job that waits cancels its children alone: of its
// other callbacks, those of a promise that it has adopted count like those of any other.
bool cancels(const Row& awaited, const Row& awaiter) noexcept;

// Call it for a job that has just adopted a promise: from now on, the promise's awaiters cancel the job. Awaiters that were
// cancelled before are forgotten.
void follow_awaiters(WorkingSet& set, WorkingSet::Entry& adopted);

// Runs the step of a promise that was cancelled while it awaited jobs: it no longer awaits the first of them, which is cancelled
// unless another pending promise awaits it. Returns none if no such job is left.
std::optional<Fired> cancel_awaited(WorkingSet& set, WorkingSet::Entry& cancelled, Instant now);

}  // namespace resonate
