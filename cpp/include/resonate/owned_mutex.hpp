// A fair mutex that knows its owner: a thread that locks it twice gets an Error instead of a deadlock.
#pragma once

#include <atomic>
#include <thread>

#include "resonate/errors.hpp"
#include "resonate/fair_mutex.hpp"

namespace resonate {

class OwnedMutex {
 public:
  // `refusal`: the message of that Error (invalid).
  explicit OwnedMutex(const char* refusal) noexcept : refusal_(refusal) {}

  void lock() {
    refuse_owner();
    mutex_.lock();
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  // Fails if a thread holds the lock, this one too, or waits for it.
  bool try_lock() noexcept {
    if (!mutex_.try_lock()) return false;
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void unlock() noexcept {
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }
  bool is_held() const noexcept { return mutex_.is_held(); }
  bool is_waited_for() { return mutex_.is_waited_for(); }
  // Throws Error (invalid) if the calling thread holds the lock.
  void refuse_owner() const {
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) throw Error(ErrorCode::invalid, refusal_);
  }

 private:
  const char* refusal_;
  FairMutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

}  // namespace resonate
