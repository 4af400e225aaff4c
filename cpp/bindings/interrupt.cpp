// Ctrl-C during a call that takes long or waits for another process.
#include "bind.hpp"
#include "gil.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate::python {

namespace {

// Taking the GIL can mean waiting for it, and the calls of a working thread come less than about a millisecond apart.
constexpr unsigned kCallsPerSignalCheck = 16;

unsigned long main_thread = 0;  // NOLINT(runtime/int): Python's type

// Python's main thread handles signals. A call of another thread ends when Python shuts down, because its result would be lost.
// Runs without the GIL.
void check_signals(Pause pause) {
  if (PyThread_get_thread_ident() != main_thread) {
    if (interpreter_is_ending()) throw Error(ErrorCode::closed, "Python is shutting down");
    return;
  }
  static unsigned calls = 0;  // used by the main thread only
  if (pause == Pause::working && ++calls % kCallsPerSignalCheck != 0) return;
  if (interpreter_is_ending()) return;
  const InsidePython held;
  if (into_python([] { return PyErr_CheckSignals(); }) != 0) throw py::error_already_set();
}

// In a child, the thread that called fork() is the main thread.
void know_main_thread() { main_thread = PyThread_get_thread_ident(); }

}  // namespace

void bind_interrupts(py::module_&) {
  const py::object main = call(member_of_module("threading", "main_thread"));
  main_thread = py::cast<unsigned long>(main.attr("ident"));
  const auto os = imported("os");
  if (py::hasattr(os, "register_at_fork"))
    call_with(os.attr("register_at_fork"), py::tuple(), py::dict(py::arg("after_in_child") = py::cpp_function(&know_main_thread)));
  set_interrupt_hook(&check_signals);
}

}  // namespace resonate::python
