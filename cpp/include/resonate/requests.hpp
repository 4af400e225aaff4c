// Requests and replies as the engine takes and gives them: no envelopes, no JSON, no names of fields (see codec/ and protocol/).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

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
struct PromiseSettle {
  std::string id;
  std::string state;  // as given: resolved, rejected or rejected_canceled is a rule, not a type
  Value value;
  std::optional<std::string> iku;  // idempotency key of settlement
};
// register_callback of 2026-04-01, register of 2025-01-15: which rules hold is the dialect's.
struct RegisterCallback {
  std::string awaited;
  std::string awaiter;
};
struct RegisterListener {
  std::string awaited;
  std::string address;
};

struct Filter {
  std::optional<std::string> id;      // a glob, `*` alone is special
  std::optional<std::string> state;   // a projected state
  std::optional<std::string> target;  // tasks only
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

struct TaskGet {
  std::string id;
};
struct TaskCreate {
  std::string pid;
  Duration ttl = 0;
  PromiseCreate action;
};
struct TaskAcquire {
  std::string id;
  std::int64_t version = 0;  // versions are compared as the request's dialect shows them
  std::string pid;
  Duration ttl = 0;
};
struct TaskRelease {
  std::string id;
  std::int64_t version = 0;
};
struct TaskSuspend {
  std::string id;
  std::int64_t version = 0;
  std::vector<RegisterCallback> actions;
};
struct TaskFulfill {
  std::string id;
  std::int64_t version = 0;
  PromiseSettle action;
};
struct TaskFence {
  std::string id;
  std::int64_t version = 0;
  std::variant<PromiseCreate, PromiseSettle> action;
};
struct TaskRef {
  std::string id;
  std::int64_t version = 0;
};
struct TaskHeartbeat {
  std::string pid;
  std::vector<TaskRef> tasks;
};
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
  std::vector<JobOrder> job;  // none, or the one that each occurrence is
};
struct ScheduleDelete {
  std::string id;
};

using Operation =
    std::variant<PromiseGet, PromiseCreate, PromiseSettle, RegisterCallback, RegisterListener, PromiseSearch, TaskGet, TaskCreate,
                 TaskAcquire, TaskRelease, TaskSuspend, TaskFulfill, TaskFence, TaskHeartbeat, TaskHalt, TaskContinue, TaskSearch,
                 ScheduleGet, ScheduleCreate, ScheduleDelete, ScheduleSearch, JobEnqueue, JobEnqueueMany, JobGet, JobClaim,
                 JobStart, JobStartMany, JobHeartbeat, JobComplete, JobCompleteMany, JobFail, JobRelease, JobSnooze, JobCancel,
                 JobRun, JobArchive, JobDelete, JobSearch, JobStats, QueueSet, QueueGet, QueuePause, QueueResume, QueueList>;

struct Request {
  DialectId dialect = DialectId::k2026_04_01;
  Operation operation;
  // What a request finds by itself (a search, a preload, every lease of a pid) is only what has an id that begins so. The ids that
  // it names are for whoever let it in to judge.
  std::string scope{};
};

// True for requests that neither store anything nor are followed by internal steps.
bool is_read(const Operation& operation) noexcept;
// True for requests that may look at every row: searches, and changes of all jobs that a filter chooses.
bool looks_at_many(const Operation& operation) noexcept;
// The filter of a change of all jobs that it chooses; null for every other request.
const JobFilter* choosing_filter(const Operation& operation) noexcept;
JobFilter* choosing_filter(Operation& operation) noexcept;

// Statuses of the protocol.
namespace status {
inline constexpr int kOk = 200;
inline constexpr int kRedirect = 300;  // suspend: go on at once
inline constexpr int kInvalid = 400;
inline constexpr int kForbidden = 403;
inline constexpr int kNotFound = 404;
inline constexpr int kConflict = 409;
inline constexpr int kUnprocessable = 422;
inline constexpr int kFault = 500;
}  // namespace status

// The part of a reply about jobs and queues.
struct JobReply final : Counted {
  struct Item {  // of a request about many
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
  std::int64_t count = 0;  // of those that a filter chose, how many were changed
  bool more = false;       // there may be others
  std::vector<QueueRef> queues;
  std::vector<Statistics> statistics;
};

// The status of a request, and its results: members that the request does not answer stay empty. Rows are as everybody sees them
// at `now`.
struct Reply {
  int status = status::kOk;
  Instant now = 0;
  std::string error;  // not 200 or 300: what was wrong, naming the value
  RowRef promise;     // also of a request about one job
  RowRef task;
  bool show_task = false;  // task.create answers its task only where it was acquired or 2026-04-01 asks for it
  RowRef awaited;          // acquire in 2025-01-15: the promise that `current` names
  bool has_preload = false;
  std::vector<RowRef> preload;
  bool preload_cut = false;  // there are more than it holds
  std::vector<RowRef> rows;  // searches of promises, tasks and jobs; jobs that were claimed
  Shared<const JobReply> jobs;
  ScheduleRef schedule;
  std::vector<ScheduleRef> schedules;
  std::optional<std::string> cursor;  // searches: there is more after this id
  int fenced_status = 0;              // fence: the action's own status; its record is `promise`, its refusal `error`
  bool is_fence() const noexcept { return fenced_status != 0; }
  bool ok() const noexcept { return status == status::kOk || status == status::kRedirect; }
};

// One internal step that the engine took (PROTOCOL 4).
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
  schedule_set_aside
};
std::string_view name_of(StepKind kind) noexcept;

struct Fired {
  StepKind kind = StepKind::promise_timeout;
  std::string id;        // of the promise, task or schedule; drains: of the settled promise
  Instant at = 0;        // the deadline of the step; drains: settledAt
  Instant now = 0;       // when it was taken
  std::string detail;    // address (listener_drain, dispatch), awaiter (callback_drain), promise id (schedule; empty when
                         // skipped), problem (schedule_set_aside)
  bool created = false;  // schedule: a promise was created
};

}  // namespace resonate
