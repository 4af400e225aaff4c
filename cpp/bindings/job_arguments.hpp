// Arguments of the calls on jobs and queues that are not as on the wire.
#pragma once

#include <optional>
#include <vector>

#include "arguments.hpp"
#include "resonate/job_requests.hpp"

namespace resonate::python {

std::optional<Duration> optional_duration(py::handle given, const char* argument);

// A name, names, or weights by name.
std::vector<QueueChoice> queue_choices(py::handle given, const char* argument);

}  // namespace resonate::python
