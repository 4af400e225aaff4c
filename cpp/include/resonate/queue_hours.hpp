// The events of the jobs of a queue, counted: by hour, which a store keeps, and since a process began, for its metrics.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

#include "resonate/described.hpp"
#include "resonate/instant.hpp"
#include "resonate/shared.hpp"

namespace resonate {

inline constexpr Duration kHour = 3'600'000;
inline constexpr std::int64_t kHoursKept = 168;  // of a queue, with its present one

// One hour of a queue. An event whose instant is before the queue's present hour counts in the present hour.
struct QueueHour {
  std::int64_t hour = 0;       // since 1970-01-01T00Z
  std::int64_t enqueued = 0;   // jobs that were created
  std::int64_t started = 0;    // attempts that began
  std::int64_t completed = 0;  // jobs that were completed
  std::int64_t failed = 0;     // attempts that failed or timed out, and jobs that failed without an attempt
  std::int64_t retried = 0;    // jobs that entered the state; also the next ones
  std::int64_t archived = 0;
  std::int64_t crashed = 0;  // attempts whose lease ended
  std::int64_t expired = 0;
  std::int64_t cancelled = 0;
  Duration latency = 0;   // from enqueued_at to the start, over all starts
  Duration run_time = 0;  // from the start to the end, over all attempts that completed, failed, timed out or crashed
};
template <std::same_as<QueueHour> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::hour, &T::hour),
      member(Field::enqueued, &T::enqueued).otherwise(0),
      member(Field::started, &T::started).otherwise(0),
      member(Field::completed, &T::completed).otherwise(0),
      member(Field::failed, &T::failed).otherwise(0),
      member(Field::retried, &T::retried).otherwise(0),
      member(Field::archived, &T::archived).otherwise(0),
      member(Field::crashed, &T::crashed).otherwise(0),
      member(Field::expired, &T::expired).otherwise(0),
      member(Field::cancelled, &T::cancelled).otherwise(0),
      member(Field::latency, &T::latency).otherwise(0),
      member(Field::run_time, &T::run_time).otherwise(0),
  };
}

// The counters of a QueueHour: its members without the hour.
inline constexpr std::array kHourCounters = {&QueueHour::enqueued, &QueueHour::started, &QueueHour::completed,
                                             &QueueHour::failed,   &QueueHour::retried, &QueueHour::archived,
                                             &QueueHour::crashed,  &QueueHour::expired, &QueueHour::cancelled,
                                             &QueueHour::latency,  &QueueHour::run_time};

inline void add_to(QueueHour& sum, const QueueHour& more) noexcept {
  for (const auto counter : kHourCounters) sum.*counter = saturating_add(sum.*counter, more.*counter);
}

// An hour of a queue that has ended: it does not change any more.
struct EndedHour final : Counted {
  std::string queue;
  QueueHour counted;
};
using HourRef = Shared<const EndedHour>;

// The upper bounds of the buckets of a histogram, in ms; one more bucket holds what is above.
inline constexpr std::array<Duration, 16> kBuckets = {5,     10,    25,     50,     100,    250,     500,       1'000,
                                                      2'500, 5'000, 10'000, 30'000, 60'000, 300'000, 1'800'000, 7'200'000};
using BucketCounts = std::array<std::int64_t, kBuckets.size() + 1>;

struct Histogram {
  std::int64_t events = 0;
  BucketCounts counts{};

  void count(Duration taken) noexcept {
    ++events;
    ++counts[static_cast<std::size_t>(std::lower_bound(kBuckets.begin(), kBuckets.end(), taken) - kBuckets.begin())];
  }
  void add(const Histogram& more) noexcept {
    if (more.events == 0) return;  // most commits: each counts in a server's metrics
    events += more.events;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += more.counts[i];
  }
};

// The events of a transaction, or of a process, in a queue.
struct QueueTally {
  bool any = false;  // there was an event
  QueueHour sums;    // its hour is unused
  Histogram latency;
  Histogram run_time;

  void add(const QueueTally& more) noexcept {
    any = true;
    add_to(sums, more.sums);
    latency.add(more.latency);
    run_time.add(more.run_time);
  }
};

}  // namespace resonate
