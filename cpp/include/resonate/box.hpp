// Box<T>: a T on the heap, copied with its owner; or none. It is for a large member of a variant, every value of which takes the
// size of the largest.
#pragma once

#include <memory>
#include <utility>

namespace resonate {

template <class T>
class Box {
 public:
  Box() noexcept = default;
  Box(T value) : held_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : held_(other.held_ ? std::make_unique<T>(*other.held_) : nullptr) {}
  Box(Box&& other) noexcept = default;  // the other one then has none
  Box& operator=(Box other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~Box() = default;

  T& emplace() { return *(held_ = std::make_unique<T>()); }
  explicit operator bool() const noexcept { return held_ != nullptr; }
  T* get() noexcept { return held_.get(); }
  const T* get() const noexcept { return held_.get(); }
  T& operator*() noexcept { return *held_; }
  const T& operator*() const noexcept { return *held_; }
  T* operator->() noexcept { return held_.get(); }
  const T* operator->() const noexcept { return held_.get(); }

 private:
  std::unique_ptr<T> held_;
};

}  // namespace resonate
