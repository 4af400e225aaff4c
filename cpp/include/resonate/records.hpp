// Rows: what is stored. A promise and its task share an id, so they are one row (PROTOCOL 1); callbacks, listeners, schedules and
// outbox messages are rows of their own. Rows are immutable once stored and shared by whoever holds them (see shared.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/job_requests.hpp"
#include "resonate/jobs.hpp"
#include "resonate/rules.hpp"
#include "resonate/shared.hpp"
#include "resonate/values.hpp"

namespace resonate {

enum class PromiseState : std::uint8_t { pending, resolved, rejected, rejected_canceled, rejected_timedout };
enum class TaskState : std::uint8_t { none, pending, acquired, suspended, halted, fulfilled };

// What never changes after a promise's creation.
struct Birth final : Counted {
  std::string id;
  Value param;
  StringMap tags;
  Instant timeout_at = 0;
  Instant created_at = 0;
  Shared<const SharedString> ikc;  // null: created without an idempotency key
  DialectId dialect = DialectId::k2026_04_01;
  bool timer = false;  // settles as resolved at its deadline
  bool external_at_birth = false;
  const std::string* target = nullptr;  // into tags: the delivery address, or none
  const std::string* branch = nullptr;  // into tags: `resonate:branch`, or none where absent or empty

  Birth() = default;
  Birth(const Birth&) = delete;  // target and branch point into tags
  Birth& operator=(const Birth&) = delete;
};

// Which of a row's timers is the earliest; the order is the order of steps at one instant (PROTOCOL 4). Of a job `timeout` is its
// good_until as well, `lease` the end of its attempt, `dispatch` the instant at which it may be claimed.
enum class DueKind : std::uint8_t { drain, timeout, lease, dispatch, retention, schedule, none };

struct Due {
  Instant at = kNever;
  DueKind kind = DueKind::none;
  friend auto operator<=>(const Due&, const Due&) = default;
};

// The verdict of a deadline (PROTOCOL 1.2).
constexpr PromiseState timeout_verdict(bool timer) noexcept {
  return timer ? PromiseState::resolved : PromiseState::rejected_timedout;
}

struct Row final : Counted {
  Shared<const Birth> birth;

  PromiseState state = PromiseState::pending;
  bool external = false;  // may be awaited, and its timeout is armed (PROTOCOL 1.1)
  // The task is pending, and the execute that its last dispatch queued is in the outbox: its dispatch timer is not armed (PROTOCOL
  // 4).
  bool execute_waits = false;
  TaskState task = TaskState::none;
  std::uint32_t callbacks = 0;  // how many wait in the store's callback rows
  std::uint32_t listeners = 0;
  Instant settled_at = kUnset;  // set exactly once settled
  Shared<const SharedValue> value;
  Shared<const SharedString> iku;

  std::int64_t acquisitions = 0;
  Shared<const SharedString> pid;
  Duration ttl = 0;             // of the last acquisition; 0 = never acquired
  Instant expires_at = kUnset;  // set exactly while acquired
  Instant retry_at = kUnset;    // set exactly while pending; while execute_waits see shown_retry_at
  Shared<const SharedStrings> resumes;
  Shared<const SharedString> current;
  std::int64_t execute_seq = 0;  // seq of the newest execute message (it may have been taken since); 0 = there was none

  Shared<const Job> job;  // null: no job

  // A lower bound of the instant of the row's next step, derived from the members above (see next_due).
  Due due;

  const std::string& id() const noexcept { return birth->id; }
  bool has_task() const noexcept { return task != TaskState::none; }
  // The instant that settles it by itself: its deadline, or the good_until of a job that has not been started.
  Instant ends_at() const noexcept {
    return job ? std::min(birth->timeout_at, std::max(job->expires_at(), birth->created_at)) : birth->timeout_at;
  }
  // Whether it is the good_until of a job.
  bool expires() const noexcept { return ends_at() < birth->timeout_at; }
  // The last instant that there is ends no job that has no end.
  bool dead_at(Instant now) const noexcept {
    return state == PromiseState::pending && ends_at() <= now && !(job && ends_at() == kNever);
  }
  // The state in which it ends by itself.
  PromiseState verdict() const noexcept { return expires() ? PromiseState::rejected : timeout_verdict(birth->timer); }
  // The states that everybody sees at an instant: timeout always wins (PROTOCOL 1.2). The whole row then: machine/settle.hpp.
  PromiseState state_at(Instant now) const noexcept { return dead_at(now) ? verdict() : state; }
  bool pending_at(Instant now) const noexcept { return state == PromiseState::pending && !dead_at(now); }
  TaskState task_at(Instant now) const noexcept { return has_task() && dead_at(now) ? TaskState::fulfilled : task; }
  // The value of its settlement; empty while it is pending.
  const Value& result() const noexcept {
    static const Value kNone;
    return value ? value->value : kNone;
  }
  const Value& payload() const noexcept { return job && job->spec->payload ? *job->spec->payload : birth->param; }
};
using RowRef = Shared<const Row>;

// The version of a task as a dialect shows it (PROTOCOL 2).
constexpr std::int64_t shown_version(const Dialect& dialect, TaskState state, std::int64_t acquisitions) noexcept {
  const bool running = state == TaskState::acquired || state == TaskState::suspended;
  return dialect.version_counts_completed && running ? saturating_sub(acquisitions, 1) : acquisitions;
}

// A callback (other = awaiter's id) or a listener (other = address) of the promise `owner`.
enum class EdgeKind : std::uint8_t { listener, callback };

struct Edge final : Counted {
  EdgeKind kind = EdgeKind::callback;
  std::string owner;
  std::string other;
  std::int64_t seq = 0;  // order of registration, unique in a store
  DialectId dialect = DialectId::k2026_04_01;
};
using EdgeRef = Shared<const Edge>;

enum class MessageKind : std::uint8_t { execute, unblock };

struct OutboxMessage final : Counted {
  MessageKind kind = MessageKind::execute;
  std::int64_t seq = 0;  // order of queueing, unique in a store
  std::string id;        // of the task or of the settled promise
  std::string address;
  std::int64_t version = 0;  // execute: the acquisitions when it was queued
  bool resume = false;       // execute: whether the run continues after an awaited promise
  DialectId dialect = DialectId::k2026_04_01;
  std::int64_t attempts = 0;
  Instant queued_at = 0;
};
using MessageRef = Shared<const OutboxMessage>;

// Why a schedule cannot be fired, and when it is looked at again. It keeps its place in the calendar meanwhile.
struct SetAside final : Counted {
  std::string problem;
  Instant retry_at = kNever;
};

struct Schedule final : Counted {
  std::string id;
  std::string cron;
  std::string promise_id;  // template
  Duration promise_timeout = 0;
  Value promise_param;
  StringMap promise_tags;
  Shared<const JobTemplate> job;  // null: its promises are no jobs
  Instant created_at = 0;
  Instant next_run_at = kNever;  // kNever: the calendar holds no further occurrence
  std::optional<Instant> last_run_at;
  DialectId dialect = DialectId::k2026_04_01;
  Shared<const SetAside> aside;  // null: it goes on

  // When its next step is due: an occurrence, or the next look at what keeps it from firing.
  Instant due_at() const noexcept { return aside && next_run_at != kNever ? aside->retry_at : next_run_at; }
};
using ScheduleRef = Shared<const Schedule>;

std::string_view name_of(PromiseState state) noexcept;
std::string_view name_of(TaskState state) noexcept;
std::optional<PromiseState> promise_state_named(std::string_view name) noexcept;
std::optional<TaskState> task_state_named(std::string_view name) noexcept;

}  // namespace resonate
