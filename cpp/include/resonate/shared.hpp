// Shared<T>: a counted pointer to an immutable value, which stores, replies and threads can share.
//
// Rows are values: a change creates a new row, so a fork, a reply and a rolled-back batch each keep the version that they saw, for
// the cost of one counter. The counter is inside the object (one allocation) and atomic (replies outlive the engine's lock).
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace resonate {

class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) noexcept {}  // a copy is a new object without references
  Counted& operator=(const Counted&) noexcept { return *this; }

  void retain() const noexcept {
    if (one_thread()) {
      references_.store(references_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      references_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Returns true if the last reference was released; the caller then deletes the object.
  [[nodiscard]] bool release() const noexcept {
    if (!one_thread()) return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const std::uint32_t left = references_.load(std::memory_order_relaxed) - 1;
    references_.store(left, std::memory_order_relaxed);
    return left == 0;
  }
  [[nodiscard]] bool is_unshared() const noexcept { return references_.load(std::memory_order_acquire) == 1; }

 protected:
  ~Counted() = default;

 private:
  // Without a second thread no atomic instruction is needed; the C library knows whether there is one (libstdc++'s shared_ptr asks
  // it too).
  static bool one_thread() noexcept {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
  }

  mutable std::atomic<std::uint32_t> references_{0};
};

template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(std::nullptr_t) noexcept {}
  explicit Shared(T* object) noexcept : object_(object) {
    if (object_) object_->retain();
  }
  Shared(const Shared& other) noexcept : Shared(other.object_) {}
  Shared(Shared&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Shared(const Shared<U>& other)
  noexcept : Shared(static_cast<T*>(other.get())) {}
  template <class U>
  requires std::is_convertible_v<U*, T*> Shared(Shared<U>&& other)
  noexcept : object_(other.detach()) {}
  Shared& operator=(Shared other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Shared& operator=(std::nullptr_t) noexcept {
    if (object_) drop(std::exchange(object_, nullptr));
    return *this;
  }
  // Always inlined: most of the pointers that go out of scope are null, and a reply alone has five.
  [[gnu::always_inline]] ~Shared() {
    if (object_) drop(object_);
  }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Shared& a, const Shared& b) noexcept { return a.object_ == b.object_; }

  // Returns the pointer without releasing the reference.
  T* detach() noexcept { return std::exchange(object_, nullptr); }

 private:
  static void drop(T* object) noexcept {
    if (object->release()) delete object;
  }

  T* object_ = nullptr;
};

template <class T, class... Args>
Shared<T> make_shared_value(Args&&... args) {
  return Shared<T>(new std::remove_const_t<T>{std::forward<Args>(args)...});
}

}  // namespace resonate
