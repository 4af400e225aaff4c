// fork(2) while other threads are inside the core.
//
// A child has one thread: a lock that another thread of the parent held stays locked for ever, and the data that it protects may be
// inconsistent. So a fork waits until no other thread is inside the core, and lets none in until it has finished. One gate covers
// all locks of engines, clocks and libraries. Files are closed for the fork and opened again at their next use.
#pragma once

#include <pybind11/pybind11.h>

namespace resonate::python {

// A scope in which the core is called: without the GIL, and counted by the gate. Every call into an engine or a clock is inside
// such a scope, except for Engine::try_apply (OpenStore::run_short). Scopes nest: a recording may write to Python code that uses a
// store.
class OutsidePython {
 public:
  OutsidePython();
  ~OutsidePython();
  OutsidePython(const OutsidePython&) = delete;
  OutsidePython& operator=(const OutsidePython&) = delete;

 private:
  PyThreadState* thread_;
};

// Whether a fork is under way. While it is not, one cannot begin before this thread gives the GIL away.
bool fork_is_under_way() noexcept;

// This thread never leaves its scope: forks must not wait for it.
void leave_for_good() noexcept;

}  // namespace resonate::python
