#include "machine/job_policy.hpp"

#include <algorithm>
#include <cmath>

namespace resonate {

namespace {

constexpr Duration kLongest = Duration{1} << 53;  // the largest range of integers that a double represents exactly

constexpr std::int64_t kMostFactors = 100'000;

Duration exponential(const RetryPolicy& policy, std::string_view id, std::int64_t retries) {
  const auto cap = static_cast<double>(policy.cap);
  auto delay = static_cast<double>(policy.base);
  // A stored job may have any number of retries, and a delay that does not grow.
  const std::int64_t most = std::min<std::int64_t>(retries, kMostFactors);
  for (std::int64_t i = 0; i < most && delay < cap && policy.factor > 1; ++i) delay = std::min(cap, delay * policy.factor);
  const double unit = static_cast<double>(retry_hash(id, retries) >> 11) * 0x1.0p-53;
  delay = std::floor(delay * (1 + policy.jitter * (2 * unit - 1)));
  if (delay >= cap) return policy.cap;  // compared as double: a cap near 2^63 cannot be converted back
  return static_cast<Duration>(std::max(delay, 0.0));
}

// n⁴ + 15 + rand(30)·(n + 1) seconds.
Duration asynq(std::string_view id, std::int64_t retries) {
  retries = std::max<std::int64_t>(0, retries);
  if (retries >= 1800) return kLongest;  // the delay would exceed kLongest; below this, the fourth power fits into int64
  const std::int64_t power = retries * retries * retries * retries;
  const auto chance = static_cast<std::int64_t>(retry_hash(id, retries) % 30);
  return std::min(kLongest, (power + 15 + chance * (retries + 1)) * 1000);
}

}  // namespace

std::uint64_t retry_hash(std::string_view id, std::int64_t retries) noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (const char byte : id) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  std::uint64_t mixed = hash + (static_cast<std::uint64_t>(retries) + 1) * 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31);
}

Duration retry_delay(const RetryPolicy& policy, std::string_view id, std::int64_t retries) {
  switch (policy.kind) {
    case PolicyKind::fixed: return policy.intervals[std::min(static_cast<std::size_t>(retries), policy.intervals.size() - 1)];
    case PolicyKind::exponential: return exponential(policy, id, retries);
    case PolicyKind::asynq: break;
  }
  return asynq(id, retries);
}

bool retries_after(const RetryPolicy& policy, std::string_view code) {
  return !policy.codes || std::find(policy.codes->begin(), policy.codes->end(), code) != policy.codes->end();
}

}  // namespace resonate
