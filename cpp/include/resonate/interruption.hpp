// How a caller stops a call that takes long or waits, such as by Ctrl-C.
//
// The core looks at fixed places (between two transactions, at every page of a long read, while it waits for another process), and
// the embedder decides there. Nothing is half done afterwards: a transaction that was under way is undone.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

namespace resonate {

// Thrown out of the interrupted call, with what the hook threw.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(std::exception_ptr cause) noexcept : cause_(std::move(cause)) {}
  const char* what() const noexcept override { return "interrupted"; }
  const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::exception_ptr cause_;
};

// What the thread does at the place: work (called every few ms at most, so the hook may skip most calls), or wait.
enum class Pause : std::uint8_t { working, waiting };

// Runs in the thread of the call, and throws to stop it. It may be called under an engine's lock, so it must not use the store.
using InterruptHook = void (*)(Pause);

// Of the whole process; null: nothing is ever interrupted. Set it before the first call.
void set_interrupt_hook(InterruptHook hook) noexcept;

// Throws Interrupted if the hook throws.
void allow_interrupt(Pause pause);

// A stretch in which this thread's calls are not interrupted, since others would pay for it.
class Uninterrupted {
 public:
  Uninterrupted() noexcept;
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};

}  // namespace resonate
