#include "resonate/interruption.hpp"

#include <atomic>

namespace resonate {

namespace {

std::atomic<InterruptHook> the_hook{nullptr};
thread_local int uninterrupted = 0;

}  // namespace

void set_interrupt_hook(InterruptHook hook) noexcept { the_hook.store(hook); }

void allow_interrupt(Pause pause) {
  const InterruptHook hook = the_hook.load(std::memory_order_relaxed);
  if (!hook || uninterrupted > 0) return;
  try {
    hook(pause);
  } catch (...) {
    throw Interrupted(std::current_exception());
  }
}

Uninterrupted::Uninterrupted() noexcept { ++uninterrupted; }
Uninterrupted::~Uninterrupted() { --uninterrupted; }

}  // namespace resonate
