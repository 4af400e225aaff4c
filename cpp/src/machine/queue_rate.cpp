#include "machine/queue_rate.hpp"

#include <algorithm>

#include "machine/calendar.hpp"

namespace resonate {

namespace {

// The tokens of the bucket at `now`, in units of 1/per token.
std::int64_t level_at(const Queue& queue, Instant now) {
  const RateLimit& rate = *queue.rate;
  const std::int64_t full = saturating_mul(rate.burst, rate.per);
  const std::int64_t missing = saturating_sub(full, queue.level);
  const Duration elapsed = std::max<Duration>(0, saturating_sub(now, queue.refilled_at));
  if (rate.limit < 1 || elapsed > missing / rate.limit) return full;
  return saturating_add(queue.level, saturating_mul(elapsed, rate.limit));
}

Instant next_token_at(const Queue& queue, Instant now) {
  const std::int64_t lacking = saturating_sub(queue.rate->per, level_at(queue, now));
  if (lacking <= 0) return now;
  const std::int64_t limit = std::max<std::int64_t>(1, queue.rate->limit);
  const Duration wait = lacking / limit + (lacking % limit ? 1 : 0);
  return saturating_add(now, wait);
}

// The most claims in any window of `per` ms.
std::int64_t most_claims(const RateLimit& rate) { return std::max({std::int64_t{1}, rate.limit, rate.burst}); }

// Claims are counted by slots of this length, as of the last instant of their slot: a window then never holds more than the rate
// allows, and the record of the claims stays short. Few claims are counted one by one.
Duration slot_length(const RateLimit& rate) {
  if (most_claims(rate) <= kClaimCountsKept) return 1;
  return std::max<Duration>(1, saturating_add(rate.per, kClaimCountsKept - 1) / kClaimCountsKept);
}

Instant leaves_window_at(const RateLimit& rate, const ClaimCount& counted) { return saturating_add(counted.at, rate.per); }

// Returns the first instant from `now` on at which the window before it has room for one more claim.
Instant next_room_at(const Queue& queue, Instant now) {
  std::int64_t taken = 0;
  for (const ClaimCount& counted : queue.claims)
    if (leaves_window_at(*queue.rate, counted) > now) taken = saturating_add(taken, counted.count);
  Instant at = now;
  for (const ClaimCount& counted : queue.claims) {
    if (taken < most_claims(*queue.rate)) break;
    if (leaves_window_at(*queue.rate, counted) <= now) continue;
    taken = saturating_sub(taken, counted.count);
    at = std::max(at, leaves_window_at(*queue.rate, counted));
  }
  return at;
}

}  // namespace

Instant next_claim_at(const Queue& queue, Instant now) {
  return queue.rate ? std::max(next_token_at(queue, now), next_room_at(queue, now)) : now;
}

void count_claim(Queue& queue, Instant now) {
  if (!queue.rate) return;
  queue.level = saturating_sub(level_at(queue, now), queue.rate->per);
  queue.refilled_at = now;
  std::erase_if(queue.claims, [&](const ClaimCount& counted) { return leaves_window_at(*queue.rate, counted) <= now; });
  const Duration slot = slot_length(*queue.rate);
  const Instant at = saturating_add(saturating_mul(calendar::floor_div(now, slot), slot), slot - 1);
  if (queue.claims.empty() || queue.claims.back().at != at) queue.claims.push_back({.at = at, .count = 0});
  queue.claims.back().count = saturating_add(queue.claims.back().count, 1);
}

void begin_rate(Queue& queue, const std::optional<RateLimit>& rate, Instant now) {
  queue.rate = rate;
  queue.level = rate ? rate->burst * rate->per : 0;
  queue.refilled_at = rate ? now : 0;
  queue.claims.clear();
}

}  // namespace resonate
