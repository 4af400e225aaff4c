// Ctrl-C during a long tick or advance.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>

namespace resonate::python {

// Called by the engine between two transactions, without the GIL. Taking the GIL may mean waiting for it, so only every 64th call
// looks for signals: the rest cost nothing, and 64 transactions are a few milliseconds.
inline std::function<void()> interrupt_on_signal() {
  return [calls = 0u]() mutable {
    if (++calls % 64 != 0) return;
    const pybind11::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  };
}

}  // namespace resonate::python
