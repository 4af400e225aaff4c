#pragma once

#include "machine/working_set.hpp"
#include "resonate/options.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// Makes the promise of the schedule's occurrence that is due (or skips it, by Options::catchup) and moves the schedule on.
Fired fire_schedule(WorkingSet& set, WorkingSet::ScheduleEntry& entry, Instant now, const Options& options);

}  // namespace resonate
