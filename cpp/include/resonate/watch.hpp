// Watch: tells whoever drives a store from outside, an event loop, that there is something to do now: without asking again and
// again.
#pragma once

#include <atomic>
#include <mutex>

#include "resonate/instant.hpp"

namespace resonate {

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
  // The descriptor is not written to afterwards.
  void close() noexcept;
  bool closed() noexcept;

 private:
  std::mutex mutex_;
  int descriptor_;  // -1: closed
  std::atomic<Instant> until_{kNever};
  std::atomic<bool> rung_{false};
};

}  // namespace resonate
