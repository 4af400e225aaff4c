// Problems that a store works around: schedules that cannot be fired, and a wrong clock. The state itself is sound.
#include <algorithm>
#include <string>
#include <utility>

#include "codec/state_view.hpp"
#include "machine/invariants.hpp"
#include "machine/schedules.hpp"
#include "resonate/engine.hpp"
#include "wrong_clock.hpp"

namespace resonate {

namespace {

Violation set_aside(const Schedule& schedule, const std::string& problem) {
  const std::string until = schedule.set_aside ? ", looked at again at " + std::to_string(schedule.set_aside->retry_at)
                                               : ", due at " + std::to_string(schedule.next_run_at);
  return {"schedule_set_aside", schedule.id, problem + until};
}

// The most refused submissions that are listed.
constexpr std::size_t kMostSubmissions = 100;

}  // namespace

Duration Engine::clock_ahead() {
  std::lock_guard lock(mutex_);
  const StorageTransaction reading(*storage_, Access::read);
  return clock_->manual() ? 0 : std::max<Duration>(0, saturating_sub(present(), clock_->wall()));
}

std::vector<Violation> Engine::problems(ProblemScope scope) {
  const Duration ahead = clock_ahead();
  return with_storage([this, scope, ahead](Storage& storage) {
    std::vector<Violation> found;
    if (ahead > kClockTolerance)
      found.push_back({"clock_ahead", "clock",
                       "the store's last instant is " + std::to_string(storage.counters().now) + ", " + std::to_string(ahead) +
                           " ms ahead of " + clock_->name() + ": short deadlines pass at once, and schedules do not fire"});
    for (const Submission& refused : storage.submissions({.state = SubmissionState::refused, .limit = kMostSubmissions}))
      found.push_back({"submission_refused", std::to_string(refused.number),
                       "refused with " + std::to_string(refused.status) + ": " + refused.error});
    if (scope == ProblemScope::stored) {
      for (const ScheduleRef& schedule : storage.schedules({.by = ScheduleRange::By::set_aside}))
        found.push_back(set_aside(*schedule, schedule->set_aside->problem));
    } else {
      each_schedule(storage, [&found](const ScheduleRef& schedule) {
        if (schedule->due_at() == kNever) return;
        if (const ScheduleProblem problem = problem_of(*schedule); problem.kind != ScheduleProblem::Kind::none)
          found.push_back(set_aside(*schedule, problem.text));
        else if (schedule->set_aside)
          found.push_back(set_aside(*schedule, schedule->set_aside->problem));
      });
    }
    return found;
  });
}

ClockReset Engine::reset_clock(Extent extent) {
  std::lock_guard lock(mutex_);
  if (clock_->manual())
    throw Error(ErrorCode::invalid,
                "the clock of the store must be the system's or its database's for reset_clock, got a manual clock");
  ClockReset done;
  std::unique_ptr<Storage> after;
  {
    const StorageTransaction transaction(*storage_, extent == Extent::change ? Access::write : Access::read);
    done.from = done.to = clock_->wall();
    if (present() > done.to) after = set_back(*storage_, done);
    if (!after || extent == Extent::preview) return done;
    if (durable_) copy_state(*after, *storage_);
  }
  if (!durable_) storage_ = std::move(after);
  clock_->start_over();
  seen_ = done.to;
  emit_replaced();
  return done;
}

// Returns the state with its clock set back. Error (invariant): a property that holds now would be violated.
std::unique_ptr<Storage> Engine::set_back(Storage& storage, ClockReset& done) const {
  const std::unique_ptr<Storage> before = storage.fork();
  std::unique_ptr<Storage> after = with_clock_set_back(*before, done.to, done);
  std::vector<Violation> broken = check_state(*after, options_.rules);
  if (broken.empty()) return after;
  const std::vector<Violation> was_broken = check_state(*before, options_.rules);
  std::erase_if(broken, [&](const Violation& one) {
    return std::any_of(was_broken.begin(), was_broken.end(),
                       [&](const Violation& other) { return one.name == other.name && one.id == other.id; });
  });
  if (!broken.empty()) throw InvariantError(std::move(broken));
  return after;
}

}  // namespace resonate
