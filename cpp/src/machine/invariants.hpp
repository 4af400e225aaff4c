// The invariants of PROTOCOL 6, each with its name.
#pragma once

#include <vector>

#include "machine/working_set.hpp"
#include "resonate/errors.hpp"
#include "resonate/options.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// Checks one stored row at the instant `now`.
void check_row(const Row& row, Instant now, RulesId rules, std::vector<Violation>& found);
void check_schedule(const Schedule& schedule, std::vector<Violation>& found);

// Checks a whole state: rows, edges, outbox, schedules. It reads everything.
std::vector<Violation> check_state(Storage& storage, RulesId rules);

// The cause of a change: a request or an internal step.
struct StepContext {
  Instant now = 0;
  const Operation* request = nullptr;  // null: an internal step
};

// Checks the states before and after, with WorkingSet::checkpoint() between them.
std::vector<Violation> check_step(WorkingSet& set, const StepContext& context, RulesId rules);

}  // namespace resonate
