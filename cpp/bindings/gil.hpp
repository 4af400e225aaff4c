// The GIL: the only place where it is released and taken, and where C++ calls functions that can run Python code.
//
// Once an interpreter begins to shut down, a thread that asks for the GIL never gets it. CPython 3.14 lets such a thread sleep
// until the process ends. Earlier versions end it with pthread_exit, which unwinds its stack like an exception: through destructors
// that need the GIL, and through noexcept functions, which aborts the process. So functions that may ask for the GIL are called
// here, directly above Python, and the unwinding stops here: the thread sleeps on every version.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <memory>
#include <type_traits>
#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace resonate::python {

namespace py = pybind11;

// For a thread that the interpreter would have ended.
[[noreturn]] void sleep_until_the_process_ends() noexcept;

// Calls a Python function that may ask for the GIL. `body` must own nothing, because the unwinding does not run its destructors.
template <class Body>
auto into_python(const Body& body) {
  static_assert(std::is_trivially_destructible_v<Body>);
#if defined(__GLIBCXX__)  // on other systems pthread_exit does not unwind
  try {
    return body();
  } catch (abi::__forced_unwind&) {
    sleep_until_the_process_ends();
  }
#else
  return body();
#endif
}

// True once the interpreter shuts down: then only the thread that ends it gets the GIL.
bool interpreter_is_ending() noexcept;

// Releases the GIL and takes it again.
PyThreadState* give_gil_away() noexcept;
void take_gil_again(PyThreadState* thread) noexcept;
// Takes the GIL in a thread that may be unknown to Python.
PyGILState_STATE ensure_gil() noexcept;

// Python 3.10 frees the interpreter at its end, while threads still wait for its GIL.
inline constexpr bool kInterpreterIsFreed = PY_VERSION_HEX < 0x030B0000;
// The threads inside the two functions above, without those that sleep for good. Counted if `kInterpreterIsFreed`.
int threads_that_wait_for_the_gil() noexcept;

// A Python value that is created at its first use and kept until the process ends. Use it with the GIL. Creating it may release the
// GIL; if several threads create it, the first value stays. (pybind11's own class takes the GIL where a thread must not be
// unwound.)
template <class Value>
class MadeOnce {
 public:
  constexpr MadeOnce() = default;
  template <class Make>
  const Value& get(const Make& make) {
    if (!value_) {
      auto made = std::make_unique<Value>(make());
      if (!value_) value_ = made.release();
    }
    return *value_;
  }

 private:
  Value* value_ = nullptr;
};

// A scope with the GIL inside a scope without it, or in a thread that is unknown to Python.
class InsidePython {
 public:
  InsidePython() : before_(ensure_gil()) {}
  ~InsidePython() { PyGILState_Release(before_); }
  InsidePython(const InsidePython&) = delete;
  InsidePython& operator=(const InsidePython&) = delete;

 private:
  PyGILState_STATE before_;
};

// --- With the GIL; each raises what Python raises.
// ---------------------------------------------------------------------------------

// Takes a new reference; raises the pending error if it is null.
inline py::object owned(PyObject* made) {
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

py::object imported(const char* module);
py::object member_of_module(const char* module, const char* name);
py::object call_with(py::handle function, const py::tuple& arguments, const py::dict& keywords);
// str(), repr().
py::str text_of(py::handle object);
py::str repr_of(py::handle object);
// The items of an iterable as a list.
py::list list_of(py::handle iterable);

template <class... Arguments>
py::object call(py::handle function, const Arguments&... arguments) {
  const std::array<PyObject*, sizeof...(Arguments) + 1> places = {arguments.ptr()..., nullptr};
  return owned(into_python([&] { return PyObject_Vectorcall(function.ptr(), places.data(), sizeof...(Arguments), nullptr); }));
}

template <class... Arguments>
py::object call_method(py::handle object, const char* name, const Arguments&... arguments) {
  return call(owned(into_python([&] { return PyObject_GetAttrString(object.ptr(), name); })), arguments...);
}

}  // namespace resonate::python
