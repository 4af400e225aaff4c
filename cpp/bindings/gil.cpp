#include "gil.hpp"

#include <unistd.h>

#include <atomic>

#include "fork_safety.hpp"

namespace resonate::python {

namespace {

std::atomic<int> waiting{0};  // threads that have asked for the GIL here and do not have it yet
thread_local bool waits = false;

// Calls what takes the GIL.
template <class Take>
auto count_while(const Take& take) {
  if constexpr (!kInterpreterIsFreed) return into_python(take);
  waits = true;
  waiting.fetch_add(1);
  const auto taken = into_python(take);
  waiting.fetch_sub(1);
  waits = false;
  return taken;
}

}  // namespace

void sleep_until_the_process_ends() noexcept {
  leave_for_good();
  if (waits) waiting.fetch_sub(1);
  for (;;) ::pause();
}

int threads_that_wait_for_the_gil() noexcept { return waiting.load(); }

bool interpreter_is_ending() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() || !Py_IsInitialized();
#else
  return _Py_IsFinalizing() || !Py_IsInitialized();
#endif
}

PyThreadState* give_gil_away() noexcept { return PyEval_SaveThread(); }

void take_gil_again(PyThreadState* thread) noexcept {
  count_while([thread] {
    PyEval_RestoreThread(thread);
    return true;
  });
}

// Before 3.12, the interpreter has freed by then the state that PyGILState_Ensure reads.
PyGILState_STATE ensure_gil() noexcept {
  if (interpreter_is_ending()) sleep_until_the_process_ends();
  return count_while([] { return PyGILState_Ensure(); });
}

py::object imported(const char* module) {
  return owned(into_python([module] { return PyImport_ImportModule(module); }));
}

py::object member_of_module(const char* module, const char* name) {
  const py::object from = imported(module);
  return owned(into_python([&] { return PyObject_GetAttrString(from.ptr(), name); }));
}

py::object call_with(py::handle function, const py::tuple& arguments, const py::dict& keywords) {
  return owned(into_python([&] { return PyObject_Call(function.ptr(), arguments.ptr(), keywords.ptr()); }));
}

py::str text_of(py::handle object) {
  return py::reinterpret_steal<py::str>(owned(into_python([object] { return PyObject_Str(object.ptr()); })).release());
}

py::str repr_of(py::handle object) {
  return py::reinterpret_steal<py::str>(owned(into_python([object] { return PyObject_Repr(object.ptr()); })).release());
}

py::list list_of(py::handle iterable) {
  return py::reinterpret_steal<py::list>(owned(into_python([iterable] { return PySequence_List(iterable.ptr()); })).release());
}

}  // namespace resonate::python
