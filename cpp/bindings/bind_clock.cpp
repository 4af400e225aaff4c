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
  py::class_<Clock, std::shared_ptr<Clock>>(module, "Clock", R"doc(
The source of a store's instants: a `ManualClock`, the `SystemClock` or a `DatabaseClock`. One clock can drive several stores.

Example:
    >>> isinstance(rc.ManualClock(), rc.Clock)
    True
)doc")
      .def_property_readonly("now", &now_of, "The current instant, in Unix ms. It never goes back.");

  py::class_<ManualClock, Clock, std::shared_ptr<ManualClock>>(module, "ManualClock", R"doc(
A clock that moves only when you move it, and runs the due steps of its stores on the way (PROTOCOL 4).

It drives every store that was created with it, in the order of their creation. Thread-safe; one move at a time.

Args:
    start: The first instant, in Unix ms or as an aware datetime, 1970 or later.

Raises:
    Invalid: The start is negative or beyond 64 bits, or a datetime without a time zone.
    TypeError: The start is neither an int (a float and a bool are not) nor a datetime.

Example:
    >>> clock = rc.ManualClock(start=1000)
    >>> store = rc.Store(clock=clock)
    >>> _ = store.promises.create("a", timeout=500, tags={"resonate:external": "true"})
    >>> clock.advance(2000)
    [Fired(kind='promise_timeout', id='a', at=1500, now=1500)]
    >>> clock.now
    3000
)doc")
      .def(py::init(&make_manual_clock), py::arg("start") = 0)
      .def("advance", &advance, py::arg("by"), R"doc(
Move the clock by a duration and run every due step on the way, each at its own instant.

Args:
    by: Milliseconds, 0 or more, or a `datetime.timedelta` of whole milliseconds.

Returns:
    The steps that fired, in order.

Raises:
    Invalid: The duration is negative, or not a whole number of milliseconds.
    TypeError: The duration is neither an int nor a timedelta.

Example:
    >>> from datetime import timedelta
    >>> clock = rc.ManualClock()
    >>> clock.advance(timedelta(days=1)), clock.now
    ([], 86400000)
)doc")
      .def("advance_to", &advance_to, py::arg("at"), R"doc(
Move the clock to an instant and run every due step on the way, each at its own instant.

The current instant is allowed: it runs the steps that are due now.

Args:
    at: Unix ms, or an aware datetime.

Returns:
    The steps that fired, in order.

Raises:
    Invalid: The instant has passed, or is a datetime without a time zone.
    TypeError: The instant is neither an int nor a datetime.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    >>> [(step.kind, step.at) for step in clock.advance_to(7_200_000) if step.kind == "schedule"]
    [('schedule', 3600000), ('schedule', 7200000)]
)doc")
      .def("advance_to_next", &advance_to_next, R"doc(
Move the clock to the next instant at which a step of any of its stores is due, and run it.

Returns:
    The steps that fired, in order. If no step will ever be due, it is empty and the clock does not move.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.promises.create("a", timeout=500, tags={"resonate:timer": "true"})
    >>> clock.advance_to_next(), clock.now, store.promises.get("a").state
    ([Fired(kind='promise_timeout', id='a', at=500, now=500)], 500, 'resolved')
)doc")
      .def("__repr__", [](ManualClock& self) { return Repr("ManualClock").with_instant("now", now_of(self)).done(); });

  py::class_<SystemClock, Clock, std::shared_ptr<SystemClock>>(module, "SystemClock", R"doc(
The system's time in ms, made monotonic: if the system's clock is set back, this clock stops until the system's has caught up.

A store runs due steps after requests that may write, and in `Store.tick`.

Example:
    >>> rc.SystemClock().now > 1_700_000_000_000
    True
)doc")
      .def(py::init([] { return std::make_shared<SystemClock>(); }))
      .def("__repr__", [](SystemClock&) { return "SystemClock()"; });

  py::class_<DatabaseClock, Clock, std::shared_ptr<DatabaseClock>>(module, "DatabaseClock", R"doc(
The time of a PostgreSQL server in ms, one for all machines that share a store there. A store in a database has one unless it was
given another clock.

Each transaction reads the server's time; between two transactions this machine's steady clock continues it. Like the `SystemClock`, it
never goes back.

Example:
    >>> issubclass(rc.DatabaseClock, rc.Clock)
    True
)doc")
      .def("__repr__", [](DatabaseClock&) { return "DatabaseClock()"; });
}

}  // namespace resonate::python
