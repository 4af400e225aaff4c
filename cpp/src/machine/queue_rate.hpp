// The rate of a queue (JOBS 3): a bucket of tokens, and the claims of the last `per` ms, so that no window of that length holds
// more than the rate allows.
#pragma once

#include <optional>

#include "resonate/queues.hpp"

namespace resonate {

// Returns the first instant from `now` on at which a job of the queue can be claimed; `now` for a queue without a rate.
Instant next_claim_at(const Queue& queue, Instant now);
// Counts a claim at `now`.
void count_claim(Queue& queue, Instant now);
// Sets or clears the rate. Its bucket is full, and no claim counts yet.
void begin_rate(Queue& queue, const std::optional<RateLimit>& rate, Instant now);

}  // namespace resonate
