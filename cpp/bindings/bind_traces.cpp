// Recording a store, and replaying a recording.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "arguments.hpp"
#include "bind.hpp"
#include "display.hpp"
#include "fork_safety.hpp"
#include "gil.hpp"
#include "protocol/trace.hpp"
#include "recorder.hpp"

namespace resonate::python {

namespace {

using TraceArgument = Shown<"str | os.PathLike[str] | collections.abc.Iterable[str | bytes]">;

std::string line_of(py::handle line) {
  std::string text;
  if (PyBytes_Check(line.ptr())) {
    text = std::string(PyBytes_AS_STRING(line.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(line.ptr())));
  } else if (PyUnicode_Check(line.ptr())) {
    text = resonate::python::text(line, "trace");
  } else {
    wrong_type("trace", "a path or an iterable of lines", line);
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

std::vector<std::string> lines_of(py::handle trace) {
  std::vector<std::string> lines;
  const auto add = [&lines](py::handle each) {
    for (py::handle line : list_of(each)) {
      if (std::string text = line_of(line); !text.empty()) lines.push_back(std::move(text));
    }
  };
  if (!PyUnicode_Check(trace.ptr()) && !PyBytes_Check(trace.ptr()) && !py::hasattr(trace, "__fspath__")) {
    add(trace);
    return lines;
  }
  const py::object file = call(member_of_module("io", "open"), trace, py::str("rb"));
  const py::object content = call_method(file, "readlines");
  call_method(file, "close");
  add(content);
  return lines;
}

ReplayResult run_replay(const TraceArgument& trace) {
  const std::vector<std::string> lines = lines_of(trace);
  const OutsidePython outside;
  return replay(lines);
}

std::optional<std::string> difference(const ReplayResult& self) {
  if (self.ok) return std::nullopt;
  std::string text = self.line ? "line " + std::to_string(*self.line) : "after the last line";
  text += "\n  recorded: " + (self.expected.empty() ? "nothing more" : self.expected);
  text += "\n  replayed: " + (self.got.empty() ? "nothing more" : self.got);
  return text;
}

std::optional<std::string> unless_empty(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }

}  // namespace

void bind_traces(py::module_& module) {
  py::class_<Recorder, std::shared_ptr<Recorder>>(module, "Recording")
      .def_property_readonly("closed", &Recorder::closed)
      .def_property_readonly("lines", &Recorder::lines)
      .def("close", &Recorder::close)
      .def("__enter__", [](const std::shared_ptr<Recorder>& self) { return self; })
      .def(
          "__exit__", [](Recorder& self, const AnyValue&, const AnyValue&, const AnyValue&) { self.close(); }, py::arg("exc_type"),
          py::arg("exc"), py::arg("traceback"))
      .def("__repr__",
           [](const Recorder& self) { return Repr("Recording").with("lines", self.lines()).with("closed", self.closed()).done(); });

  py::class_<ReplayResult>(module, "Replay")
      .def_readonly("ok", &ReplayResult::ok)
      .def_readonly("steps", &ReplayResult::steps)
      .def_readonly("line", &ReplayResult::line)
      .def_property_readonly("expected", [](const ReplayResult& self) { return unless_empty(self.expected); })
      .def_property_readonly("got", [](const ReplayResult& self) { return unless_empty(self.got); })
      .def_property_readonly("difference", &difference)
      .def("__bool__", [](const ReplayResult& self) { return self.ok; })
      .def("__repr__", [](const ReplayResult& self) {
        Repr repr("Replay");
        repr.with("ok", self.ok).with("steps", self.steps);
        if (!self.ok) repr.with("difference", difference(self));
        return repr.done();
      });

  module.def("replay", &run_replay, py::arg("trace"));
}

}  // namespace resonate::python
