// How a caller interrupts a call that takes long or waits, for example with Ctrl-C.
//
// The core calls the embedder's hook at fixed places: between two transactions, at every page of a long read, and while it waits
// for another process. The hook decides. An interrupted transaction is rolled back.
#pragma once

#include <cstdint>
#include <exception>
#include <utility>

namespace resonate {

// Thrown by the interrupted call; carries the exception of the hook.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(std::exception_ptr cause) noexcept : cause_(std::move(cause)) {}
  const char* what() const noexcept override { return "interrupted"; }
  const std::exception_ptr& cause() const noexcept { return cause_; }

 private:
  std::exception_ptr cause_;
};

// What the thread is doing: working (the hook is called every few ms at most, and may skip most calls) or waiting.
enum class Pause : std::uint8_t { working, waiting };

// Called in the thread of the request; it throws to interrupt the request. It may be called while an engine's lock is held, so it
// must not use the store.
using InterruptHook = void (*)(Pause);

// Sets the hook of the process; null: calls are never interrupted. Call it before the first use of the core.
void set_interrupt_hook(InterruptHook hook) noexcept;

// Throws Interrupted if the hook throws.
void allow_interrupt(Pause pause);

// A scope in which this thread's calls are not interrupted, because other callers depend on the work.
class Uninterrupted {
 public:
  Uninterrupted() noexcept;
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;
};

}  // namespace resonate
