// Jobs and queues: the members that a job adds to its promise and task (JOBS 1 and 2), and the state of a queue.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resonate/described.hpp"
#include "resonate/instant.hpp"
#include "resonate/queue_hours.hpp"
#include "resonate/shared.hpp"
#include "resonate/values.hpp"

namespace resonate {

enum class JobState : std::uint8_t { scheduled, pending, claimed, running, retry, archived, completed, failed, cancelled, expired };
inline constexpr std::size_t kJobStates = 10;

constexpr bool is_terminal(JobState state) noexcept { return state >= JobState::completed; }
constexpr bool is_held(JobState state) noexcept { return state == JobState::claimed || state == JobState::running; }
// Returns whether a job that has never started expires at its good_until in this state.
constexpr bool may_expire(JobState state) noexcept {
  return state == JobState::scheduled || state == JobState::pending || state == JobState::claimed;
}

// Returns whether the state has an index of its own: few jobs are in it, and operators search for them.
constexpr bool has_state_index(JobState state) noexcept {
  return state != JobState::pending && state != JobState::completed && !is_held(state);
}

enum class Lifecycle : std::uint8_t { none, asynq, horsies };
enum class OnExhausted : std::uint8_t { archived, failed };
enum class PolicyKind : std::uint8_t { asynq, fixed, exponential };

enum class Outcome : std::uint8_t { open, completed, failed, crashed, timed_out, snoozed, cancelled };

std::string_view name_of(JobState state) noexcept;
std::string_view name_of(Lifecycle lifecycle) noexcept;  // none: empty
std::string_view name_of(OnExhausted what) noexcept;
std::string_view name_of(PolicyKind kind) noexcept;
std::string_view name_of(Outcome outcome) noexcept;
std::optional<JobState> job_state_named(std::string_view name) noexcept;
std::optional<Lifecycle> lifecycle_named(std::string_view name) noexcept;
std::optional<OnExhausted> on_exhausted_named(std::string_view name) noexcept;
std::optional<PolicyKind> policy_named(std::string_view name) noexcept;
std::optional<Outcome> outcome_named(std::string_view name) noexcept;

// For the descriptors: an enum by its name, and which names there are.
inline std::optional<JobState> parse(Of<JobState>, std::string_view name) noexcept { return job_state_named(name); }
inline std::optional<Lifecycle> parse(Of<Lifecycle>, std::string_view name) noexcept { return lifecycle_named(name); }
inline std::optional<OnExhausted> parse(Of<OnExhausted>, std::string_view name) noexcept { return on_exhausted_named(name); }
inline std::optional<PolicyKind> parse(Of<PolicyKind>, std::string_view name) noexcept { return policy_named(name); }
inline std::optional<Outcome> parse(Of<Outcome>, std::string_view name) noexcept { return outcome_named(name); }
constexpr std::string_view names_of(Of<JobState>) noexcept { return "a state of a job"; }
constexpr std::string_view names_of(Of<Lifecycle>) noexcept { return "asynq or horsies"; }
constexpr std::string_view names_of(Of<OnExhausted>) noexcept { return "archived or failed"; }
constexpr std::string_view names_of(Of<PolicyKind>) noexcept { return "fixed, exponential or asynq"; }
constexpr std::string_view names_of(Of<Outcome>) noexcept { return "the outcome of an attempt"; }

// When a failed job is retried, and after which errors (JOBS 3).
struct RetryPolicy {
  PolicyKind kind = PolicyKind::asynq;
  std::vector<Duration> intervals;  // fixed: the last one repeats
  Duration base = 0;                // exponential
  double factor = 2;
  Duration cap = 86'400'000;
  double jitter = 0;
  std::optional<std::vector<std::string>> codes;  // error codes that retry; empty: all

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};
template <std::same_as<RetryPolicy> T>
constexpr auto fields(Of<T>) {
  constexpr auto fixed = [](const T& policy) { return policy.kind == PolicyKind::fixed; };
  constexpr auto exponential = [](const T& policy) { return policy.kind == PolicyKind::exponential; };
  return std::tuple{
      member(Field::kind, &T::kind),
      member(Field::intervals, &T::intervals).within(1, 100).each("an interval of retryPolicy").held_to(Limit::delay).where(fixed),
      member(Field::base, &T::base).duration(1).held_to(Limit::delay).where(exponential),
      member(Field::factor, &T::factor).optional().within(1, 1000).where(exponential),
      member(Field::cap, &T::cap).optional().duration(1).held_to(Limit::delay).where(exponential),
      member(Field::jitter, &T::jitter).optional().within(0, 1).where(exponential),
      member(Field::codes, &T::codes).each("a code of retryPolicy").text().naming(Names::nothing).called_if_long("code"),
  };
}

inline constexpr Duration kKept = -1;  // a retention: for ever

struct JobSpec final : Counted {
  std::string queue;
  std::string type;
  std::optional<Value> payload;  // set if it differs from the promise's param, which an adopted promise keeps
  bool adopted = false;          // the promise existed before the job
  std::int64_t priority = 50;
  std::int64_t max_retries = 0;
  RetryPolicy policy;
  OnExhausted on_exhausted = OnExhausted::archived;
  bool one_step = false;              // a claim also starts it
  bool cancel_with_awaiters = false;  // an awaiter that is cancelled cancels it; false for jobs of earlier releases
  Instant good_until = kNever;
  Duration timeout = 0;  // of an attempt; 0: none
  Duration retention = kKept;
  std::optional<std::string> unique_key;
  Duration unique_for = 0;  // 0: until the job has finished
  Shared<const SharedString> group;
  Instant sent_at = 0;
};
template <std::same_as<JobSpec> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::queue, &T::queue),
      member(Field::type, &T::type),
      member(Field::payload, &T::payload).only_stored(),
      member(Field::adopted, &T::adopted).otherwise(0).only_stored(),
      member(Field::priority, &T::priority),
      member(Field::max_retries, &T::max_retries),
      member(Field::retry_policy, &T::policy),
      member(Field::on_exhausted, &T::on_exhausted),
      member(Field::one_step, &T::one_step).only_stored(),
      member(Field::cancel_with_awaiters, &T::cancel_with_awaiters).otherwise(0).only_stored(),
      member(Field::good_until, &T::good_until).otherwise(kNever),
      member(Field::timeout, &T::timeout).otherwise(0),
      member(Field::retention, &T::retention).kept_if_null().otherwise(kKept),
      member(Field::unique_key, &T::unique_key),
      member(Field::unique_for, &T::unique_for).otherwise(0),
      member(Field::group, &T::group),
      member(Field::sent_at, &T::sent_at),
  };
}

// The state of a gathering group. Its leader, one of the jobs, stores it; the leader's retry_at is when the batch becomes ready.
struct GroupState final : Counted {
  Instant first_at = 0;    // when the first job joined
  Instant last_at = 0;     // when the last job joined
  std::int64_t count = 1;  // the number of gathering jobs
};
template <std::same_as<GroupState> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::first_at, &T::first_at),
      member(Field::last_at, &T::last_at),
      member(Field::count, &T::count),
  };
}

struct JobError {
  std::string code;
  std::string message;
  std::optional<std::string> data;
  friend bool operator==(const JobError&, const JobError&) = default;
};
template <std::same_as<JobError> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::code, &T::code).text().naming(Names::nothing),
      member(Field::message, &T::message).optional().free_text(),
      member(Field::data, &T::data).free_text(),
  };
}

struct Attempt {
  std::int64_t number = 0;
  Shared<const SharedString> worker;
  Instant started_at = 0;
  Instant finished_at = kUnset;
  Outcome outcome = Outcome::open;
  std::optional<JobError> error;
};
template <std::same_as<Attempt> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::number, &T::number),
      member(Field::worker, &T::worker).required(),
      member(Field::started_at, &T::started_at),
      member(Field::finished_at, &T::finished_at).otherwise(kUnset),
      member(Field::outcome, &T::outcome).otherwise(static_cast<std::int64_t>(Outcome::open)),
      member(Field::error, &T::error),
  };
}

inline constexpr std::size_t kAttemptsKept = 100;  // the newest ones; a job can snooze for ever

inline constexpr std::size_t kLinesKept = 100;   // the newest ones
inline constexpr std::size_t kLineBytes = 1000;  // of one line

struct ReportLine {
  Instant at = 0;
  std::int64_t attempt = 0;  // the number of the attempt that wrote it
  std::string text;
};
template <std::same_as<ReportLine> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::at, &T::at),
      member(Field::attempt, &T::attempt),
      member(Field::text, &T::text),
  };
}

// What the attempts of a job said about their work.
struct WorkReport final : Counted {
  Instant at = 0;                  // of the last report
  std::optional<double> progress;  // of the last attempt, 0 to 1
  std::vector<ReportLine> lines;   // of all attempts
};
template <std::same_as<WorkReport> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::at, &T::at),
      member(Field::progress, &T::progress),
      member(Field::lines, &T::lines).otherwise(0),
  };
}

struct Job final : Counted {
  Shared<const JobSpec> spec;
  JobState state = JobState::pending;
  std::int64_t retry_count = 0;
  std::int64_t attempt_count = 0;
  Instant process_at = kUnset;
  Instant enqueued_at = kUnset;
  Instant claimed_at = kUnset;
  Instant started_at = kUnset;
  Instant completed_at = kUnset;
  Instant failed_at = kUnset;
  Instant next_retry_at = kUnset;
  Instant cancelled_at = kUnset;
  Instant expired_at = kUnset;
  Duration run_lease = 0;                // claimed: its lease after the start
  Instant reclaim_at = kUnset;           // settled: when the job can be deleted
  bool deleted = false;                  // the job is deleted as soon as nothing needs it
  bool gathering = false;                // scheduled: waits for its group
  Shared<const SharedString> batch;      // the batch that it gathered in
  Shared<const GroupState> group_state;  // set if and only if the job leads a gathering group
  std::optional<JobError> error;
  std::vector<Attempt> attempts;      // the last one is open if and only if the job is running
  Shared<const WorkReport> report;    // empty until an attempt reports
  std::vector<std::string> awaiters;  // notified tasks; the job is kept while one of them can read it

  bool has_started() const noexcept { return attempt_count > 0; }
  Instant expires_at() const noexcept { return may_expire(state) && !has_started() ? spec->good_until : kNever; }
  // The instant at which the running attempt times out.
  Instant times_out_at() const noexcept {
    return state == JobState::running && spec->timeout ? saturating_add(started_at, spec->timeout) : kNever;
  }
  bool holds_unique_key(Instant now) const noexcept {
    return spec->unique_key && !is_terminal(state) && (!spec->unique_for || now < saturating_add(spec->sent_at, spec->unique_for));
  }
};
// Without its specification, whose members stand among these.
template <std::same_as<Job> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::state, &T::state).only_stored(),
      member(Field::batch, &T::batch),
      member(Field::gathering, &T::gathering).otherwise(0),
      member(Field::flight, &T::group_state).only_stored(),
      member(Field::retry_count, &T::retry_count),
      member(Field::process_at, &T::process_at).otherwise(kUnset),
      member(Field::enqueued_at, &T::enqueued_at).otherwise(kUnset),
      member(Field::claimed_at, &T::claimed_at).otherwise(kUnset),
      member(Field::started_at, &T::started_at).otherwise(kUnset),
      member(Field::completed_at, &T::completed_at).otherwise(kUnset),
      member(Field::failed_at, &T::failed_at).otherwise(kUnset),
      member(Field::next_retry_at, &T::next_retry_at).otherwise(kUnset),
      member(Field::cancelled_at, &T::cancelled_at).otherwise(kUnset),
      member(Field::expired_at, &T::expired_at).otherwise(kUnset),
      member(Field::error, &T::error),
      member(Field::attempts, &T::attempts),
      member(Field::report, &T::report),
      member(Field::attempt_count, &T::attempt_count).only_stored(),
      member(Field::awaiters, &T::awaiters).only_stored(),
      member(Field::run_lease, &T::run_lease).otherwise(0).only_stored(),
      member(Field::reclaim_at, &T::reclaim_at).otherwise(kUnset).only_stored(),
      member(Field::deleted, &T::deleted).otherwise(0).only_stored(),
  };
}

// The value that rejects the promise of a failed job: an error in the published SDKs' format, in base64.
Value error_value(const JobError& error);

// The error of a job whose good_until, or whose deadline, has passed.
const JobError& expired_job_error();
const JobError& deadline_job_error();
const Value& expired_job_value();

inline constexpr std::int64_t kMostGathered = 1000;

struct RateLimit {
  std::int64_t limit = 1;  // tokens
  Duration per = 1;
  std::int64_t burst = 1;
  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};
template <std::same_as<RateLimit> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::limit, &T::limit).within(1, 1'000'000),
      member(Field::per, &T::per).within(1, 366LL * 86'400'000),
      member(Field::burst, &T::burst).within(1, 1'000'000).optional(),
  };
}
constexpr void when_absent(RateLimit& rate, Field field) noexcept {
  if (field == Field::burst) rate.burst = rate.limit;
}

// When the gathering of a group ends.
struct GroupLimits {
  std::int64_t size = kMostGathered;  // the batch is ready at this number of jobs
  Duration grace = 60'000;            // after the last job joined
  std::optional<Duration> max_delay;  // after the first job joined
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};
template <std::same_as<GroupLimits> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::size, &T::size).within(1, kMostGathered).optional(),
      member(Field::grace, &T::grace).duration(0).optional().held_to(Limit::delay),
      member(Field::max_delay, &T::max_delay).duration(1).held_to(Limit::delay),
  };
}

// The defaults for jobs of a queue.
struct JobDefaults {
  std::optional<std::int64_t> max_retries;
  std::optional<RetryPolicy> policy;
  std::optional<OnExhausted> on_exhausted;
  std::optional<Duration> retention;
  std::optional<Duration> timeout;
  std::optional<std::int64_t> priority;
  std::optional<bool> cancel_with_awaiters;
  bool empty() const noexcept {
    return !max_retries && !policy && !on_exhausted && !retention && !timeout && !priority && !cancel_with_awaiters;
  }
  friend bool operator==(const JobDefaults&, const JobDefaults&) = default;
};
template <std::same_as<JobDefaults> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::max_retries, &T::max_retries).at_least(0),
      member(Field::retry_policy, &T::policy),
      member(Field::on_exhausted, &T::on_exhausted),
      member(Field::retention, &T::retention).kept_if_null().unlimited(),
      member(Field::timeout, &T::timeout).duration(1).unlimited(),
      member(Field::priority, &T::priority).within(1, 100),
      member(Field::cancel_with_awaiters, &T::cancel_with_awaiters),
  };
}

struct QueueDay {
  std::int64_t day = 0;  // since 1970-01-01
  std::int64_t processed = 0;
  std::int64_t failed = 0;
};
template <std::same_as<QueueDay> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::day, &T::day),
      member(Field::processed, &T::processed),
      member(Field::failed, &T::failed),
  };
}
inline constexpr std::size_t kDaysKept = 90;

inline constexpr std::int64_t kClaimCountsKept = 60;  // of a queue, about

// Claims of a queue that its rate counts.
struct ClaimCount {
  Instant at = 0;  // the last instant of their slot
  std::int64_t count = 0;
  friend bool operator==(const ClaimCount&, const ClaimCount&) = default;
};
template <std::same_as<ClaimCount> T>
constexpr auto fields(Of<T>) {
  return std::tuple{
      member(Field::at, &T::at),
      member(Field::count, &T::count),
  };
}

struct Queue final : Counted {
  std::string name;
  bool paused = false;
  Lifecycle lifecycle = Lifecycle::none;
  std::int64_t weight = 1;
  std::int64_t concurrency = 0;  // 0: no limit
  std::optional<RateLimit> rate;
  std::optional<GroupLimits> groups;
  std::int64_t level = 0;  // tokens in the rate's bucket, in units of 1/per token
  Instant refilled_at = 0;
  std::vector<ClaimCount> claims;  // with a rate: those of the last `per` ms, the oldest first
  std::int64_t current = 0;        // state of the smooth weighted round robin
  JobDefaults defaults;
  std::array<std::int64_t, kJobStates> counts{};
  std::vector<QueueDay> days;
  std::optional<QueueHour> hour;  // the present one; those before are records of their own (EndedHour)

  std::int64_t active() const noexcept {
    return saturating_add(counts[static_cast<std::size_t>(JobState::claimed)], counts[static_cast<std::size_t>(JobState::running)]);
  }
};
// Its counts are written beside these.
template <std::same_as<Queue> T>
constexpr auto fields(Of<T>) {
  constexpr auto limited = [](const T& queue) { return queue.rate.has_value(); };
  return std::tuple{
      member(Field::name, &T::name),
      member(Field::paused, &T::paused),
      member(Field::lifecycle, &T::lifecycle).otherwise(static_cast<std::int64_t>(Lifecycle::none)),
      member(Field::weight, &T::weight),
      member(Field::concurrency, &T::concurrency).otherwise(0),
      member(Field::rate, &T::rate),
      member(Field::groups, &T::groups),
      member(Field::defaults, &T::defaults).otherwise(0),
      member(Field::level, &T::level).optional().only_stored().where(limited),
      member(Field::refilled_at, &T::refilled_at).optional().only_stored().where(limited),
      member(Field::claims, &T::claims).otherwise(0).only_stored().where(limited),
      member(Field::current, &T::current).only_stored(),
      member(Field::days, &T::days).only_stored(),
      member(Field::hour, &T::hour).only_stored(),
  };
}
using QueueRef = Shared<const Queue>;

// The state names of asynq and horsies.
std::string_view asynq_name_of(JobState state) noexcept;
std::string_view horsies_name_of(JobState state) noexcept;

}  // namespace resonate
