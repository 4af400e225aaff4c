// ManualClock and SystemClock: the sources of a store's instants (PROTOCOL 4).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "display.hpp"
#include "fork_safety.hpp"
#include "resonate/clock.hpp"

namespace resonate::python {

namespace {

using FiredList = py::typing::List<Fired>;

FiredList list_of(std::vector<Fired> fired) {
  FiredList made;
  for (Fired& step : fired) made.append(std::move(step));
  return made;
}

Instant now_of(Clock& clock) {
  const OutsidePython outside;
  return clock.now();
}

std::shared_ptr<ManualClock> make_manual_clock(const InstantArgument& start) {
  const Instant at = instant(start, "start");
  if (at < 0) raise(ErrorClass::invalid, "start must be at least 0, got " + std::to_string(at));
  return std::make_shared<ManualClock>(at);
}

FiredList advance(ManualClock& clock, const DurationArgument& by) {
  const Duration duration_ms = duration(by, "by");
  if (duration_ms < 0)
    raise(ErrorClass::invalid, "by must be at least 0 ms, got " + std::to_string(duration_ms) + ": a clock never goes back");
  std::vector<Fired> fired;
  {
    const OutsidePython outside;
    fired = clock.advance(duration_ms);
  }
  return list_of(std::move(fired));
}

FiredList advance_to(ManualClock& clock, const InstantArgument& at) {
  const Instant to = instant(at, "at");
  std::vector<Fired> fired;
  {
    const OutsidePython outside;
    fired = clock.advance_to(to);
  }
  return list_of(std::move(fired));
}

FiredList advance_to_next(ManualClock& clock) {
  std::vector<Fired> fired;
  {
    const OutsidePython outside;
    fired = clock.advance_to_next();
  }
  return list_of(std::move(fired));
}

}  // namespace

void bind_clock(py::module_& module) {
  py::class_<Clock, std::shared_ptr<Clock>>(module, "Clock").def_property_readonly("now", &now_of);

  py::class_<ManualClock, Clock, std::shared_ptr<ManualClock>>(module, "ManualClock")
      .def(py::init(&make_manual_clock), py::arg("start") = 0)
      .def("advance", &advance, py::arg("by"))
      .def("advance_to", &advance_to, py::arg("at"))
      .def("advance_to_next", &advance_to_next)
      .def("__repr__", [](ManualClock& self) { return Repr("ManualClock").with_instant("now", now_of(self)).done(); });

  py::class_<SystemClock, Clock, std::shared_ptr<SystemClock>>(module, "SystemClock")
      .def(py::init([] { return std::make_shared<SystemClock>(); }))
      .def("__repr__", [](SystemClock&) { return "SystemClock()"; });

  py::class_<DatabaseClock, Clock, std::shared_ptr<DatabaseClock>>(module, "DatabaseClock").def("__repr__", [](DatabaseClock&) {
    return "DatabaseClock()";
  });
}

}  // namespace resonate::python
