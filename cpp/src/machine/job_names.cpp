// The names of what jobs are made of: ours, as they stand on the wire, and those of asynq and horsies (JOBS 1).
#include <iterator>

#include "resonate/jobs.hpp"

namespace resonate {

namespace {

struct StateNames {
  std::string_view ours;
  std::string_view asynq;
  std::string_view horsies;
};
constexpr StateNames kStates[] = {
    {"scheduled", "scheduled", "PENDING"},   {"pending", "pending", "PENDING"}, {"claimed", "active", "CLAIMED"},
    {"running", "active", "RUNNING"},        {"retry", "retry", "PENDING"},     {"archived", "archived", "FAILED"},
    {"completed", "completed", "COMPLETED"}, {"failed", "archived", "FAILED"},  {"cancelled", "archived", "CANCELLED"},
    {"expired", "archived", "EXPIRED"},
};
static_assert(std::size(kStates) == kJobStates);
constexpr std::string_view kLifecycles[] = {"", "asynq", "horsies"};
constexpr std::string_view kExhausted[] = {"archived", "failed"};
constexpr std::string_view kPolicies[] = {"asynq", "fixed", "exponential"};
constexpr std::string_view kOutcomes[] = {"", "completed", "failed", "crashed", "timed_out", "snoozed", "cancelled"};

template <class Enum, std::size_t N>
std::optional<Enum> named(const std::string_view (&names)[N], std::string_view name) noexcept {
  for (std::size_t i = 0; i < N; ++i)
    if (!name.empty() && names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

const StateNames& names(JobState state) noexcept { return kStates[static_cast<std::size_t>(state)]; }

}  // namespace

std::string_view name_of(JobState state) noexcept { return names(state).ours; }
std::string_view asynq_name_of(JobState state) noexcept { return names(state).asynq; }
std::string_view horsies_name_of(JobState state) noexcept { return names(state).horsies; }
std::string_view name_of(Lifecycle lifecycle) noexcept { return kLifecycles[static_cast<std::size_t>(lifecycle)]; }
std::string_view name_of(OnExhausted what) noexcept { return kExhausted[static_cast<std::size_t>(what)]; }
std::string_view name_of(PolicyKind kind) noexcept { return kPolicies[static_cast<std::size_t>(kind)]; }
std::string_view name_of(Outcome outcome) noexcept { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<JobState> job_state_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kJobStates; ++i)
    if (kStates[i].ours == name) return static_cast<JobState>(i);
  return std::nullopt;
}
std::optional<Lifecycle> lifecycle_named(std::string_view name) noexcept { return named<Lifecycle>(kLifecycles, name); }
std::optional<OnExhausted> on_exhausted_named(std::string_view name) noexcept { return named<OnExhausted>(kExhausted, name); }
std::optional<PolicyKind> policy_named(std::string_view name) noexcept { return named<PolicyKind>(kPolicies, name); }
std::optional<Outcome> outcome_named(std::string_view name) noexcept { return named<Outcome>(kOutcomes, name); }

}  // namespace resonate
