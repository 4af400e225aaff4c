// Jobs and queues: the members that a job adds to its promise and task (JOBS 1 and 2), and the state of a queue.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/shared.hpp"
#include "resonate/values.hpp"

namespace resonate {

enum class JobState : std::uint8_t { scheduled, pending, claimed, running, retry, archived, completed, failed, cancelled, expired };
inline constexpr std::size_t kJobStates = 10;

constexpr bool is_terminal(JobState state) noexcept { return state >= JobState::completed; }
constexpr bool is_held(JobState state) noexcept { return state == JobState::claimed || state == JobState::running; }
// Returns whether good_until applies in this state: no attempt is running.
constexpr bool may_expire(JobState state) noexcept {
  return state == JobState::scheduled || state == JobState::pending || state == JobState::claimed || state == JobState::retry;
}

// Returns whether the state has an index of its own: few jobs are in it, and operators search for them.
constexpr bool is_set_aside(JobState state) noexcept {
  return state != JobState::pending && state != JobState::completed && !is_held(state);
}

enum class Lifecycle : std::uint8_t { none, asynq, horsies };
enum class OnExhausted : std::uint8_t { archived, failed };
enum class PolicyKind : std::uint8_t { asynq, fixed, exponential };

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

inline constexpr Duration kKept = -1;  // a retention: for ever

struct JobSpec final : Counted {
  std::string queue;
  std::string type;
  std::optional<Value> payload;  // set if it differs from the promise's param, which an adopted promise keeps
  bool adopted = false;          // the promise existed before the job
  int priority = 50;
  std::int64_t max_retries = 0;
  RetryPolicy policy;
  OnExhausted on_exhausted = OnExhausted::archived;
  bool one_step = false;  // a claim also starts it
  Instant good_until = kNever;
  Duration timeout = 0;  // of an attempt; 0: none
  Duration retention = kKept;
  std::optional<std::string> unique_key;
  Duration unique_for = 0;  // 0: until the job has finished
  Shared<const SharedString> group;
  Instant sent_at = 0;
};

// The state of a gathering group. Its leader, one of the jobs, stores it; the leader's retry_at is when the batch becomes ready.
struct Flight final : Counted {
  Instant first_at = 0;    // when the first job joined
  Instant last_at = 0;     // when the last job joined
  std::int64_t count = 1;  // the number of gathering jobs
};

struct JobError {
  std::string code;
  std::string message;
  std::optional<std::string> data;
  friend bool operator==(const JobError&, const JobError&) = default;
};

enum class Outcome : std::uint8_t { open, completed, failed, crashed, timed_out, snoozed, cancelled };

struct Attempt {
  std::int64_t number = 0;
  Shared<const SharedString> worker;
  Instant started_at = 0;
  Instant finished_at = kUnset;
  Outcome outcome = Outcome::open;
  std::optional<JobError> error;
};

inline constexpr std::size_t kAttemptsKept = 100;  // the newest ones; a job can snooze for ever

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
  Duration run_lease = 0;            // claimed: its lease after the start
  Instant reclaim_at = kUnset;       // settled: when the job can be deleted
  bool deleted = false;              // the job is deleted as soon as nothing needs it
  bool gathering = false;            // scheduled: waits for its group
  Shared<const SharedString> batch;  // the batch that it gathered in
  Shared<const Flight> flight;       // set if and only if the job leads a gathering group
  std::optional<JobError> error;
  std::vector<Attempt> attempts;      // the last one is open if and only if the job is running
  std::vector<std::string> awaiters;  // notified tasks; the job is kept while one of them can read it

  Instant expires_at() const noexcept { return may_expire(state) ? spec->good_until : kNever; }
  // The instant at which the running attempt times out.
  Instant times_out_at() const noexcept {
    return state == JobState::running && spec->timeout ? saturating_add(started_at, spec->timeout) : kNever;
  }
  bool holds_unique_key(Instant now) const noexcept {
    return spec->unique_key && !is_terminal(state) && (!spec->unique_for || now < saturating_add(spec->sent_at, spec->unique_for));
  }
};

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

// When the gathering of a group ends.
struct GroupLimits {
  std::int64_t size = kMostGathered;  // the batch is ready at this number of jobs
  Duration grace = 60'000;            // after the last job joined
  std::optional<Duration> max_delay;  // after the first job joined
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

// The defaults for jobs of a queue.
struct JobDefaults {
  std::optional<std::int64_t> max_retries;
  std::optional<RetryPolicy> policy;
  std::optional<OnExhausted> on_exhausted;
  std::optional<Duration> retention;
  std::optional<Duration> timeout;
  std::optional<int> priority;
  bool empty() const noexcept { return !max_retries && !policy && !on_exhausted && !retention && !timeout && !priority; }
  friend bool operator==(const JobDefaults&, const JobDefaults&) = default;
};

struct QueueDay {
  std::int64_t day = 0;  // since 1970-01-01
  std::int64_t processed = 0;
  std::int64_t failed = 0;
};
inline constexpr std::size_t kDaysKept = 90;

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
  std::int64_t current = 0;  // state of the smooth weighted round robin
  JobDefaults defaults;
  std::array<std::int64_t, kJobStates> counts{};
  std::vector<QueueDay> days;

  std::int64_t active() const noexcept {
    return saturating_add(counts[static_cast<std::size_t>(JobState::claimed)], counts[static_cast<std::size_t>(JobState::running)]);
  }
};
using QueueRef = Shared<const Queue>;

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

// The state names of asynq and horsies.
std::string_view asynq_name_of(JobState state) noexcept;
std::string_view horsies_name_of(JobState state) noexcept;

}  // namespace resonate
