// FairMutex: a lock that goes to whoever has waited longest.
//
// std::mutex lets a thread that unlocks and locks again at once win against all that wait, so a thread that works in a loop (a long
// tick, a purge) keeps everybody else out until it is done. Here each of them gets its turn between two rounds of such a loop.
// Uncontended it costs one atomic exchange to lock and one to unlock.
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
  // Never where somebody waits: whoever tries does not overtake.
  bool try_lock() noexcept {
    State expected = State::open;
    return state_.compare_exchange_strong(expected, State::held, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Whether somebody has it at this moment.
  bool is_held() const noexcept { return state_.load(std::memory_order_relaxed) != State::open; }
  void unlock() {
    State expected = State::held;
    if (!state_.compare_exchange_strong(expected, State::open, std::memory_order_release, std::memory_order_relaxed)) hand_on();
  }

 private:
  enum class State : std::uint8_t {
    open,
    held,
    wanted,  // held, and somebody may wait: unlock() looks
  };
  struct Waiter {
    std::condition_variable turn;
    bool has_it = false;
    Waiter* next = nullptr;
  };

  void wait() {
    std::unique_lock queue(queue_);
    // From here on unlock() comes to the queue, which is locked until this waiter is in it.
    if (state_.exchange(State::wanted, std::memory_order_acquire) == State::open) return;
    Waiter self;
    (last_ ? last_->next : first_) = &self;
    last_ = &self;
    self.turn.wait(queue, [&] { return self.has_it; });
  }

  void hand_on() {
    std::lock_guard queue(queue_);
    Waiter* const heir = first_;
    if (!heir) return state_.store(State::open, std::memory_order_release);
    first_ = heir->next;
    if (!first_) last_ = nullptr;
    heir->has_it = true;
    heir->turn.notify_one();  // under the queue's lock: the waiter is gone as soon as it has seen it
  }

  std::atomic<State> state_{State::open};
  std::mutex queue_;
  Waiter* first_ = nullptr;  // in order of arrival; waiters live on the stacks of their threads
  Waiter* last_ = nullptr;
};

}  // namespace resonate
