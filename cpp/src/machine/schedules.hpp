#pragma once

#include <string>

#include "machine/working_set.hpp"
#include "resonate/options.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// Makes the promise of the schedule's occurrence that is due (or skips it, by Options::catchup) and moves the schedule on.
Fired fire_schedule(WorkingSet& set, WorkingSet::ScheduleEntry& entry, Instant now, const Options& options);

// How the ids of all promises of a schedule begin: its template up to the first part that is another each time.
std::string fixed_beginning(const std::string& promise_id_template, const std::string& schedule_id);

}  // namespace resonate
