// cron_next: computes when an expression fires, without a store.
#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "resonate/cron.hpp"

namespace resonate::python {

namespace {

py::typing::List<py::int_> cron_next(const Str& expression, const InstantArgument& after, const Int& count) {
  const std::int64_t wanted = integer(count, "count");
  if (wanted < 0) raise(ErrorClass::invalid, "count must be at least 0, got " + std::to_string(wanted));
  Instant at = instant(after, "after");
  py::typing::List<py::int_> occurrences;
  try {
    const auto parsed = CronExpression::parse(text(expression, "text"));
    for (std::int64_t i = 0; i < wanted; ++i) {
      const std::optional<Instant> next = parsed.next_after(at);
      if (!next) break;
      occurrences.append(py::int_(*next));
      at = *next;
    }
  } catch (const InvalidCron& problem) {
    raise(ErrorClass::invalid, problem.what());
  }
  return occurrences;
}

}  // namespace

void bind_cron(py::module_& module) {
  module.def("cron_next", &cron_next, py::arg("text"), py::arg("after"), py::arg("count") = 1);
}

}  // namespace resonate::python
