// The dicts that store.views returns: due steps, leases, hours and totals of queues.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "resonate/views.hpp"

namespace resonate::python {

pybind11::list due_list(const std::vector<NextDue>& next);
pybind11::dict lease_dict(const Row& row);
pybind11::list hours_list(const std::vector<std::pair<std::string, std::vector<QueueHour>>>& all);
// `at`: the instant up to which latencies count.
pybind11::dict totals_dict(const QueueTotals& totals, Instant at);

}  // namespace resonate::python
