// Requests on jobs and queues (JOBS 5), and the results in their replies.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "resonate/box.hpp"
#include "resonate/described.hpp"
#include "resonate/queues.hpp"
#include "resonate/values.hpp"

namespace resonate {

// The version of a job that runs, or of a task that is acquired.
struct JobParent {
  std::string id;
  std::int64_t version = 0;
};
template <std::same_as<JobParent> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::id, &T::id).text().naming(Names::row), member(Field::version, &T::version).at_least(0));
}

// A job to enqueue. Its queue supplies absent values, then its lifecycle.
struct JobOrder {
  std::optional<std::string> id;  // none: the engine generates one
  std::string queue = "default";
  std::string type;
  Value payload;
  StringMap tags;
  Instant deadline = kNever;
  std::optional<std::int64_t> priority;
  std::optional<Instant> process_at;
  std::optional<Duration> process_in;
  std::optional<Instant> good_until;
  std::optional<Duration> good_for;  // sets good_until, relative to the first instant at which the job is runnable
  std::optional<Duration> timeout;
  std::optional<Duration> retention;  // kKept: for ever
  std::optional<std::int64_t> max_retries;
  std::optional<RetryPolicy> policy;
  std::optional<std::string> on_exhausted;
  std::optional<std::string> lifecycle;
  std::optional<std::string> unique_key;
  std::optional<Duration> unique_for;
  std::optional<std::string> group;
  std::optional<bool> cancel_with_awaiters;
  std::optional<Instant> sent_at;
  std::optional<std::vector<std::string>> after;  // ids of promises
  std::optional<std::string> after_failed;
  std::optional<JobParent> parent;  // the running job whose child it is
};
inline constexpr std::int64_t kMostAwaited = 10'000;  // promises that a job waits for
template <std::same_as<JobOrder> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::row_or_new),
      member(Field::queue, &T::queue).optional().text().naming(Names::queue_of_jobs),
      member(Field::type, &T::type).text().naming(Names::nothing),
      member(Field::payload, &T::payload),
      member(Field::tags, &T::tags).naming(Names::addresses),
      member(Field::priority, &T::priority).within(1, 100),
      member(Field::process_at, &T::process_at).instant().held_to(Limit::delay),
      member(Field::process_in, &T::process_in).duration(0).held_to(Limit::delay),
      member(Field::good_until, &T::good_until).instant().unlimited(),
      member(Field::good_for, &T::good_for).duration(1).unlimited(),
      member(Field::timeout, &T::timeout).duration(1).unlimited(),
      member(Field::deadline, &T::deadline).instant().otherwise(kNever).unlimited(),
      member(Field::retention, &T::retention).kept_if_null().unlimited(),
      member(Field::max_retries, &T::max_retries).at_least(0),
      member(Field::retry_policy, &T::policy),
      member(Field::on_exhausted, &T::on_exhausted).name_in(Of<OnExhausted>{}),
      member(Field::lifecycle, &T::lifecycle).name_in(Of<Lifecycle>{}),
      member(Field::unique_key, &T::unique_key).text().naming(Names::unique_key),
      member(Field::unique_for, &T::unique_for).duration(1).unlimited(),
      member(Field::group, &T::group).text().naming(Names::nothing),
      member(Field::cancel_with_awaiters, &T::cancel_with_awaiters),
      member(Field::sent_at, &T::sent_at).instant().unlimited(),
      member(Field::after, &T::after).within(1, kMostAwaited).each("an id of after").text().naming(Names::row),
      member(Field::after_failed, &T::after_failed).name_in(Of<AfterFailed>{}),
      member(Field::parent, &T::parent),
  };
}

// The job of a schedule; the schedule supplies id, payload, tags, deadline and instants.
struct JobTemplate final : Counted {
  JobOrder order;
  std::string unread;   // the stored text if this version cannot read it; it is kept unchanged
  std::string problem;  // why it cannot be read
};

inline constexpr std::int64_t kMostAtOnce = 10'000;  // jobs of one request

struct JobEnqueue {
  Box<JobOrder> order = JobOrder();
};
// The struct whose descriptors are those of a request: its order, or itself.
inline JobOrder& described(JobEnqueue& request) noexcept { return *request.order; }
inline const JobOrder& described(const JobEnqueue& request) noexcept { return *request.order; }
template <class Request>
Request& described(Request& request) noexcept {
  return request;
}
template <class Request>
using DescriptionOf = std::remove_cvref_t<decltype(described(std::declval<Request&>()))>;
struct JobEnqueueMany {
  std::vector<JobOrder> orders;
  bool atomic = false;  // all of them, or none
};
template <std::same_as<JobEnqueueMany> T>
constexpr auto fields(Of<T>) {
  // One that is refused refuses no other, unless `atomic` is true; either way they are judged when they run.
  return Descriptors(member(Field::jobs, &T::orders).within(1, kMostAtOnce).judged_by_another().held_to(Limit::length),
                     member(Field::atomic, &T::atomic).otherwise(0));
}
struct JobGet {
  std::string id;
};
template <std::same_as<JobGet> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::id, &T::id).text().naming(Names::row));
}

// A job, or task, and the version that its holder has.
template <class T>
constexpr auto held_fields() {
  return Descriptors(member(Field::id, &T::id).text().naming(Names::row), member(Field::version, &T::version).at_least(0));
}

struct QueueChoice {
  std::string name;
  std::optional<std::int64_t> weight;
};
template <std::same_as<QueueChoice> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::name, &T::name).text().naming(Names::queue_of_jobs).called_if_long("queue"),
                     member(Field::weight, &T::weight).within(1, 1000));
}
struct JobClaim {
  std::vector<QueueChoice> queues;
  std::int64_t count = 1;
  std::string worker;
  Duration lease = 0;
  std::optional<Duration> run_lease;  // the lease of a job that starts when it is claimed
  bool strict = false;
  std::int64_t start = 0;  // the number of claimed jobs that start at once
};
template <std::same_as<JobClaim> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::queues, &T::queues).within(1, 1000).held_to(Limit::length),
      member(Field::count, &T::count).within(1, kMostAtOnce).optional(),
      member(Field::worker, &T::worker).text().naming(Names::nothing),
      member(Field::lease, &T::lease).duration(1).held_to(Limit::lease),
      member(Field::run_lease, &T::run_lease).duration(1).held_to(Limit::lease),
      member(Field::strict, &T::strict).optional(),
      member(Field::start, &T::start).at_least(0).otherwise(0),
  };
}
struct JobStart {
  std::string id;
  std::int64_t version = 0;
  std::optional<Duration> lease;
};
template <std::same_as<JobStart> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::lease, &T::lease).duration(1).held_to(Limit::lease));
}
struct JobRef {
  std::string id;
  std::int64_t version = 0;
};
template <std::same_as<JobRef> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>();
}
struct JobStartMany {
  std::vector<JobRef> jobs;
  std::optional<Duration> lease;
};
template <std::same_as<JobStartMany> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::jobs, &T::jobs).within(1, kMostAtOnce).held_to(Limit::length),
                     member(Field::lease, &T::lease).duration(1).held_to(Limit::lease));
}
struct JobHeartbeat {
  std::string worker;
  std::vector<JobRef> jobs;
};
template <std::same_as<JobHeartbeat> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::worker, &T::worker).text().naming(Names::nothing),
                     member(Field::jobs, &T::jobs).held_to(Limit::length));
}
struct JobComplete {
  std::string id;
  std::int64_t version = 0;
  Value result;
};
template <std::same_as<JobComplete> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::result, &T::result));
}
struct JobCompleteMany {
  std::vector<JobComplete> jobs;
};
template <std::same_as<JobCompleteMany> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::jobs, &T::jobs).within(1, kMostAtOnce).held_to(Limit::length));
}
struct JobFail {
  std::string id;
  std::int64_t version = 0;
  JobError error;
  bool retryable = true;
  std::optional<Duration> retry_after;
  bool archive = false;  // whatever else holds
};
template <std::same_as<JobFail> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::error, &T::error), member(Field::retryable, &T::retryable).optional(),
                                      member(Field::retry_after, &T::retry_after).duration(0).held_to(Limit::delay),
                                      member(Field::archive, &T::archive).otherwise(0));
}
struct JobRelease {
  std::string id;
  std::int64_t version = 0;
};
template <std::same_as<JobRelease> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>();
}
struct JobSnooze {
  std::string id;
  std::int64_t version = 0;
  Duration delay = 0;
};
template <std::same_as<JobSnooze> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::delay, &T::delay).duration(0).held_to(Limit::delay));
}

struct JobSuspend {
  std::string id;
  std::int64_t version = 0;
  std::vector<std::string> awaits;
  std::optional<std::string> until;
};
template <std::same_as<JobSuspend> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(
      member(Field::awaits, &T::awaits).within(1, kMostAwaited).each("an id of awaits").text().naming(Names::row),
      member(Field::until, &T::until).name_in(Of<Until>{}));
}

struct JobReport {
  std::string id;
  std::int64_t version = 0;
  std::optional<double> progress;
  std::vector<std::string> lines;
};
template <std::same_as<JobReport> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(
      member(Field::progress, &T::progress).within(0, 1),
      member(Field::lines, &T::lines).optional().within(0, kLinesKept).each("a line").text().free_text());
}

// The jobs that a request changes: one by id, or all that match.
struct JobFilter {
  std::optional<std::string> id;
  std::optional<std::string> queue;
  std::optional<std::string> type;
  std::optional<std::string> state;
  std::optional<std::string> group;
  StringMap tags;
  // If set, only these of the matching jobs. The engine sets it after it has chosen the jobs on a snapshot; it is never on the
  // wire.
  std::optional<std::vector<std::string>> chosen_ids{};
};
struct JobCancel {
  JobFilter which;
};
struct JobRun {
  JobFilter which;
};
struct JobArchive {
  JobFilter which;
};
struct JobDelete {
  JobFilter which;
};
template <class T>
requires requires(T change) { change.which.chosen_ids; }
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::which, &JobFilter::id).text().naming(Names::row),
      member(Field::queue, &T::which, &JobFilter::queue).text().naming(Names::queue_of_jobs),
      member(Field::type, &T::which, &JobFilter::type).text().naming(Names::nothing),
      member(Field::state, &T::which, &JobFilter::state).free_text(),
      member(Field::group, &T::which, &JobFilter::group).text().naming(Names::nothing),
      member(Field::tags, &T::which, &JobFilter::tags).optional().naming(Names::nothing),
  };
}

struct JobSearch {
  JobFilter filter;  // its id is a glob
  std::optional<std::string> unique_key;
  std::optional<std::int64_t> limit;
  std::string cursor;
};
template <std::same_as<JobSearch> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::filter, &JobFilter::id).naming(Names::nothing),
      member(Field::queue, &T::filter, &JobFilter::queue).naming(Names::queue_of_jobs),
      member(Field::type, &T::filter, &JobFilter::type).naming(Names::nothing),
      member(Field::state, &T::filter, &JobFilter::state).name_in(Of<JobState>{}),
      member(Field::group, &T::filter, &JobFilter::group).text().naming(Names::nothing),
      member(Field::tags, &T::filter, &JobFilter::tags).optional().naming(Names::nothing),
      member(Field::unique_key, &T::unique_key).naming(Names::nothing),
      member(Field::limit, &T::limit).within(1, 1000),
      member(Field::cursor, &T::cursor).otherwise(0).naming(Names::nothing),
  };
}
struct JobStats {
  std::optional<std::string> queue;
};
template <std::same_as<JobStats> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::queue, &T::queue).text().naming(Names::queue));
}

struct QueueSet {
  std::string queue;
  Setting<std::string> lifecycle;
  std::optional<std::int64_t> weight;
  Setting<std::int64_t> concurrency;
  Setting<RateLimit> rate;
  Setting<GroupLimits> groups;
  Setting<JobDefaults> defaults;
};
template <std::same_as<QueueSet> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::queue, &T::queue).text().naming(Names::queue),
      member(Field::lifecycle, &T::lifecycle).name_in(Of<Lifecycle>{}),
      member(Field::weight, &T::weight).within(1, 1000),
      member(Field::concurrency, &T::concurrency).at_least(1),
      member(Field::rate, &T::rate),
      member(Field::groups, &T::groups),
      member(Field::defaults, &T::defaults),
  };
}
struct QueueGet {
  std::string queue;
};
struct QueuePause {
  std::string queue;
};
struct QueueResume {
  std::string queue;
};
template <class T>
requires std::is_same_v<T, QueueGet> || std::is_same_v<T, QueuePause> || std::is_same_v<T, QueueResume>
constexpr auto fields(Of<T>) { return Descriptors(member(Field::queue, &T::queue).text().naming(Names::queue)); }
struct QueueList {};
template <std::same_as<QueueList> T>
constexpr auto fields(Of<T>) {
  return Descriptors();
}

}  // namespace resonate
