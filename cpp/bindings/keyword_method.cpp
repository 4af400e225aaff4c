#include "keyword_method.hpp"

#include <cstring>

#include "misuse.hpp"

namespace resonate::python {

namespace {

// The place of a keyword; `size` where there is none of this name.
std::size_t place_of(PyObject* keyword, PyObject* const* names, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    if (names[i] == keyword) return i;
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (PyUnicode_Compare(names[i], keyword) == 0) return i;
  }
  return size;
}

std::size_t count_positional(const Parameter* parameters, std::size_t size) {
  std::size_t count = 0;
  while (count < size && !parameters[count].keyword_only()) ++count;
  return count;
}

}  // namespace

void sort_arguments(const char* method, const Parameter* parameters, PyObject* const* names, std::size_t size,
                    PyObject* const* given, Py_ssize_t positional, PyObject* keywords, PyObject** places) {
  const auto before = static_cast<std::size_t>(positional);
  if (before > 0 && before > count_positional(parameters, size)) {
    const std::size_t most = count_positional(parameters, size);
    throw py::type_error(std::string(method) + "() takes " + std::to_string(most) + " positional argument" +
                         (most == 1 ? "" : "s") + " but " + std::to_string(before) + (before == 1 ? " was given" : " were given"));
  }
  for (std::size_t i = 0; i < before; ++i) places[i] = given[i];
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t k = 0; k < named; ++k) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, k);
    const std::size_t place = place_of(keyword, names, size);
    if (place == size) {
      py::list known;
      for (std::size_t i = 0; i < size; ++i) known.append(parameters[i].name);
      throw py::type_error(unexpected_keyword(method, keyword, known));
    }
    if (places[place])
      throw py::type_error(std::string(method) + "() got multiple values for argument '" + parameters[place].name + "'");
    places[place] = given[positional + k];
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (places[i]) continue;
    if (parameters[i].required()) throw py::type_error(std::string(method) + "() needs the argument '" + parameters[i].name + "'");
    places[i] = Py_None;
  }
}

std::string signature_of(const char* method, const char* self_type, const Parameter* parameters, const char* const* types,
                         std::size_t size, const char* result_type) {
  std::string line = std::string(method) + "(self: " + self_type;
  for (std::size_t i = 0; i < size; ++i) {
    if (parameters[i].keyword_only() && (i == 0 || !parameters[i - 1].keyword_only())) line += ", *";
    line += std::string(", ") + parameters[i].name + ": " + types[i] + (parameters[i].required() ? "" : " = None");
  }
  return line + ") -> " + result_type + "\n";
}

std::vector<PyObject*> given_of(const py::tuple& arguments, const py::dict& keywords) {
  std::vector<PyObject*> given;
  given.reserve(arguments.size() + keywords.size());
  for (const py::handle one : arguments) given.push_back(one.ptr());
  for (const auto& [name, one] : keywords) {
    if (!PyUnicode_Check(name.ptr())) throw py::type_error("keywords must be strings");
    given.push_back(one.ptr());
  }
  return given;
}

void add_method(py::handle type, const char* name, FastCall call, const std::string& signature) {
  // Python refers to it as long as the class lives. Its text is allocated as those of pybind11 are.
  auto* const definition = new PyMethodDef{name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                                           METH_FASTCALL | METH_KEYWORDS, strdup(signature.c_str())};
  const auto method = py::reinterpret_steal<py::object>(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), definition));
  if (!method) throw py::error_already_set();
  type.attr(name) = method;
}

void set_python_error() noexcept {
  try {
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (...) {
    py::detail::try_translate_exceptions();
  }
}

}  // namespace resonate::python
