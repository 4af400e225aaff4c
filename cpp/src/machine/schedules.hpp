#pragma once

#include <optional>
#include <string>

#include "machine/working_set.hpp"
#include "resonate/options.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// Creates the promise or job of the schedule's due occurrence (or skips it, see Options::catchup) and sets the next one. A schedule
// that cannot be fired is set aside and examined again later; that counts as a step only if its problem has changed.
std::optional<Fired> fire_schedule(WorkingSet& set, WorkingSet::ScheduleEntry& entry, Instant now, const Options& options);

// Why a schedule cannot be fired.
struct ScheduleProblem {
  enum class Kind : std::uint8_t { none, zone, cron, of_template };
  Kind kind = Kind::none;
  std::string text;
};
ScheduleProblem problem_of(const Schedule& schedule);

// The id of the promise or job of an occurrence.
std::string occurrence_id(const Schedule& schedule, Instant at);

// The common prefix of the ids of a schedule's promises: the template up to its first variable part.
std::string fixed_beginning(const std::string& promise_id_template, const std::string& schedule_id);

}  // namespace resonate
