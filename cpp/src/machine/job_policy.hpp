// Retry policies: from a policy, a job and how often it was retried to how long the next pause is (JOBS 3). Chance is a hash of the
// job's id and that number, so a replay gives the same instants.
#pragma once

#include <cstdint>
#include <string_view>

#include "resonate/jobs.hpp"

namespace resonate {

// `retries`: how often the job has been retried before; 0 at the first failure.
Duration retry_delay(const RetryPolicy& policy, std::string_view id, std::int64_t retries);
// Whether the policy retries after an error of this code.
bool retries_after(const RetryPolicy& policy, std::string_view code);

// FNV-1a of the id, mixed with the number by the finalizer of SplitMix64.
std::uint64_t retry_hash(std::string_view id, std::int64_t retries) noexcept;

}  // namespace resonate
