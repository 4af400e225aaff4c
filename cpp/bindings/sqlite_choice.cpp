#include "sqlite_choice.hpp"

#include <dlfcn.h>
#include <pybind11/pybind11.h>

#include <cstring>
#include <string>

#include "gil.hpp"
#include "resonate/sqlite_copies.hpp"

namespace resonate::python {

namespace {

// A handle of the library that Python's extension module _sqlite3 calls; null: this Python has no such module.
void* library_of_python() {
  py::object module;
  try {
    module = imported("_sqlite3");
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return nullptr;
  }
  // dlsym searches the module and all that it is linked to. A module without a file is a part of the interpreter.
  if (!py::hasattr(module, "__file__")) return ::dlopen(nullptr, RTLD_LAZY);
  const auto file = py::cast<std::string>(py::getattr(module, "__file__"));
  return ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

// The path in the argument of sqlite3.connect(), which may be a URI; empty: there is none.
std::string path_in(py::handle database) {
  const py::object text = call(member_of_module("os", "fsdecode"), database);
  py::object path = text;
  if (py::cast<bool>(call_method(text, "startswith", py::str("file:"))))
    path = call(member_of_module("urllib.parse", "unquote_to_bytes"),
                py::getattr(call(member_of_module("urllib.parse", "urlsplit"), text), "path"));
  return py::cast<std::string>(call(member_of_module("os", "fsencode"), path));
}

// Python calls it before sqlite3.connect() opens a file.
int refuse_file_of_a_store(const char* event, PyObject* arguments, void*) {
  if (std::strcmp(event, "sqlite3.connect") != 0 || PyTuple_GET_SIZE(arguments) < 1) return 0;
  try {
    const std::string path = path_in(PyTuple_GET_ITEM(arguments, 0));
    if (!is_open_in_a_store(path)) return 0;
    const py::object unsupported = member_of_module("resonate_core.errors", "Unsupported");
    const std::string why =
        "database must not be open in a store of this process, got \"" + path +
        "\": Python's sqlite3 and resonate_core have different copies of the SQLite library here, and two copies "
        "undo each other's locks. Close the store first, open it in another process, or use a Python that is "
        "linked to a SQLite library of its own file, of version 3.37 or newer";
    PyErr_SetString(unsupported.ptr(), why.c_str());
  } catch (py::error_already_set& error) {
    error.restore();
  }
  return -1;
}

}  // namespace

void choose_sqlite() {
  if (!sqlite_is_loaded()) return;
  load_sqlite(library_of_python());
  if (sqlite_is_own_copy() && PySys_AddAuditHook(&refuse_file_of_a_store, nullptr) != 0) throw py::error_already_set();
}

}  // namespace resonate::python
