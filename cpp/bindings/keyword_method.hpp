// Methods with keywords, for the calls that are made most. pybind11 makes a string of every parameter's name in every call to find
// the keywords; this compares pointers (names in Python code are interned), which is a fifth of a whole promise.create.
//
// The function takes the object and one Shown<...> per parameter; an absent argument is None. __doc__ begins with the signature
// line that pybind11 would write.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gil.hpp"
#include "shown.hpp"

namespace resonate::python {

// What METH_FASTCALL | METH_KEYWORDS calls.
using FastCall = PyObject* (*)(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords);

// How a parameter may be given. An optional one is None where it is not.
enum class Given { required, optional, required_keyword, optional_keyword };

struct Parameter {
  const char* name;
  Given given = Given::optional_keyword;

  bool required() const noexcept { return given == Given::required || given == Given::required_keyword; }
  bool keyword_only() const noexcept { return given == Given::required_keyword || given == Given::optional_keyword; }
};

// Arguments of one call, sorted into the places of the parameters. Raises TypeError.
void sort_arguments(const char* method, const Parameter* parameters, PyObject* const* names, std::size_t size,
                    PyObject* const* given, Py_ssize_t positional, PyObject* keywords, PyObject** places);
std::string signature_of(const char* method, const char* self_type, const Parameter* parameters, const char* const* types,
                         std::size_t size, const char* result_type);
// The arguments of a call one after the other, as FastCall takes them; the names of the last are the keys of the dict.
std::vector<PyObject*> given_of(const py::tuple& arguments, const py::dict& keywords);
// Puts the method into the class; for the life of the process.
void add_method(py::handle type, const char* name, FastCall call, const std::string& signature);
// The pending C++ exception as Python's.
void set_python_error() noexcept;

// What `body` gives, or null with Python's error set.
template <class Body>
PyObject* guarded(Body body) noexcept {
  try {
    return body();
#if defined(__GLIBCXX__)
  } catch (abi::__forced_unwind&) {
    sleep_until_the_process_ends();
#endif
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// Python has seen to it that `self` is one of the class that has the method.
template <class Self>
const Self& instance_of(PyObject* self) {
  const Self* const object = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder().template value_ptr<Self>();
  if (!object) throw py::type_error("__init__() of this object was never called");
  return *object;
}

inline std::string type_name_of(py::handle type) {
  return std::string(py::str(type.attr("__module__"))) + "." + std::string(py::str(type.attr("__name__")));
}

inline PyObject* interned(const char* name) {
  PyObject* const made = PyUnicode_InternFromString(name);
  if (!made) throw py::error_already_set();
  return made;
}

// What `run` returns, as a new reference.
template <class Run>
PyObject* result_of(Run run) {
  using Result = std::invoke_result_t<Run>;
  if constexpr (std::is_void_v<Result>) {
    run();
    return py::none().release().ptr();
  } else if constexpr (std::is_base_of_v<py::object, Result>) {
    return run().release().ptr();
  } else {
    return py::cast(run()).release().ptr();
  }
}

template <auto Function>
class KeywordMethod;

template <class Result, class Self, class... Arguments, Result (*Function)(const Self&, const Arguments&...)>
class KeywordMethod<Function> {
 public:
  static constexpr std::size_t kSize = sizeof...(Arguments);
  using Parameters = std::array<Parameter, kSize>;

  static void bind(py::handle type, const char* name, const Parameters& parameters, const char* result_type) {
    const std::string self_type = type_name_of(type);
    const std::array<const char*, kSize> types{Arguments::type_name()...};
    bind_with_signature(type, name, parameters,
                        signature_of(name, self_type.c_str(), parameters.data(), types.data(), kSize, result_type));
  }

  // `signature`: a line, or several of them as pybind11 writes overloads.
  static void bind_with_signature(py::handle type, const char* name, const Parameters& parameters, const std::string& signature) {
    name_ = name;
    parameters_ = parameters;
    for (std::size_t i = 0; i < kSize; ++i) names_[i] = interned(parameters[i].name);
    add_method(type, name, &call, signature);
  }

 private:
  static PyObject* call(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) noexcept {
    return guarded([&] {
      std::array<PyObject*, kSize> places{};
      sort_arguments(name_, parameters_.data(), names_.data(), kSize, given, positional, keywords, places.data());
      return invoke(self, places, std::make_index_sequence<kSize>());
    });
  }

  template <std::size_t... I>
  static PyObject* invoke(PyObject* self, const std::array<PyObject*, kSize>& places, std::index_sequence<I...>) {
    const Self& object = instance_of<Self>(self);
    return result_of([&] { return Function(object, py::reinterpret_borrow<Arguments>(places[I])...); });
  }

  inline static const char* name_ = nullptr;
  inline static Parameters parameters_{};
  inline static std::array<PyObject*, kSize> names_{};
};

// A method whose parameters follow from descriptors: it takes what was given in their order, None where nothing was.
template <class Result, class Self, Result (*Function)(const Self&, PyObject* const* given)>
class KeywordMethod<Function> {
 public:
  static void bind(py::handle type, const char* name, const std::vector<Parameter>& parameters,
                   const std::vector<const char*>& types, const char* result_type) {
    name_ = name;
    parameters_ = parameters;
    for (const Parameter& parameter : parameters) names_.push_back(interned(parameter.name));
    add_method(type, name, &call,
               signature_of(name, type_name_of(type).c_str(), parameters.data(), types.data(), parameters.size(), result_type));
  }

  // Returns body(given) with the arguments as the method would get them, without an object. Raises TypeError, as the method.
  template <class Body>
  static auto with_arguments(const py::tuple& arguments, const py::dict& keywords, Body body) {
    const std::vector<PyObject*> given = given_of(arguments, keywords);
    const py::object names = keywords.empty() ? py::object() : py::tuple(keywords);
    return sorted(given.data(), PyTuple_GET_SIZE(arguments.ptr()), names.ptr(), body);
  }

 private:
  static PyObject* call(PyObject* self, PyObject* const* given, Py_ssize_t positional, PyObject* keywords) noexcept {
    return guarded([&] {
      return sorted(given, positional, keywords, [self](PyObject* const* places) {
        return result_of([&] { return Function(instance_of<Self>(self), places); });
      });
    });
  }

  template <class Body>
  static auto sorted(PyObject* const* given, Py_ssize_t positional, PyObject* keywords, Body body) {
    std::array<PyObject*, kMostParameters> places;
    std::fill_n(places.begin(), parameters_.size(), nullptr);
    sort_arguments(name_, parameters_.data(), names_.data(), parameters_.size(), given, positional, keywords, places.data());
    return body(static_cast<PyObject* const*>(places.data()));
  }

  static constexpr std::size_t kMostParameters = 64;
  inline static const char* name_ = nullptr;
  inline static std::vector<Parameter> parameters_;
  inline static std::vector<PyObject*> names_;
};

}  // namespace resonate::python
