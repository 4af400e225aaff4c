#include "machine/job_events.hpp"

#include <algorithm>
#include <utility>

#include "machine/calendar.hpp"

namespace resonate {

namespace {

// Returns the queue's present hour. A later hour ends it; it is stored as a row of its own, which no commit changes again.
QueueHour& present_hour(WorkingSet& set, Queue& queue, std::int64_t hour) {
  if (queue.hour && queue.hour->hour >= hour) return *queue.hour;
  if (queue.hour) set.end_hour(queue.name, *queue.hour, saturating_sub(hour, kHoursKept - 1));
  queue.hour = QueueHour{.hour = hour};
  return *queue.hour;
}

}  // namespace

JobEvents::JobEvents(WorkingSet& set, WorkingSet::QueueEntry& queue, Instant at)
    : set_(set), queue_(queue), hour_(calendar::floor_div(at, kHour)) {}

void JobEvents::count(std::int64_t QueueHour::*which, std::int64_t by) {
  queue_.tally.any = true;
  for (QueueHour* const sum : {&present_hour(set_, const_cast<Queue&>(*queue_.now), hour_), &queue_.tally.sums})
    sum->*which = saturating_add(sum->*which, by);
}

void JobEvents::created() { count(&QueueHour::enqueued); }

void JobEvents::started(const Job& job) {
  const Duration latency = std::max<Duration>(0, saturating_sub(job.started_at, job.enqueued_at));
  count(&QueueHour::started);
  count(&QueueHour::latency, latency);
  queue_.tally.latency.count(latency);
}

void JobEvents::ended(const Attempt& closed) {
  if (!counts_as_run(closed.outcome)) return;
  const Duration run_time = std::max<Duration>(0, saturating_sub(closed.finished_at, closed.started_at));
  count(&QueueHour::run_time, run_time);
  queue_.tally.run_time.count(run_time);
  if (closed.outcome == Outcome::crashed) count(&QueueHour::crashed);
  if (closed.outcome == Outcome::failed || closed.outcome == Outcome::timed_out) count(&QueueHour::failed);
}

void JobEvents::entered(JobState state, Attempted attempted) {
  switch (state) {
    case JobState::completed: return count(&QueueHour::completed);
    case JobState::failed:
      if (attempted == Attempted::no) count(&QueueHour::failed);
      return;
    case JobState::retry: return count(&QueueHour::retried);
    case JobState::archived: return count(&QueueHour::archived);
    case JobState::expired: return count(&QueueHour::expired);
    case JobState::cancelled: return count(&QueueHour::cancelled);
    default: return;
  }
}

}  // namespace resonate
