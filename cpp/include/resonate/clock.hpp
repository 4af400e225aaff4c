// Where instants come from. Below the engine time is an argument; clock.cpp is the only file that reads the system's clock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/owned_mutex.hpp"
#include "resonate/requests.hpp"

namespace resonate {

class Engine;

// Thread-safe. now() never goes back.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() = 0;
  virtual bool manual() const noexcept = 0;
  // What the clock would say if it might go back.
  virtual Instant wall() { return now(); }
  // The state that it was in step with has been set back: from here on now() may be earlier than it has been.
  virtual void start_over() noexcept {}
};

// Wall time in ms, made monotonic: a system clock that is set back stands still here until it has caught up.
class SystemClock final : public Clock {
 public:
  Instant now() override;
  bool manual() const noexcept override { return false; }
  Instant wall() override;
  void start_over() noexcept override;

 private:
  std::mutex mutex_;
  Instant last_ = 0;
};

// A clock that stands still until it is moved. It drives the engines that were attached to it, in order of attachment.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start = 0) : now_(start) {}
  Instant now() override { return now_.load(std::memory_order_acquire); }
  bool manual() const noexcept override { return true; }

  // Visits every instant up to `at` at which an attached engine has a step due, in order, and ticks there. Error (invalid) when
  // `at` is earlier than now, and in a thread that is inside an advance of this clock. Returns what fired. An interrupt
  // (interruption.hpp) stops it between two instants.
  std::vector<Fired> advance_to(Instant at);
  // now + by, saturating; by >= 0.
  std::vector<Fired> advance(Duration by);
  // To the next instant at which something is due; stays where it is when nothing ever is.
  std::vector<Fired> advance_to_next();
  // Sets the clock without firing anything; false (and no change) when `at` is earlier than now.
  bool set(Instant at);

  void attach(const std::shared_ptr<Engine>& engine);

 private:
  std::vector<std::shared_ptr<Engine>> engines();
  std::vector<Fired> visit_until(Instant at);  // under moving_

  // One advance at a time.
  OwnedMutex moving_{
      "this clock is being advanced by the same thread: the call comes from a signal handler during that advance; make it after "
      "that "
      "has returned"};
  std::mutex mutex_;  // setting now_, and engines_
  std::atomic<Instant> now_;
  std::vector<std::weak_ptr<Engine>> engines_;
};

}  // namespace resonate
