// fork(2) while other threads are inside the core.
//
// A child has one thread: a lock that another thread of the parent held stays locked in it for ever, and what it guards may be half
// changed. So a fork waits until no other thread is inside the core, and lets none in until it is over. One gate for all of it: no
// lock of an engine, a clock or a library below can be forgotten. Files are closed for it, and opened again by whoever uses them
// next.
#pragma once

#include <pybind11/pybind11.h>

namespace resonate::python {

// A stretch in which the core is called: without the GIL, and counted by the gate. Every call into an engine or a clock is inside
// one. They nest: a recording's file may be written by Python code that uses a store.
class OutsidePython {
 public:
  OutsidePython();
  ~OutsidePython();
  OutsidePython(const OutsidePython&) = delete;
  OutsidePython& operator=(const OutsidePython&) = delete;

 private:
  PyThreadState* thread_;
};

// This thread never comes back from the stretch that it is in, if any: nobody is to wait for it.
void leave_for_good() noexcept;

}  // namespace resonate::python
