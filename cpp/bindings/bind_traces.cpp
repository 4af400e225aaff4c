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
  py::class_<Recorder, std::shared_ptr<Recorder>>(module, "Recording", R"doc(
A recording of a store, made by `Store.record`. A context manager that closes it.

Example:
    >>> import io
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> trace = io.StringIO()
    >>> with store.record(trace) as recording:
    ...     _ = store.promises.create("a", timeout=1000)
    >>> recording.closed, recording.lines
    (True, 2)
)doc")
      .def_property_readonly("closed", &Recorder::closed, "Whether it has ended.")
      .def_property_readonly("lines", &Recorder::lines, "The number of lines written.")
      .def("close", &Recorder::close, R"doc(
End the recording and close the file; a file object is flushed and stays open. It has no effect on an ended recording.

Raises:
    StoreError: A line could not be written. The request itself was not affected.

Example:
    >>> import io
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> recording = store.record(io.StringIO())
    >>> recording.close()
)doc")
      .def("__enter__", [](const std::shared_ptr<Recorder>& self) { return self; })
      .def(
          "__exit__", [](Recorder& self, const AnyValue&, const AnyValue&, const AnyValue&) { self.close(); }, py::arg("exc_type"),
          py::arg("exc"), py::arg("traceback"))
      .def("__repr__",
           [](const Recorder& self) { return Repr("Recording").with("lines", self.lines()).with("closed", self.closed()).done(); });

  py::class_<ReplayResult>(module, "Replay", R"doc(
The result of `replay`. It is true in a condition if every line gave the recorded result.

Example:
    >>> import io
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> trace = io.StringIO()
    >>> with store.record(trace):
    ...     _ = store.promises.create("a", timeout=1000)
    >>> rc.replay(trace.getvalue().splitlines())
    Replay(ok=True, steps=2)
)doc")
      .def_readonly("ok", &ReplayResult::ok, "Whether every line gave the recorded result.")
      .def_readonly("steps", &ReplayResult::steps, "The number of lines that gave the recorded result.")
      .def_readonly("line", &ReplayResult::line, "The first line that differs, counted from 1; None if no line differs.")
      .def_property_readonly(
          "expected", [](const ReplayResult& self) { return unless_empty(self.expected); },
          "That line as it was recorded; None if no line differs.")
      .def_property_readonly(
          "got", [](const ReplayResult& self) { return unless_empty(self.got); },
          "That line as the replay wrote it; None if it wrote none.")
      .def_property_readonly("difference", &difference, "The first difference in words; None if no line differs.")
      .def("__bool__", [](const ReplayResult& self) { return self.ok; })
      .def("__repr__", [](const ReplayResult& self) {
        Repr repr("Replay");
        repr.with("ok", self.ok).with("steps", self.steps);
        if (!self.ok) repr.with("difference", difference(self));
        return repr.done();
      });

  module.def("replay", &run_replay, py::arg("trace"), R"doc(
Run a recorded trace again on a new store in memory, and compare the results with the recorded ones.

Args:
    trace: The path of a file, or the lines: a list, or an open file.

Returns:
    Whether all results are equal, and the first difference.

Raises:
    Invalid: A line is not part of a trace; the message has its number.
    OSError: The file cannot be read.

Example:
    >>> import io
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> trace = io.StringIO()
    >>> with store.record(trace):
    ...     _ = store.promises.create("a", timeout=1000)
    >>> forged = trace.getvalue().replace('"timeoutAt":1000', '"timeoutAt":2000', 1).splitlines()
    >>> rc.replay(forged).line
    2
)doc");
}

}  // namespace resonate::python
