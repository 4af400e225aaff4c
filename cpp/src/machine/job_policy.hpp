// Retry policies: compute the delay before the next attempt from the policy, the job's id and its number of retries (JOBS 3).
// Randomness is a hash of the id and that number, so a replay yields the same instants.
#pragma once

#include <cstdint>
#include <string_view>

#include "resonate/jobs.hpp"

namespace resonate {

// `retries`: the number of retries so far; 0 at the first failure.
Duration retry_delay(const RetryPolicy& policy, std::string_view id, std::int64_t retries);
// Returns whether the policy retries after an error with this code.
bool retries_after(const RetryPolicy& policy, std::string_view code);

// FNV-1a of the id, mixed with the number by the finalizer of SplitMix64.
std::uint64_t retry_hash(std::string_view id, std::int64_t retries) noexcept;

}  // namespace resonate
