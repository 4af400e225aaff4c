// The job lifecycle as a table (JOBS 3): which event takes a job from which state to which. A pair that is not here is refused (a
// request) or without effect (an internal step).
#pragma once

#include <array>

#include "resonate/jobs.hpp"

namespace resonate {

enum class JobEvent : std::uint8_t {
  ready,  // process_at or next_retry_at was reached
  claim,
  claim_and_start,
  start,
  release,
  lose_claim,  // the claimer's lease ran out
  expire,
  complete,
  retry,    // a failed attempt, another follows
  exhaust,  // a failed attempt, none follows
  snooze,
  cancel,
  run,
  archive,
  settle,  // the promise was settled from outside, or by its deadline
};

struct JobTransition {
  JobEvent event;
  JobState from;
  JobState to;
};

inline constexpr std::array kJobTransitions = {
    JobTransition{JobEvent::ready, JobState::scheduled, JobState::pending},
    JobTransition{JobEvent::ready, JobState::retry, JobState::pending},
    JobTransition{JobEvent::claim, JobState::pending, JobState::claimed},
    JobTransition{JobEvent::claim_and_start, JobState::pending, JobState::running},
    JobTransition{JobEvent::start, JobState::claimed, JobState::running},
    JobTransition{JobEvent::release, JobState::claimed, JobState::pending},
    JobTransition{JobEvent::lose_claim, JobState::claimed, JobState::pending},
    JobTransition{JobEvent::expire, JobState::scheduled, JobState::expired},
    JobTransition{JobEvent::expire, JobState::pending, JobState::expired},
    JobTransition{JobEvent::expire, JobState::claimed, JobState::expired},
    JobTransition{JobEvent::expire, JobState::retry, JobState::expired},
    JobTransition{JobEvent::complete, JobState::running, JobState::completed},
    JobTransition{JobEvent::retry, JobState::running, JobState::retry},
    JobTransition{JobEvent::exhaust, JobState::running, JobState::archived},
    JobTransition{JobEvent::exhaust, JobState::running, JobState::failed},
    JobTransition{JobEvent::snooze, JobState::running, JobState::scheduled},
    JobTransition{JobEvent::cancel, JobState::scheduled, JobState::cancelled},
    JobTransition{JobEvent::cancel, JobState::pending, JobState::cancelled},
    JobTransition{JobEvent::cancel, JobState::claimed, JobState::cancelled},
    JobTransition{JobEvent::cancel, JobState::running, JobState::cancelled},
    JobTransition{JobEvent::cancel, JobState::retry, JobState::cancelled},
    JobTransition{JobEvent::cancel, JobState::archived, JobState::cancelled},
    JobTransition{JobEvent::run, JobState::scheduled, JobState::pending},
    JobTransition{JobEvent::run, JobState::retry, JobState::pending},
    JobTransition{JobEvent::run, JobState::archived, JobState::pending},
    JobTransition{JobEvent::archive, JobState::scheduled, JobState::archived},
    JobTransition{JobEvent::archive, JobState::pending, JobState::archived},
    JobTransition{JobEvent::archive, JobState::retry, JobState::archived},
};

// Whether the event may meet a job in that state.
constexpr bool applies(JobEvent event, JobState from) noexcept {
  if (event == JobEvent::settle) return !is_terminal(from);
  for (const JobTransition& row : kJobTransitions)
    if (row.event == event && row.from == from) return true;
  return false;
}

// Whether any event takes a job along this edge.
constexpr bool job_edge_allowed(JobState from, JobState to) noexcept {
  if (from == to) return true;
  const bool settled = to == JobState::completed || to == JobState::failed || to == JobState::cancelled;
  if (settled && applies(JobEvent::settle, from)) return true;
  for (const JobTransition& row : kJobTransitions)
    if (row.from == from && row.to == to) return true;
  return false;
}

static_assert(!applies(JobEvent::complete, JobState::claimed));
static_assert(!job_edge_allowed(JobState::completed, JobState::pending));
static_assert(!job_edge_allowed(JobState::running, JobState::expired));

}  // namespace resonate
