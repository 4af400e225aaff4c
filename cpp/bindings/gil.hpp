// The GIL: the one place where it is given away and taken, and where C++ calls what may run Python code.
//
// Once an interpreter begins to end, a thread that asks for the GIL never gets it. CPython 3.14 lets such a thread sleep until the
// process is gone; earlier ones end it with pthread_exit, which unwinds its stack as an exception would: through destructors that
// need the GIL, and through functions that let no exception out, which aborts the process. So whatever may ask for the GIL is
// called here, directly above Python, and the unwinding stops here: the thread sleeps on every version.
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

// Of a thread that the interpreter would have ended.
[[noreturn]] void sleep_until_the_process_ends() noexcept;

// Calls a function of Python's that may ask for the GIL. `body` owns nothing: nothing may be unwound between Python and here.
template <class Body>
auto into_python(const Body& body) {
  static_assert(std::is_trivially_destructible_v<Body>);
#if defined(__GLIBCXX__)  // elsewhere pthread_exit unwinds nothing
  try {
    return body();
  } catch (abi::__forced_unwind&) {
    sleep_until_the_process_ends();
  }
#else
  return body();
#endif
}

// The interpreter has begun to end: only the thread that ends it gets the GIL.
bool interpreter_is_ending() noexcept;

// Gives the GIL away, and takes it again.
PyThreadState* give_gil_away() noexcept;
void take_gil_again(PyThreadState* thread) noexcept;
// Takes the GIL in a thread that Python may not have seen yet.
PyGILState_STATE ensure_gil() noexcept;

// A value of Python's that is made at its first use and kept until the process ends. Used with the GIL. Making it may let other
// threads in; the value that is there first stays. (pybind11's own gives the GIL away and takes it where nothing may be unwound.)
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

// A stretch with the GIL within one without it, or in a thread that Python has not seen yet.
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

// A new reference, or the pending error.
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
// What an iterable gives, as a list.
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
