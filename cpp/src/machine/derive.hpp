// Members of rows that follow from others.
#pragma once

#include <optional>
#include <string>

#include "resonate/records.hpp"

namespace resonate {

// Sets timer, target, branch and external_at_birth from the tags and the dialect (PROTOCOL 1.1).
void finish_birth(Birth& birth);

// When the row's next step is due, by its own timers; the caller stores it in Row::due.
Due next_due(const Row& row) noexcept;

// Whether a message may ever be due for the row's task: it has a target and is no timer (PROTOCOL 1.1, dispatch instant).
inline bool dispatchable(const Birth& birth) noexcept { return birth.target != nullptr && !birth.timer; }

// retryAt of a task that becomes pending at `at` (of a job see job_moves.hpp: no message is ever due for one).
inline Instant dispatch_instant(const Birth& birth, Instant at) noexcept { return dispatchable(birth) ? at : birth.timeout_at; }

// From one message of a pending task to the next; `retry_timeout` as in Options.
Duration retry_interval(const Row& row, std::optional<Duration> retry_timeout) noexcept;

// retryAt as everybody sees it: while an execute waits it is the next multiple of the interval after `now`, as if the message had
// been sent again each time (PROTOCOL 4).
Instant shown_retry_at(const Row& row, Instant now, std::optional<Duration> retry_timeout) noexcept;

// The delivery address that tags name in a dialect, or none.
const std::string* target_of(const StringMap& tags, const Dialect& dialect) noexcept;

// What the row's texts take: its id, tags, param and value.
std::size_t payload_bytes(const Row& row) noexcept;

}  // namespace resonate
