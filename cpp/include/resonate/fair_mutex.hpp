// FairMutex: a lock that its waiters get in order of arrival.
//
// With std::mutex, a thread that unlocks and immediately locks again overtakes the waiters, so a thread that works in a loop (a
// long tick, a purge) blocks all others until it ends. Here each waiter gets the lock between two rounds of such a loop. Without
// contention, lock and unlock cost one atomic exchange each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace resonate {

class FairMutex {
 public:
  FairMutex() = default;
  FairMutex(const FairMutex&) = delete;
  FairMutex& operator=(const FairMutex&) = delete;

  void lock() {
    if (!try_lock()) wait();
  }
  // Fails if a thread holds the lock or waits for it.
  bool try_lock() noexcept {
    State expected = State::open;
    return state_.compare_exchange_strong(expected, State::held, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Returns whether a thread holds the lock at this moment.
  bool is_held() const noexcept { return state_.load(std::memory_order_relaxed) != State::open; }
  // Returns whether a thread waits for the lock at this moment.
  bool is_waited_for() {
    if (state_.load(std::memory_order_relaxed) != State::wanted) return false;
    std::lock_guard queue(queue_);
    return first_ != nullptr;
  }
  void unlock() {
    State expected = State::held;
    if (!state_.compare_exchange_strong(expected, State::open, std::memory_order_release, std::memory_order_relaxed)) hand_on();
  }

 private:
  enum class State : std::uint8_t {
    open,
    held,
    wanted,  // held, and threads may wait: unlock() checks the queue
  };
  struct Waiter {
    std::condition_variable ready;
    bool granted = false;
    Waiter* next = nullptr;
  };

  void wait() {
    std::unique_lock queue(queue_);
    // From here on unlock() locks queue_, so it sees this waiter once the waiter has joined.
    if (state_.exchange(State::wanted, std::memory_order_acquire) == State::open) return;
    Waiter self;
    (last_ ? last_->next : first_) = &self;
    last_ = &self;
    self.ready.wait(queue, [&] { return self.granted; });
  }

  void hand_on() {
    std::lock_guard queue(queue_);
    Waiter* const waiter = first_;
    if (!waiter) return state_.store(State::open, std::memory_order_release);
    first_ = waiter->next;
    if (!first_) last_ = nullptr;
    waiter->granted = true;
    waiter->ready.notify_one();  // while queue_ is locked: the waiter is destroyed as soon as it sees granted
  }

  std::atomic<State> state_{State::open};
  std::mutex queue_;
  Waiter* first_ = nullptr;  // in order of arrival; each waiter is on the stack of its thread
  Waiter* last_ = nullptr;
};

}  // namespace resonate
