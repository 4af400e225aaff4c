// The members that a job adds to its promise and task (JOBS 1 and 2).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resonate/described.hpp"
#include "resonate/instant.hpp"
#include "resonate/shared.hpp"
#include "resonate/values.hpp"

namespace resonate {

enum class JobState : std::uint8_t {
  scheduled,
  waiting,
  pending,
  claimed,
  running,
  retry,
  archived,
  completed,
  failed,
  cancelled,
  expired
};
inline constexpr std::size_t kJobStates = 11;

constexpr bool is_terminal(JobState state) noexcept { return state >= JobState::completed; }
constexpr bool is_held(JobState state) noexcept { return state == JobState::claimed || state == JobState::running; }
// Returns whether a job that has never started expires at its good_until in this state.
constexpr bool may_expire(JobState state) noexcept {
  return state == JobState::scheduled || state == JobState::waiting || state == JobState::pending || state == JobState::claimed;
}

// Returns whether the state has an index of its own: few jobs are in it, and operators search for them.
constexpr bool has_state_index(JobState state) noexcept {
  return state != JobState::pending && state != JobState::completed && !is_held(state);
}
// Its number in that index. Stored tables have it, so it never changes.
constexpr std::int64_t stored_number(JobState state) noexcept {
  switch (state) {
    case JobState::scheduled: return 0;
    case JobState::waiting: return 1;
    case JobState::retry: return 4;
    case JobState::archived: return 5;
    case JobState::failed: return 7;
    case JobState::cancelled: return 8;
    case JobState::expired: return 9;
    case JobState::pending:
    case JobState::claimed:
    case JobState::running:
    case JobState::completed: break;
  }
  return -1;  // has_state_index() is false
}

enum class Lifecycle : std::uint8_t { none, asynq, horsies, workflow };
enum class OnExhausted : std::uint8_t { archived, failed };
enum class PolicyKind : std::uint8_t { asynq, fixed, exponential };
// What becomes of a job if a promise in its `after` is settled and not resolved.
enum class AfterFailed : std::uint8_t { cancel, run };
// Which of the promises that a suspended job awaits wake it.
enum class Until : std::uint8_t { any, all };

enum class Outcome : std::uint8_t { open, completed, failed, crashed, timed_out, snoozed, suspended, cancelled };

// Whether an attempt that ended so counts in the statistics: it was not put off, and no other request ended it.
constexpr bool counts_as_run(Outcome outcome) noexcept {
  return outcome != Outcome::snoozed && outcome != Outcome::suspended && outcome != Outcome::cancelled;
}

std::string_view name_of(JobState state) noexcept;
std::string_view name_of(Lifecycle lifecycle) noexcept;  // none: empty
std::string_view name_of(OnExhausted what) noexcept;
std::string_view name_of(PolicyKind kind) noexcept;
std::string_view name_of(AfterFailed what) noexcept;
std::string_view name_of(Until which) noexcept;
std::string_view name_of(Outcome outcome) noexcept;
std::optional<JobState> job_state_named(std::string_view name) noexcept;
std::optional<Lifecycle> lifecycle_named(std::string_view name) noexcept;
std::optional<OnExhausted> on_exhausted_named(std::string_view name) noexcept;
std::optional<PolicyKind> policy_named(std::string_view name) noexcept;
std::optional<AfterFailed> after_failed_named(std::string_view name) noexcept;
std::optional<Until> until_named(std::string_view name) noexcept;
std::optional<Outcome> outcome_named(std::string_view name) noexcept;

// For the descriptors: an enum by its name, and which names there are.
inline std::optional<JobState> parse(Of<JobState>, std::string_view name) noexcept { return job_state_named(name); }
inline std::optional<Lifecycle> parse(Of<Lifecycle>, std::string_view name) noexcept { return lifecycle_named(name); }
inline std::optional<OnExhausted> parse(Of<OnExhausted>, std::string_view name) noexcept { return on_exhausted_named(name); }
inline std::optional<PolicyKind> parse(Of<PolicyKind>, std::string_view name) noexcept { return policy_named(name); }
inline std::optional<AfterFailed> parse(Of<AfterFailed>, std::string_view name) noexcept { return after_failed_named(name); }
inline std::optional<Until> parse(Of<Until>, std::string_view name) noexcept { return until_named(name); }
inline std::optional<Outcome> parse(Of<Outcome>, std::string_view name) noexcept { return outcome_named(name); }
constexpr std::string_view names_of(Of<JobState>) noexcept { return "a state of a job"; }
constexpr std::string_view names_of(Of<Lifecycle>) noexcept { return "asynq, horsies or workflow"; }
constexpr std::string_view names_of(Of<OnExhausted>) noexcept { return "archived or failed"; }
constexpr std::string_view names_of(Of<PolicyKind>) noexcept { return "fixed, exponential or asynq"; }
constexpr std::string_view names_of(Of<AfterFailed>) noexcept { return "cancel or run"; }
constexpr std::string_view names_of(Of<Until>) noexcept { return "any or all"; }
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
  return Descriptors{
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
  bool workflow = false;              // of the lifecycle workflow: its last crash archives it
  bool cancel_with_awaiters = false;  // an awaiter that is cancelled cancels it; false for jobs of earlier releases
  Instant good_until = kNever;
  Duration timeout = 0;  // of an attempt; 0: none
  Duration retention = kKept;
  std::optional<std::string> unique_key;
  Duration unique_for = 0;  // 0: until the job has finished
  Shared<const SharedString> group;
  Instant sent_at = 0;
  std::vector<std::string> after;           // what must be settled before its first start, each once
  std::optional<AfterFailed> after_failed;  // set if and only if `after` is not empty
};
template <std::same_as<JobSpec> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::queue, &T::queue),
      member(Field::type, &T::type),
      member(Field::payload, &T::payload).only_stored(),
      member(Field::adopted, &T::adopted).otherwise(0).only_stored(),
      member(Field::priority, &T::priority),
      member(Field::max_retries, &T::max_retries),
      member(Field::retry_policy, &T::policy),
      member(Field::on_exhausted, &T::on_exhausted),
      member(Field::one_step, &T::one_step).only_stored(),
      member(Field::workflow, &T::workflow).otherwise(0).only_stored(),
      member(Field::cancel_with_awaiters, &T::cancel_with_awaiters).otherwise(0).only_stored(),
      member(Field::good_until, &T::good_until).otherwise(kNever),
      member(Field::timeout, &T::timeout).otherwise(0),
      member(Field::retention, &T::retention).kept_if_null().otherwise(kKept),
      member(Field::unique_key, &T::unique_key),
      member(Field::unique_for, &T::unique_for).otherwise(0),
      member(Field::group, &T::group),
      member(Field::sent_at, &T::sent_at),
      member(Field::after, &T::after).otherwise(0),
      member(Field::after_failed, &T::after_failed),
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
  return Descriptors{
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
  return Descriptors{
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
  return Descriptors{
      member(Field::number, &T::number),
      member(Field::worker, &T::worker).required(),
      member(Field::started_at, &T::started_at),
      member(Field::finished_at, &T::finished_at).otherwise(kUnset),
      member(Field::outcome, &T::outcome).otherwise(static_cast<std::int64_t>(Outcome::open)),
      member(Field::error, &T::error),
  };
}

inline constexpr std::size_t kAttemptsKept = 100;  // the newest ones; a job can snooze for ever

inline constexpr std::size_t kAwaitsShown = 100;  // of what a waiting job lacks

inline constexpr std::size_t kLinesKept = 100;   // the newest ones
inline constexpr std::size_t kLineBytes = 1000;  // of one line

struct ReportLine {
  Instant at = 0;
  std::int64_t attempt = 0;  // the number of the attempt that wrote it
  std::string text;
};
template <std::same_as<ReportLine> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
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
  return Descriptors{
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
  std::int64_t keepers = 0;           // the number of jobs that keep it, which are edges of it (machine/keepers.hpp)
  std::int64_t kept_callbacks = 0;    // how many of these are callbacks that have been drained
  std::int64_t drained_through = 0;   // settled: its callbacks up to this number have been drained; 0: none of them is left
  std::int64_t steps = 0;             // the number of its children (JOBS 9)
  std::int64_t unread = 0;            // the number of its messages that no receive has taken
  std::int64_t sent = 0;              // the number of messages without a key that it got
  std::int64_t made = 0;              // the number of the last child or message that it got
  bool watched = false;               // a promise, a job or a listener besides itself has awaited a child of it
  std::int64_t restarts = 0;          // how many runs of it have ended with start_over
  Shared<const SharedValue> args;     // of the present run, if it is not the first
  // What a waiting job lacks; never empty then. Without `until` it waits for the rest of `after`.
  IdList awaits;
  std::optional<Until> until;
  std::int64_t more_awaits = 0;        // of a record out of a reply, which has the first of `awaits` alone: how many more it lacks
  Instant first_enqueued_at = kUnset;  // enqueued_at of the first attempt that was suspended: its place among the claims

  bool has_started() const noexcept { return attempt_count > 0; }
  // Whether it has, or had, children or messages. They are removed before it.
  bool has_family() const noexcept { return made > 0; }
  Instant expires_at() const noexcept { return may_expire(state) && !has_started() ? spec->good_until : kNever; }
  // Its place among the claims of its queue and priority.
  Instant turn() const noexcept { return first_enqueued_at != kUnset ? first_enqueued_at : enqueued_at; }
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
  return Descriptors{
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
      member(Field::steps, &T::steps).otherwise(0),
      member(Field::args, &T::args),
      member(Field::restarts, &T::restarts).otherwise(0),
      member(Field::unread, &T::unread).otherwise(0).only_stored(),
      member(Field::sent, &T::sent).otherwise(0).only_stored(),
      member(Field::made, &T::made).otherwise(0).only_stored(),
      member(Field::watched, &T::watched).otherwise(0).only_stored(),
      member(Field::attempt_count, &T::attempt_count).only_stored(),
      member(Field::awaiters, &T::awaiters).only_stored(),
      member(Field::run_lease, &T::run_lease).otherwise(0).only_stored(),
      member(Field::reclaim_at, &T::reclaim_at).otherwise(kUnset).only_stored(),
      member(Field::deleted, &T::deleted).otherwise(0).only_stored(),
      member(Field::awaits, &T::awaits).otherwise(0).only_stored(),
      member(Field::until, &T::until).only_stored(),
      member(Field::first_enqueued_at, &T::first_enqueued_at).otherwise(kUnset).only_stored(),
  };
}

// The value that rejects the promise of a failed job: an error in the published SDKs' format, in base64.
Value error_value(const JobError& error);

// The error of a job whose good_until, or whose deadline, has passed.
const JobError& expired_job_error();
const JobError& deadline_job_error();
const Value& expired_job_value();

// The state names of asynq and horsies.
std::string_view asynq_name_of(JobState state) noexcept;
std::string_view horsies_name_of(JobState state) noexcept;

}  // namespace resonate
