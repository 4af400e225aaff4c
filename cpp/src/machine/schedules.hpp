#pragma once

#include <optional>
#include <string>

#include "machine/working_set.hpp"
#include "resonate/options.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// Makes the promise of the schedule's occurrence that is due (or skips it, by Options::catchup) and moves the schedule on. What
// cannot be fired is set aside, and looked at again; a look that finds what was known is no step.
std::optional<Fired> fire_schedule(WorkingSet& set, WorkingSet::ScheduleEntry& entry, Instant now, const Options& options);

// Why a schedule cannot be fired.
struct ScheduleProblem {
  enum class Kind : std::uint8_t { none, zone, cron, of_template };
  Kind kind = Kind::none;
  std::string text;
};
ScheduleProblem problem_of(const Schedule& schedule);

// The id of what it makes at an instant.
std::string occurrence_id(const Schedule& schedule, Instant at);

// How the ids of all promises of a schedule begin: its template up to the first part that is another each time.
std::string fixed_beginning(const std::string& promise_id_template, const std::string& schedule_id);

}  // namespace resonate
