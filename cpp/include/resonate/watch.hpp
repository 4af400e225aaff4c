// Watch: tells whoever drives a store from outside, an event loop, that there is something to do now: without asking again and
// again. It also counts what becomes of jobs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "resonate/instant.hpp"
#include "resonate/jobs.hpp"

namespace resonate {

struct Changes;

inline constexpr std::size_t kOutcomeKinds = static_cast<std::size_t>(Outcome::cancelled) + 1;

// How often it happened to any job: that an attempt ended so, that it came into a state.
struct JobCounts {
  std::array<std::int64_t, kOutcomeKinds> attempts{};
  std::array<std::int64_t, kJobStates> entered{};
};

// What a commit did to jobs. What a job goes through between two commits counts by its attempts and its last state alone.
JobCounts job_counts(const Changes& changes) noexcept;

// Thread-safe. One byte is written to a descriptor (a pipe, a socket that does not block) when a commit queued a message, made a
// job claimable, or made something due earlier than the instant that is waited for; then none until rearm().
class Watch {
 public:
  explicit Watch(int descriptor) : descriptor_(descriptor) {}

  // What is due before `until` rings from now on; whoever calls looks at the store once more afterwards.
  void rearm(Instant until) noexcept {
    until_.store(until, std::memory_order_relaxed);
    rung_.store(false);
  }
  Instant until() const noexcept { return until_.load(std::memory_order_relaxed); }
  void ring() noexcept;
  void count(const JobCounts& counts) noexcept;
  // Of the commits of its engine, since it was made.
  JobCounts counts() noexcept;
  // The descriptor is not written to afterwards.
  void close() noexcept;
  bool closed() noexcept;

 private:
  std::mutex mutex_;
  int descriptor_;  // -1: closed
  JobCounts counts_;
  std::atomic<Instant> until_{kNever};
  std::atomic<bool> rung_{false};
};

}  // namespace resonate
