// Requests and replies of the engine, and the descriptors of their members: without envelopes and JSON (see codec/ and protocol/).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "resonate/job_family_requests.hpp"
#include "resonate/job_requests.hpp"
#include "resonate/records.hpp"

namespace resonate {

struct PromiseGet {
  std::string id;
};
struct PromiseCreate {
  std::string id;
  Instant timeout_at = 0;
  Value param;
  StringMap tags;
  std::optional<std::string> ikc;  // idempotency key of creation
};
template <std::same_as<PromiseCreate> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::row),
      member(Field::timeout_at, &T::timeout_at).instant().unlimited(),
      member(Field::param, &T::param),
      member(Field::tags, &T::tags).naming(Names::addresses),
      member(Field::ikc, &T::ikc).free_text(),
  };
}
struct PromiseSettle {
  std::string id;
  std::string state;  // as given: the allowed values are a rule, not a type
  Value value;
  std::optional<std::string> iku;  // idempotency key of settlement
};
bool may_be_settled_to(std::string_view state) noexcept;
template <std::same_as<PromiseSettle> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::row),
      member(Field::state, &T::state).one_of(may_be_settled_to, "resolved, rejected or rejected_canceled"),
      member(Field::value, &T::value),
      member(Field::iku, &T::iku).free_text(),
  };
}
// register_callback of 2026-04-01, register of 2025-01-15; the dialect decides which rules apply.
struct RegisterCallback {
  std::string awaited;
  std::string awaiter;
};
template <std::same_as<RegisterCallback> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::awaited, &T::awaited).text().naming(Names::row),
                     member(Field::awaiter, &T::awaiter).text().naming(Names::row));
}
struct RegisterListener {
  std::string awaited;
  std::string address;
};
template <std::same_as<RegisterListener> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::awaited, &T::awaited).text().naming(Names::row),
                     member(Field::address, &T::address).text().naming(Names::nothing));
}

struct Filter {
  std::optional<std::string> id;      // a glob
  std::optional<std::string> state;   // a projected state
  std::optional<std::string> target;  // for tasks only
  StringMap tags;                     // all must match
};
struct SearchQuery {
  Filter filter;
  std::optional<std::int64_t> limit;  // 1..1000; absent: 100, schedules 10
  std::string cursor;                 // empty: from the start
};
struct PromiseSearch {
  SearchQuery query;
};
struct TaskSearch {
  SearchQuery query;
};
struct ScheduleSearch {
  SearchQuery query;
};
// The descriptors of a search: the members that all searches have, and between them its own.
template <class T, class... Own>
constexpr auto search_fields(Own... own) {
  return Descriptors{
      member(Field::id, &T::query, &SearchQuery::filter, &Filter::id).naming(Names::nothing),
      own...,
      member(Field::tags, &T::query, &SearchQuery::filter, &Filter::tags).optional().naming(Names::nothing),
      member(Field::limit, &T::query, &SearchQuery::limit).within(1, 1000),
      member(Field::cursor, &T::query, &SearchQuery::cursor).otherwise(0).naming(Names::nothing),
  };
}
template <std::same_as<PromiseSearch> T>
constexpr auto fields(Of<T>) {
  constexpr auto known = [](std::string_view name) { return promise_state_named(name).has_value(); };
  return search_fields<T>(
      member(Field::state, &T::query, &SearchQuery::filter, &Filter::state).one_of(known, "a state of a promise"));
}
template <std::same_as<TaskSearch> T>
constexpr auto fields(Of<T>) {
  constexpr auto known = [](std::string_view name) { return task_state_named(name).value_or(TaskState::none) != TaskState::none; };
  return search_fields<T>(member(Field::state, &T::query, &SearchQuery::filter, &Filter::state).one_of(known, "a state of a task"),
                          member(Field::target, &T::query, &SearchQuery::filter, &Filter::target).naming(Names::nothing));
}
template <std::same_as<ScheduleSearch> T>
constexpr auto fields(Of<T>) {
  return search_fields<T>();
}

struct TaskGet {
  std::string id;
};
struct TaskCreate {
  std::string pid;
  Duration ttl = 0;
  PromiseCreate action;
};
template <std::same_as<TaskCreate> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::pid, &T::pid).text().naming(Names::nothing),
      member(Field::ttl, &T::ttl).duration(1).held_to(Limit::ttl),
      member(Field::action, &T::action).as_action(),
  };
}
struct TaskAcquire {
  std::string id;
  std::int64_t version = 0;  // the version that the request's dialect shows
  std::string pid;
  Duration ttl = 0;
};
template <std::same_as<TaskAcquire> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::pid, &T::pid).text().naming(Names::nothing),
                                      member(Field::ttl, &T::ttl).duration(1).held_to(Limit::ttl));
}
struct TaskRelease {
  std::string id;
  std::int64_t version = 0;
};
template <std::same_as<TaskRelease> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>();
}
struct TaskSuspend {
  std::string id;
  std::int64_t version = 0;
  std::vector<RegisterCallback> actions;
};
template <std::same_as<TaskSuspend> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::actions, &T::actions).as_action().held_to(Limit::length));
}
struct TaskFulfill {
  std::string id;
  std::int64_t version = 0;
  PromiseSettle action;
};
template <std::same_as<TaskFulfill> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>().followed_by(member(Field::action, &T::action).as_action());
}
struct TaskFence {
  std::string id;
  std::int64_t version = 0;
  std::variant<PromiseCreate, PromiseSettle> action;
};
template <std::same_as<TaskFence> T>
constexpr auto fields(Of<T>) {
  // Some rules answer the limits of the action inside the reply.
  return held_fields<T>().followed_by(member(Field::action, &T::action).as_action().judged_by_another());
}
struct TaskRef {
  std::string id;
  std::int64_t version = 0;
};
template <std::same_as<TaskRef> T>
constexpr auto fields(Of<T>) {
  return held_fields<T>();
}
struct TaskHeartbeat {
  std::string pid;
  std::vector<TaskRef> tasks;
};
template <std::same_as<TaskHeartbeat> T>
constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::pid, &T::pid).text().naming(Names::nothing),
                     member(Field::tasks, &T::tasks).held_to(Limit::length));
}
struct TaskHalt {
  std::string id;
};
struct TaskContinue {
  std::string id;
};

struct ScheduleGet {
  std::string id;
};
struct ScheduleCreate {
  std::string id;
  std::string cron;
  std::string promise_id;
  Duration promise_timeout = 0;
  Value promise_param;
  StringMap promise_tags;
  Box<JobOrder> job;  // of each occurrence; none: it makes promises
};
template <std::same_as<ScheduleCreate> T>
constexpr auto fields(Of<T>) {
  return Descriptors{
      member(Field::id, &T::id).text().naming(Names::schedule),
      member(Field::cron, &T::cron).text().naming(Names::nothing),
      member(Field::promise_id, &T::promise_id).text().naming(Names::occurrences),
      member(Field::promise_timeout, &T::promise_timeout).duration(0).unlimited(),
      member(Field::promise_param, &T::promise_param),
      member(Field::promise_tags, &T::promise_tags).naming(Names::addresses),
      member(Field::job, &T::job).judged_by_another(),
  };
}
struct ScheduleDelete {
  std::string id;
};
struct SchedulePause {
  std::string id;
};
struct ScheduleResume {
  std::string id;
};
template <class T>
requires(std::is_same_v<T, PromiseGet> || std::is_same_v<T, TaskGet> || std::is_same_v<T, TaskHalt> ||
         std::is_same_v<T, TaskContinue>) constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::id, &T::id).text().naming(Names::row));
}
template <class T>
requires(std::is_same_v<T, ScheduleGet> || std::is_same_v<T, ScheduleDelete> || std::is_same_v<T, SchedulePause> ||
         std::is_same_v<T, ScheduleResume>) constexpr auto fields(Of<T>) {
  return Descriptors(member(Field::id, &T::id).text().naming(Names::schedule));
}

using Operation = std::variant<PromiseGet, PromiseCreate, PromiseSettle, RegisterCallback, RegisterListener, PromiseSearch, TaskGet,
                               TaskCreate, TaskAcquire, TaskRelease, TaskSuspend, TaskFulfill, TaskFence, TaskHeartbeat, TaskHalt,
                               TaskContinue, TaskSearch, ScheduleGet, ScheduleCreate, ScheduleDelete, ScheduleSearch, SchedulePause,
                               ScheduleResume, JobEnqueue, JobEnqueueMany, JobGet, JobClaim, JobStart, JobStartMany, JobHeartbeat,
                               JobComplete, JobCompleteMany, JobFail, JobRelease, JobSnooze, JobReport, JobSuspend, JobRecordSteps,
                               JobReceive, JobSend, JobHistory, JobStartOver, JobFork, JobCancel, JobRun, JobArchive, JobDelete,
                               JobSearch, JobStats, QueueSet, QueueGet, QueuePause, QueueResume, QueueList>;

struct Request {
  DialectId dialect = DialectId::k2026_04_01;
  Operation operation;
  // Restricts the records that a request finds by itself (a search, a preload, all leases of a pid) to ids with this prefix. The
  // server checks the ids that the request names.
  std::string scope{};
  // The caller reads the statuses of the jobs that the reply lists, but not the jobs, which are left out. The steps that follow
  // change a row in place if no reply refers to it; otherwise they copy it.
  bool statuses_only = false;
};

// Returns whether the request stores nothing and is followed by no internal steps.
bool is_read(const Operation& operation) noexcept;
// Returns whether the request can read every row or every queue: a search, a list of all queues, or a change of all jobs that a
// filter chooses.
bool may_read_many(const Operation& operation) noexcept;
// Returns how many records the request names, at least 1 unless a list is empty: the jobs that it enqueues, starts, completes or
// asks for, the tasks of a heartbeat, the promises that a job is to await. The number measures the work of the request
// and the size of its reply. Jobs that a filter chooses are not counted.
std::size_t records_of(const Operation& operation) noexcept;
// Returns the filter of a request that changes the jobs it chooses; null for every other request.
const JobFilter* choosing_filter(const Operation& operation) noexcept;
JobFilter* choosing_filter(Operation& operation) noexcept;

// Statuses of the protocol.
namespace status {
inline constexpr int kOk = 200;
inline constexpr int kRedirect = 300;  // suspend: continue at once
inline constexpr int kInvalid = 400;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kConflict = 409;
inline constexpr int kTooLarge = 413;
inline constexpr int kUnprocessable = 422;
inline constexpr int kFault = 500;
}  // namespace status

// The part of a reply about jobs and queues.
struct JobReply final : Counted {
  struct Item {  // for a request with several jobs
    int status = status::kOk;
    std::string error;
    RowRef row;
  };
  struct Statistics {
    QueueRef queue;
    Instant oldest_pending_at = kUnset;
  };
  std::vector<Item> items;
  Instant next_at = kUnset;
  std::vector<std::string> cancelled;
  std::vector<std::string> lost;
  std::int64_t count = 0;  // with a filter: how many jobs were changed
  bool more = false;       // other jobs may match
  std::vector<QueueRef> queues;
  std::vector<Statistics> statistics;
};

// The status and the results of a request; members that a request does not use stay empty. Rows are shown as of `now`.
struct Reply {
  int status = status::kOk;
  Instant now = 0;
  std::string error;  // the problem, if status is not 200 or 300
  RowRef promise;     // also for a request on one job
  RowRef task;
  bool show_task = false;  // task.create replies with its task only if it acquired it or the dialect requires it
  RowRef awaited;          // acquire in 2025-01-15: the promise that `current` names
  bool has_preload = false;
  std::vector<RowRef> preload;
  bool preload_cut = false;  // the preload is incomplete
  std::vector<RowRef> rows;  // searches of promises, tasks and jobs; claimed jobs
  Shared<const JobReply> jobs;
  ScheduleRef schedule;
  std::vector<ScheduleRef> schedules;
  std::optional<std::string> cursor;  // searches: the last id of this page, if there are more
  int fenced_status = 0;              // fence: the action's own status; its record is `promise`, its refusal `error`
  bool is_fence() const noexcept { return fenced_status != 0; }
  bool ok() const noexcept { return status == status::kOk || status == status::kRedirect; }
};

// An internal step that the engine ran (PROTOCOL 4).
enum class StepKind : std::uint8_t {
  promise_timeout,
  listener_drain,
  callback_drain,
  lease_expiry,
  dispatch,
  schedule,
  job_ready,
  job_batch,
  job_expiry,
  job_lease,
  job_timeout,
  job_retention,
  schedule_set_aside,
  cancel_drain,
  job_retention_put_off  // something still refers to the job: only a recording has it
};
inline constexpr std::size_t kStepKinds = 15;
std::string_view name_of(StepKind kind) noexcept;

struct Fired {
  StepKind kind = StepKind::promise_timeout;
  std::string id;        // of the promise, task or schedule; of a drain: of the settled promise
  Instant at = 0;        // the step's deadline; of a drain: settledAt
  Instant now = 0;       // when it ran
  std::string detail;    // address (listener_drain, dispatch), awaiter (callback_drain), job (cancel_drain), promise id
                         // (schedule; empty when skipped), problem (schedule_set_aside)
  bool created = false;  // schedule: a promise was created; cancel_drain: the job was cancelled
};

}  // namespace resonate
