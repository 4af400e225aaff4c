// The state of a queue of jobs: its settings, its counts, and what its claims need (JOBS 3).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "resonate/jobs.hpp"
#include "resonate/queue_hours.hpp"

namespace resonate {

inline constexpr std::int64_t kMostGathered = 1000;

struct RateLimit {
  std::int64_t limit = 1;  // tokens
  Duration per = 1;
  std::int64_t burst = 1;
  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};
template <std::same_as<RateLimit> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::limit, &T::limit).within(1, 1'000'000),
      member(Field::per, &T::per).within(1, 366LL * 86'400'000),
      member(Field::burst, &T::burst).within(1, 1'000'000).optional(),
  };
}
constexpr void when_absent(RateLimit& rate, Field field) noexcept {
  if (field == Field::burst) rate.burst = rate.limit;
}

// When the gathering of a group ends.
struct GroupLimits {
  std::int64_t size = kMostGathered;  // the batch is ready at this number of jobs
  Duration grace = 60'000;            // after the last job joined
  std::optional<Duration> max_delay;  // after the first job joined
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};
template <std::same_as<GroupLimits> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::size, &T::size).within(1, kMostGathered).optional(),
      member(Field::grace, &T::grace).duration(0).optional().held_to(Limit::delay),
      member(Field::max_delay, &T::max_delay).duration(1).held_to(Limit::delay),
  };
}

// The defaults for jobs of a queue.
struct JobDefaults {
  std::optional<std::int64_t> max_retries;
  std::optional<RetryPolicy> policy;
  std::optional<OnExhausted> on_exhausted;
  std::optional<Duration> retention;
  std::optional<Duration> timeout;
  std::optional<std::int64_t> priority;
  std::optional<bool> cancel_with_awaiters;
  bool empty() const noexcept {
    return !max_retries && !policy && !on_exhausted && !retention && !timeout && !priority && !cancel_with_awaiters;
  }
  friend bool operator==(const JobDefaults&, const JobDefaults&) = default;
};
template <std::same_as<JobDefaults> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::max_retries, &T::max_retries).at_least(0),
      member(Field::retry_policy, &T::policy),
      member(Field::on_exhausted, &T::on_exhausted),
      member(Field::retention, &T::retention).kept_if_null().unlimited(),
      member(Field::timeout, &T::timeout).duration(1).unlimited(),
      member(Field::priority, &T::priority).within(1, 100),
      member(Field::cancel_with_awaiters, &T::cancel_with_awaiters),
  };
}

struct QueueDay {
  std::int64_t day = 0;  // since 1970-01-01
  std::int64_t processed = 0;
  std::int64_t failed = 0;
};
template <std::same_as<QueueDay> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::day, &T::day),
      member(Field::processed, &T::processed),
      member(Field::failed, &T::failed),
  };
}
inline constexpr std::size_t kDaysKept = 90;

inline constexpr std::int64_t kClaimCountsKept = 60;  // of a queue, about

// Claims of a queue that its rate counts.
struct ClaimCount {
  Instant at = 0;  // the last instant of their slot
  std::int64_t count = 0;
  friend bool operator==(const ClaimCount&, const ClaimCount&) = default;
};
template <std::same_as<ClaimCount> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::at, &T::at),
      member(Field::count, &T::count),
  };
}

struct Queue final : Counted {
  std::string name;
  bool paused = false;
  Lifecycle lifecycle = Lifecycle::none;
  std::int64_t weight = 1;
  std::int64_t concurrency = 0;  // 0: no limit
  std::optional<RateLimit> rate;
  std::optional<GroupLimits> groups;
  std::int64_t level = 0;  // tokens in the rate's bucket, in units of 1/per token
  Instant refilled_at = 0;
  std::vector<ClaimCount> claims;  // with a rate: those of the last `per` ms, the oldest first
  std::int64_t current = 0;        // state of the smooth weighted round robin
  JobDefaults defaults;
  std::array<std::int64_t, kJobStates> counts{};
  std::vector<QueueDay> days;
  std::optional<QueueHour> hour;  // the present one; those before are records of their own (EndedHour)

  std::int64_t active() const noexcept {
    return saturating_add(counts[static_cast<std::size_t>(JobState::claimed)], counts[static_cast<std::size_t>(JobState::running)]);
  }
};
// Its counts are written beside these.
template <std::same_as<Queue> T>
constexpr auto fields(Of<T>) {
  constexpr auto limited = [](const T& queue) { return queue.rate.has_value(); };
  return Descriptors{
      member(Field::name, &T::name),
      member(Field::paused, &T::paused),
      member(Field::lifecycle, &T::lifecycle).otherwise(static_cast<std::int64_t>(Lifecycle::none)),
      member(Field::weight, &T::weight),
      member(Field::concurrency, &T::concurrency).otherwise(0),
      member(Field::rate, &T::rate),
      member(Field::groups, &T::groups),
      member(Field::defaults, &T::defaults).otherwise(0),
      member(Field::level, &T::level).optional().only_stored().where(limited),
      member(Field::refilled_at, &T::refilled_at).optional().only_stored().where(limited),
      member(Field::claims, &T::claims).otherwise(0).only_stored().where(limited),
      member(Field::current, &T::current).only_stored(),
      member(Field::days, &T::days).only_stored(),
      member(Field::hour, &T::hour).only_stored(),
  };
}
using QueueRef = Shared<const Queue>;

}  // namespace resonate
