// Members of rows that are computed from other members.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "resonate/records.hpp"

namespace resonate {

// Sets timer, target, branch and initially_external from the tags and the dialect (PROTOCOL 1.1).
void derive_promise_spec(PromiseSpec& promise_spec);

// What makes the promise with this id and these tags a child, or a message, of a job (JOBS 9).
Shared<const ChildMark> child_of(std::string parent, ChildKind kind, std::int64_t number, const std::string& id,
                                 const StringMap& tags);
// The groups of Index::open: what a topic's receives and messages are in, and a job's child jobs.
std::string mailbox_of(std::string_view job, std::string_view topic);
std::string child_jobs_of(std::string_view job);

// Returns when the row's next step is due. The caller stores it in Row::due.
Due next_due(const Row& row) noexcept;

// Returns whether the row's task can be dispatched: it has a target and is not a timer (PROTOCOL 1.1, dispatch instant).
inline bool dispatchable(const PromiseSpec& promise_spec) noexcept { return promise_spec.target != nullptr && !promise_spec.timer; }

// The retryAt of a task that becomes pending at `at`. A job is never dispatched (job_moves.hpp).
inline Instant dispatch_instant(const PromiseSpec& promise_spec, Instant at) noexcept {
  return dispatchable(promise_spec) ? at : promise_spec.timeout_at;
}

// The interval between two messages of a pending task; `retry_timeout` as in Options.
Duration retry_interval(const Row& row, std::optional<Duration> retry_timeout) noexcept;

// The retryAt that replies show. While an execute waits for delivery it is the next multiple of the interval after `now`, as if the
// message had been sent again each time (PROTOCOL 4).
Instant shown_retry_at(const Row& row, Instant now, std::optional<Duration> retry_timeout) noexcept;

// Returns the delivery address in the tags under a dialect, or null.
const std::string* target_of(const StringMap& tags, const Dialect& dialect) noexcept;

// The size of the row's texts: id, tags, param and value.
std::size_t payload_bytes(const Row& row) noexcept;

}  // namespace resonate
