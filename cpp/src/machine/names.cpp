// The names of states and steps, as they stand on the wire.
#include "resonate/errors.hpp"
#include "resonate/requests.hpp"

namespace resonate {

namespace {
constexpr std::string_view kPromiseStates[] = {"pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"};
constexpr std::string_view kTaskStates[] = {"none", "pending", "acquired", "suspended", "halted", "fulfilled"};
constexpr std::string_view kSteps[] = {"promise_timeout", "listener_drain", "callback_drain",    "lease_expiry", "dispatch",
                                       "schedule",        "job_ready",      "job_batch",         "job_expiry",   "job_lease",
                                       "job_timeout",     "job_retention",  "schedule_set_aside"};
}  // namespace

std::string_view name_of(PromiseState state) noexcept { return kPromiseStates[static_cast<std::size_t>(state)]; }
std::string_view name_of(TaskState state) noexcept { return kTaskStates[static_cast<std::size_t>(state)]; }
std::string_view name_of(StepKind kind) noexcept { return kSteps[static_cast<std::size_t>(kind)]; }

std::optional<PromiseState> promise_state_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(kPromiseStates); ++i)
    if (kPromiseStates[i] == name) return static_cast<PromiseState>(i);
  return std::nullopt;
}

std::optional<TaskState> task_state_named(std::string_view name) noexcept {
  for (std::size_t i = 1; i < std::size(kTaskStates); ++i)
    if (kTaskStates[i] == name) return static_cast<TaskState>(i);
  return std::nullopt;
}

bool is_read(const Operation& operation) noexcept {
  return std::holds_alternative<PromiseGet>(operation) || std::holds_alternative<TaskGet>(operation) ||
         std::holds_alternative<ScheduleGet>(operation) || std::holds_alternative<PromiseSearch>(operation) ||
         std::holds_alternative<TaskSearch>(operation) || std::holds_alternative<ScheduleSearch>(operation) ||
         std::holds_alternative<JobGet>(operation) || std::holds_alternative<JobSearch>(operation) ||
         std::holds_alternative<JobStats>(operation) || std::holds_alternative<QueueGet>(operation) ||
         std::holds_alternative<QueueList>(operation);
}

bool is_search(const Operation& operation) noexcept {
  return std::holds_alternative<PromiseSearch>(operation) || std::holds_alternative<TaskSearch>(operation) ||
         std::holds_alternative<ScheduleSearch>(operation) || std::holds_alternative<JobSearch>(operation);
}

namespace {
std::string text_of(const std::vector<Violation>& violations) {
  std::string text = std::to_string(violations.size()) + " broken propert" + (violations.size() == 1 ? "y" : "ies") + ":";
  for (const Violation& violation : violations) text += "\n  " + violation.name + " on " + violation.id + ": " + violation.detail;
  return text;
}
}  // namespace

InvariantError::InvariantError(std::vector<Violation> violations)
    : Error(ErrorCode::invariant, text_of(violations)), violations_(std::move(violations)) {}

}  // namespace resonate
