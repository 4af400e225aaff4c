// The properties of PROTOCOL 6, each under its own name.
#pragma once

#include <vector>

#include "machine/working_set.hpp"
#include "resonate/errors.hpp"
#include "resonate/options.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// Of one stored row by itself, at the instant `now`.
void check_row(const Row& row, Instant now, RulesId rules, std::vector<Violation>& found);
void check_schedule(const Schedule& schedule, std::vector<Violation>& found);

// Of a whole state: rows, edges, outbox, schedules. Reads everything.
std::vector<Violation> check_state(Storage& storage, RulesId rules);

// What led from one state to the next: a request, or an internal step.
struct StepContext {
  Instant now = 0;
  const Operation* request = nullptr;  // null: an internal step
};

// Of the two consecutive states on both sides of WorkingSet::checkpoint().
std::vector<Violation> check_step(WorkingSet& set, const StepContext& context, RulesId rules);

}  // namespace resonate
