// requests(): a typed call as the requests that it would run.
#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <string>

#include "bind.hpp"
#include "codec/described_write.hpp"
#include "codec/kinds.hpp"
#include "gil.hpp"
#include "open_store.hpp"
#include "python_sink.hpp"
#include "shown.hpp"

namespace resonate::python {

namespace {

using MadeList = Shown<"tuple[list[tuple[str, dict[str, typing.Any]]], bool]">;

using Arguments = Shown<"tuple[typing.Any, ...]">;
using Keywords = Shown<"dict[str, typing.Any]">;

constexpr const char* kActionCorrId = "inner";
constexpr int kCallerOfFace = 3;  // requests() is called by made(), made() by the method of a face

// An object of the class whose calls leave their requests in `made`.
py::object maker_of(py::handle type, MadeRequests& made) {
  const auto store = std::make_shared<OpenStore>(made);
  const auto is = [type](py::handle other) { return type.is(other); };
  if (is(py::type::of<Promises>())) return py::cast(Promises{store});
  if (is(py::type::of<Tasks>())) return py::cast(Tasks{store});
  if (is(py::type::of<Schedules>())) return py::cast(Schedules{store});
  if (is(py::type::of<Jobs>())) return py::cast(Jobs{store});
  if (is(py::type::of<Queues>())) return py::cast(Queues{store});
  throw py::type_error("type must be Promises, Tasks, Schedules, Jobs or Queues, got " + std::string(text_of(type)));
}

// Graphs of jobs ask for it once for each node, so it is made without an object that has the method.
bool is_enqueue(py::handle type, py::handle name) {
  return type.is(py::type::of<Jobs>()) && PyUnicode_Check(name.ptr()) &&
         PyUnicode_CompareWithASCIIString(name.ptr(), "enqueue") == 0;
}

py::tuple written(const Request& request) {
  PythonSink sink;
  encode_data(sink, request, kActionCorrId);
  return py::make_tuple(std::string(name_of(kind_of(request.operation), request.dialect)), sink.take());
}

MadeList requests(const py::type& type, const Str& name, const Arguments& arguments, const Keywords& keywords) {
  if (!PyTuple_Check(arguments.ptr()) || !PyDict_Check(keywords.ptr()))
    throw py::type_error("arguments must be a tuple, and keywords a dict");
  MadeRequests made;
  if (is_enqueue(type, name)) {
    made.requests.push_back(
        enqueue_request(py::reinterpret_borrow<py::tuple>(arguments), py::reinterpret_borrow<py::dict>(keywords)));
  } else {
    const py::object maker = maker_of(type, made);
    const py::object method = owned(into_python([&] { return PyObject_GetAttr(maker.ptr(), name.ptr()); }));
    owned(into_python([&] { return PyObject_Call(method.ptr(), arguments.ptr(), keywords.ptr()); }));
  }
  py::list all;
  for (const Request& request : made.requests) {
    OpenStore::warn_of_tags(request.operation, kCallerOfFace);
    all.append(written(request));
  }
  return MadeList(py::make_tuple(std::move(all), made.relative_deadline));
}

}  // namespace

void bind_made_requests(py::module_& module) {
  module.def("requests", &requests, py::arg("type"), py::arg("name"), py::arg("arguments"), py::arg("keywords"));
}

}  // namespace resonate::python
