// Clocks. Below the engine, time is an argument; clock.cpp is the only file that reads the system's clock.
#pragma once

#include <atomic>
#include <chrono>
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
  // The clock's time without the rule that it never goes back.
  virtual Instant wall() { return now(); }
  // Its name in messages.
  virtual const char* name() const noexcept = 0;
  // Lets now() go back: the state that uses this clock was set back.
  virtual void start_over() noexcept {}
};

// A clock that runs by itself, in ms, made monotonic: if wall() goes back, now() stays constant until it has caught up.
class RunningClock : public Clock {
 public:
  Instant now() final;
  bool manual() const noexcept final { return false; }
  Instant wall() override = 0;
  void start_over() noexcept final;

 private:
  std::mutex mutex_;
  Instant last_ = 0;
};

// The system's wall clock.
class SystemClock final : public RunningClock {
 public:
  const char* name() const noexcept override { return "the system's clock"; }
  Instant wall() override;
};

// The clock of the database that several machines share, so that their own clocks may differ. The storage reads it in each
// transaction; between two transactions it runs on by this machine's steady clock.
class DatabaseClock final : public RunningClock {
 public:
  DatabaseClock();
  const char* name() const noexcept override { return "the database's clock"; }
  Instant wall() override;
  // The database says that it is `at` now.
  void learn(Instant at) noexcept;
  // Does the same if `at` is later than wall(). Otherwise it changes nothing: the answer was under way for so long that `at` has
  // passed.
  void learn_later(Instant at) noexcept;

 private:
  std::mutex mutex_;
  Instant learned_ = 0;
  std::chrono::steady_clock::time_point learned_when_;  // exact: in ms, wall() could be 1 ms ahead of the database
};

// A clock that changes only when it is moved. It ticks the engines attached to it, in order of attachment.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start = 0) : now_(start) {}
  Instant now() override { return now_.load(std::memory_order_acquire); }
  bool manual() const noexcept override { return true; }
  const char* name() const noexcept override { return "the manual clock"; }

  // Moves to every instant up to `at` at which an attached engine has a step due, in order, and ticks there; returns the steps.
  // Error (invalid): `at` is earlier than now, or this thread is already advancing this clock. An interrupt (interruption.hpp)
  // stops it between two instants.
  std::vector<Fired> advance_to(Instant at);
  // Advances to now + by, saturating; `by` must be at least 0.
  std::vector<Fired> advance(Duration by);
  // Advances to the next instant at which a step is due; does nothing if there is none.
  std::vector<Fired> advance_to_next();
  // Sets the clock without running steps. Returns false, and changes nothing, if `at` is earlier than now.
  bool set(Instant at);

  void attach(const std::shared_ptr<Engine>& engine);

 private:
  std::vector<std::shared_ptr<Engine>> engines();
  std::vector<Fired> visit_until(Instant at);  // call with moving_ locked

  // Serializes the advances.
  OwnedMutex moving_{
      "this clock is being advanced by the same thread: the call comes from a signal handler during that advance; make it after "
      "that "
      "has returned"};
  std::mutex mutex_;  // guards now_ (for writing) and engines_
  std::atomic<Instant> now_;
  std::vector<std::weak_ptr<Engine>> engines_;
};

}  // namespace resonate
