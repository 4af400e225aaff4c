// Deltas of queues (decision 52). A shared transaction inserts a row with its additions to the counts of a queue. If it changed the
// row of the queue instead, all commits would wait for each other. An exclusive transaction adds the deltas to the queues.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "resonate/queues.hpp"

namespace resonate {

// Returns what a transaction has added to the queue, as an array of PostgreSQL: the jobs by state, the events of the present hour,
// the runs of the last day. None if it has changed anything else: another setting, an hour or a day that begins.
std::optional<std::string> delta_of(const Queue& before, const Queue& after);
// Returns the queue with the sum of such arrays; an empty text: there are none.
QueueRef with_deltas(QueueRef queue, std::string_view sums);
// SQL: the sums of such arrays over rows of queue_deltas, as a text.
std::string sums_of_deltas();

}  // namespace resonate
