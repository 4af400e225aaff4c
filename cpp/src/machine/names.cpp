// Names of states, steps and job members on the wire, and the state names of asynq and horsies (JOBS 1).
#include <iterator>

#include "resonate/requests.hpp"

namespace resonate {

namespace {
constexpr std::string_view kPromiseStates[] = {"pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout"};
constexpr std::string_view kTaskStates[] = {"none", "pending", "acquired", "suspended", "halted", "fulfilled"};
constexpr std::string_view kSteps[] = {
    "promise_timeout", "listener_drain", "callback_drain",     "lease_expiry", "dispatch",
    "schedule",        "job_ready",      "job_batch",          "job_expiry",   "job_lease",
    "job_timeout",     "job_retention",  "schedule_set_aside", "cancel_drain", "job_retention_put_off"};
static_assert(std::size(kSteps) == kStepKinds);

struct StateNames {
  std::string_view ours;
  std::string_view asynq;
  std::string_view horsies;
};
constexpr StateNames kStates[] = {
    {"scheduled", "scheduled", "PENDING"},  {"waiting", "scheduled", "PENDING"},     {"pending", "pending", "PENDING"},
    {"claimed", "active", "CLAIMED"},       {"running", "active", "RUNNING"},        {"retry", "retry", "PENDING"},
    {"archived", "archived", "FAILED"},     {"completed", "completed", "COMPLETED"}, {"failed", "archived", "FAILED"},
    {"cancelled", "archived", "CANCELLED"}, {"expired", "archived", "EXPIRED"},
};
static_assert(std::size(kStates) == kJobStates);
constexpr std::string_view kLifecycles[] = {"", "asynq", "horsies", "workflow"};
constexpr std::string_view kExhausted[] = {"archived", "failed"};
constexpr std::string_view kPolicies[] = {"asynq", "fixed", "exponential"};
constexpr std::string_view kOutcomes[] = {"", "completed", "failed", "crashed", "timed_out", "snoozed", "suspended", "cancelled"};
constexpr std::string_view kAfterFailed[] = {"cancel", "run"};
constexpr std::string_view kChildKinds[] = {"record", "receive", "message", "job"};
constexpr std::string_view kUntil[] = {"any", "all"};

template <class Enum, std::size_t N>
std::optional<Enum> named(const std::string_view (&names)[N], std::string_view name) noexcept {
  for (std::size_t i = 0; i < N; ++i)
    if (!name.empty() && names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

const StateNames& names(JobState state) noexcept { return kStates[static_cast<std::size_t>(state)]; }

}  // namespace

std::string_view name_of(PromiseState state) noexcept { return kPromiseStates[static_cast<std::size_t>(state)]; }
std::string_view name_of(TaskState state) noexcept { return kTaskStates[static_cast<std::size_t>(state)]; }
std::string_view name_of(ChildKind kind) noexcept { return kChildKinds[static_cast<std::size_t>(kind)]; }
std::string_view name_of(StepKind kind) noexcept { return kSteps[static_cast<std::size_t>(kind)]; }

std::optional<PromiseState> promise_state_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(kPromiseStates); ++i)
    if (kPromiseStates[i] == name) return static_cast<PromiseState>(i);
  return std::nullopt;
}

bool may_be_state_of_step(std::string_view state) noexcept { return state == "pending" || may_be_settled_to(state); }

bool may_be_settled_to(std::string_view state) noexcept {
  return state == "resolved" || state == "rejected" || state == "rejected_canceled";
}

std::optional<TaskState> task_state_named(std::string_view name) noexcept {
  for (std::size_t i = 1; i < std::size(kTaskStates); ++i)
    if (kTaskStates[i] == name) return static_cast<TaskState>(i);
  return std::nullopt;
}

std::string_view name_of(JobState state) noexcept { return names(state).ours; }
std::string_view asynq_name_of(JobState state) noexcept { return names(state).asynq; }
std::string_view horsies_name_of(JobState state) noexcept { return names(state).horsies; }
std::string_view name_of(Lifecycle lifecycle) noexcept { return kLifecycles[static_cast<std::size_t>(lifecycle)]; }
std::string_view name_of(OnExhausted what) noexcept { return kExhausted[static_cast<std::size_t>(what)]; }
std::string_view name_of(PolicyKind kind) noexcept { return kPolicies[static_cast<std::size_t>(kind)]; }
std::string_view name_of(AfterFailed what) noexcept { return kAfterFailed[static_cast<std::size_t>(what)]; }
std::string_view name_of(Until which) noexcept { return kUntil[static_cast<std::size_t>(which)]; }
std::string_view name_of(Outcome outcome) noexcept { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<JobState> job_state_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kJobStates; ++i)
    if (kStates[i].ours == name) return static_cast<JobState>(i);
  return std::nullopt;
}
std::optional<ChildKind> child_kind_named(std::string_view name) noexcept { return named<ChildKind>(kChildKinds, name); }
std::optional<Lifecycle> lifecycle_named(std::string_view name) noexcept { return named<Lifecycle>(kLifecycles, name); }
std::optional<OnExhausted> on_exhausted_named(std::string_view name) noexcept { return named<OnExhausted>(kExhausted, name); }
std::optional<PolicyKind> policy_named(std::string_view name) noexcept { return named<PolicyKind>(kPolicies, name); }
std::optional<AfterFailed> after_failed_named(std::string_view name) noexcept { return named<AfterFailed>(kAfterFailed, name); }
std::optional<Until> until_named(std::string_view name) noexcept { return named<Until>(kUntil, name); }
std::optional<Outcome> outcome_named(std::string_view name) noexcept { return named<Outcome>(kOutcomes, name); }

}  // namespace resonate
