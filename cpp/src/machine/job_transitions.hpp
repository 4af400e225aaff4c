// The job lifecycle as a table (JOBS 3): for each event, the states in which it applies and the state it leads to. In any other
// state a request is refused and an internal step has no effect.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>

#include "resonate/jobs.hpp"

namespace resonate {

enum class JobEvent : std::uint8_t {
  ready,  // process_at or next_retry_at was reached
  claim,
  claim_and_start,
  start,
  release,
  lose_claim,  // the lease of a claimed job expired
  expire,      // good_until was reached before the first start
  complete,
  retry,    // a failed attempt; the job retries
  exhaust,  // a failed attempt; the job is archived
  fail,     // a failed attempt; the job fails
  snooze,
  start_over,  // a run of a workflow ended, and the next one begins
  suspend,
  wake,      // nothing that the job waits for is missing any more
  postpone,  // the same, and process_at is ahead
  cancel,
  run,
  archive,
  remove,   // the job is deleted
  resolve,  // a request resolved the promise
  reject,   // a request rejected the promise
  time_out  // the promise's deadline has passed
};

class JobStates {
 public:
  constexpr JobStates(std::initializer_list<JobState> states) noexcept {
    for (const JobState state : states) bits_ |= bit(state);
  }
  constexpr bool contains(JobState state) const noexcept { return (bits_ & bit(state)) != 0; }

 private:
  static constexpr unsigned bit(JobState state) noexcept { return 1U << static_cast<unsigned>(state); }
  unsigned bits_ = 0;
};

struct JobTransition {
  JobEvent event;
  JobStates from;
  std::optional<JobState> to;  // none: the job is deleted
};

// In the order of JobEvent.
inline constexpr auto kJobTransitions = [] {
  using enum JobState;
  constexpr JobStates kNotOver{scheduled, waiting, pending, claimed, running, retry, archived};
  return std::array{
      JobTransition{JobEvent::ready, {scheduled, retry}, pending},
      JobTransition{JobEvent::claim, {pending}, claimed},
      JobTransition{JobEvent::claim_and_start, {pending}, running},
      JobTransition{JobEvent::start, {claimed}, running},
      JobTransition{JobEvent::release, {claimed}, pending},
      JobTransition{JobEvent::lose_claim, {claimed}, pending},
      JobTransition{JobEvent::expire, {scheduled, waiting, pending, claimed}, expired},
      JobTransition{JobEvent::complete, {running}, completed},
      JobTransition{JobEvent::retry, {running}, retry},
      JobTransition{JobEvent::exhaust, {running}, archived},
      JobTransition{JobEvent::fail, {running}, failed},
      JobTransition{JobEvent::snooze, {running}, scheduled},
      JobTransition{JobEvent::start_over, {running}, pending},
      JobTransition{JobEvent::suspend, {running}, waiting},
      JobTransition{JobEvent::wake, {waiting}, pending},
      JobTransition{JobEvent::postpone, {waiting}, scheduled},
      JobTransition{JobEvent::cancel, kNotOver, cancelled},
      JobTransition{JobEvent::run, {scheduled, waiting, retry, archived}, pending},
      JobTransition{JobEvent::archive, {scheduled, waiting, pending, retry}, archived},
      JobTransition{JobEvent::remove, {scheduled, waiting, pending, retry, archived, completed, failed, cancelled, expired}, {}},
      JobTransition{JobEvent::resolve, kNotOver, completed},
      JobTransition{JobEvent::reject, kNotOver, failed},
      JobTransition{JobEvent::time_out, kNotOver, failed},
  };
}();

constexpr const JobTransition& transition(JobEvent event) noexcept { return kJobTransitions[static_cast<std::size_t>(event)]; }

// Returns whether the event applies in that state.
constexpr bool applies(JobEvent event, JobState from) noexcept { return transition(event).from.contains(from); }

// Returns whether any event leads from one state to the other.
constexpr bool job_edge_allowed(JobState from, JobState to) noexcept {
  if (from == to) return true;
  for (const JobTransition& row : kJobTransitions)
    if (row.from.contains(from) && row.to == to) return true;
  return false;
}

// The member that records when a job reached this final state; null if the state is not final.
constexpr Instant Job::*end_instant(JobState state) noexcept {
  switch (state) {
    case JobState::completed: return &Job::completed_at;
    case JobState::failed: return &Job::failed_at;
    case JobState::cancelled: return &Job::cancelled_at;
    case JobState::expired: return &Job::expired_at;
    default: return nullptr;
  }
}

static_assert([] {
  for (std::size_t i = 0; i < kJobTransitions.size(); ++i)
    if (kJobTransitions[i].event != static_cast<JobEvent>(i)) return false;
  for (std::size_t i = 0; i < kJobStates; ++i)
    if (applies(JobEvent::expire, static_cast<JobState>(i)) != may_expire(static_cast<JobState>(i))) return false;
  return kJobTransitions.size() == static_cast<std::size_t>(JobEvent::time_out) + 1;
}());
static_assert(!applies(JobEvent::complete, JobState::claimed));
static_assert(!job_edge_allowed(JobState::completed, JobState::pending));
static_assert(!job_edge_allowed(JobState::running, JobState::expired));

}  // namespace resonate
