// Stored records. A promise and its task share an id and form one row (PROTOCOL 1); callbacks, listeners, schedules and messages
// are separate records. Stored records are immutable and shared (shared.hpp).
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
#include "resonate/queues.hpp"
#include "resonate/rules.hpp"
#include "resonate/shared.hpp"
#include "resonate/values.hpp"

namespace resonate {

enum class PromiseState : std::uint8_t { pending, resolved, rejected, rejected_canceled, rejected_timedout };
enum class TaskState : std::uint8_t { none, pending, acquired, suspended, halted, fulfilled };

// What makes a promise a child, or a message, of a job (JOBS 9). An engine makes it; no tag does.
enum class ChildKind : std::uint8_t { record, receive, message, job };
struct ChildMark final : Counted {
  std::string parent;  // the job's id
  ChildKind kind = ChildKind::record;
  std::int64_t number = 0;  // in the order in which the job got its children and messages
  // The group in Index::open: of receives and messages their mailbox, of jobs their parent. Empty: it is in none.
  std::string group;
};

// The part of a promise that never changes after its creation.
struct PromiseSpec final : Counted {
  std::string id;
  Value param;
  StringMap tags;
  Instant timeout_at = 0;
  Instant created_at = 0;
  Shared<const SharedString> ikc;  // null: created without an idempotency key
  DialectId dialect = DialectId::k2026_04_01;
  bool timer = false;  // settles as resolved at its deadline
  bool initially_external = false;
  bool root = false;                    // its own origin
  const std::string* target = nullptr;  // the delivery address in tags; null: none
  const std::string* branch = nullptr;  // `resonate:branch` in tags; null: absent or empty
  Shared<const ChildMark> child;        // null: it is no child

  PromiseSpec() = default;
  PromiseSpec(const PromiseSpec&) = delete;  // target and branch point into tags
  PromiseSpec& operator=(const PromiseSpec&) = delete;
};

// The earliest timer of a row, in the order in which steps run at the same instant (PROTOCOL 4). For a job, `timeout` is also its
// good_until, `lease` also its attempt's timeout, and `dispatch` the instant at which it becomes runnable.
enum class DueKind : std::uint8_t { drain, timeout, lease, dispatch, retention, schedule, none };

struct Due {
  Instant at = kNever;
  DueKind kind = DueKind::none;
  friend auto operator<=>(const Due&, const Due&) = default;
};

// The state in which a deadline settles a promise (PROTOCOL 1.2).
constexpr PromiseState timeout_state(bool timer) noexcept {
  return timer ? PromiseState::resolved : PromiseState::rejected_timedout;
}

struct Row final : Counted {
  Shared<const PromiseSpec> promise_spec;

  PromiseState state = PromiseState::pending;
  bool external = false;  // can be awaited, and its timeout is armed (PROTOCOL 1.1)
  // The task is pending and the execute of its last dispatch is in the outbox, so its dispatch timer is not armed (PROTOCOL 4).
  bool execute_waits = false;
  bool cancels_jobs = false;  // cancelled while it awaited jobs; further steps cancel them (PROTOCOL 4)
  bool unread = false;        // a message that no receive has taken (JOBS 9)
  TaskState task = TaskState::none;
  std::uint32_t callbacks = 0;  // the number of callbacks in the store
  std::uint32_t listeners = 0;
  Instant settled_at = kUnset;  // set if and only if settled
  Shared<const SharedValue> value;
  Shared<const SharedString> iku;

  std::int64_t acquisitions = 0;
  Shared<const SharedString> pid;
  Duration ttl = 0;             // of the last acquisition; 0 = never acquired
  Instant expires_at = kUnset;  // set if and only if acquired
  Instant retry_at = kUnset;    // set if and only if pending; while execute_waits see shown_retry_at
  Shared<const SharedStrings> resumes;
  Shared<const SharedString> current;
  std::int64_t execute_seq = 0;  // seq of the last execute, which may have been delivered; 0: none

  Shared<const Job> job;  // null: not a job

  // A lower bound of the instant of the row's next step, computed from the members above (next_due).
  Due due;

  const std::string& id() const noexcept { return promise_spec->id; }
  bool has_task() const noexcept { return task != TaskState::none; }
  // The instant at which it settles without a request: its deadline, or the good_until of a job that has never started.
  Instant ends_at() const noexcept {
    return job ? std::min(promise_spec->timeout_at, std::max(job->expires_at(), promise_spec->created_at))
               : promise_spec->timeout_at;
  }
  // Returns whether a job's good_until settles it.
  bool expires() const noexcept { return ends_at() < promise_spec->timeout_at; }
  // A job without a deadline is not dead at kNever.
  bool dead_at(Instant now) const noexcept {
    return state == PromiseState::pending && ends_at() <= now && !(job && ends_at() == kNever);
  }
  // The state in which it settles without a request.
  PromiseState end_state() const noexcept { return expires() ? PromiseState::rejected : timeout_state(promise_spec->timer); }
  // The state that replies show at an instant: timeout always wins (PROTOCOL 1.2). For the whole row see machine/settle.hpp.
  PromiseState state_at(Instant now) const noexcept { return dead_at(now) ? end_state() : state; }
  bool pending_at(Instant now) const noexcept { return state == PromiseState::pending && !dead_at(now); }
  TaskState task_at(Instant now) const noexcept { return has_task() && dead_at(now) ? TaskState::fulfilled : task; }
  // The value with which it was settled; empty while it is pending.
  const Value& result() const noexcept {
    static const Value kNone;
    return value ? value->value : kNone;
  }
  bool is_message() const noexcept { return promise_spec->child && promise_spec->child->kind == ChildKind::message; }
  // Its callbacks with numbers up to this one have been drained; such a callback that still exists is a keeper
  // (machine/keepers.hpp).
  std::int64_t drained_through() const noexcept { return job ? job->drained_through : 0; }
  const Value& payload() const noexcept { return job && job->spec->payload ? *job->spec->payload : promise_spec->param; }
};
using RowRef = Shared<const Row>;

// The version of a task in a dialect (PROTOCOL 2).
constexpr std::int64_t shown_version(const Dialect& dialect, TaskState state, std::int64_t acquisitions) noexcept {
  const bool running = state == TaskState::acquired || state == TaskState::suspended;
  // A job that waits before its first claim has none to subtract.
  return dialect.version_counts_completed && running && acquisitions > 0 ? acquisitions - 1 : acquisitions;
}

// A callback (other = awaiter's id) or a listener (other = address) of the promise `owner`; or a keeper: the job `other` has waited
// for the job `owner`, which is kept until `other` is final (JOBS 8). A callback that was drained can stay as a keeper
// (machine/keepers.hpp).
enum class EdgeKind : std::uint8_t { listener, callback, keeper };
inline constexpr std::size_t kEdgeKinds = 3;

struct Edge final : Counted {
  EdgeKind kind = EdgeKind::callback;
  std::string owner;
  std::string other;
  std::int64_t seq = 0;  // order of registration, unique in a store
  DialectId dialect = DialectId::k2026_04_01;
  bool cancels = false;  // a callback of a job that is cancelled with its awaiters
};
using EdgeRef = Shared<const Edge>;
inline bool is_drained(const Row& owner, const Edge& callback) noexcept { return callback.seq <= owner.drained_through(); }

enum class MessageKind : std::uint8_t { execute, unblock };

struct OutboxMessage final : Counted {
  MessageKind kind = MessageKind::execute;
  std::int64_t seq = 0;  // order of queueing, unique in a store
  std::string id;        // the task's, or the settled promise's
  std::string address;
  std::int64_t version = 0;  // execute: the task's acquisitions when the message was queued
  bool resume = false;       // execute: whether the run continues after an awaited promise
  DialectId dialect = DialectId::k2026_04_01;
  std::int64_t attempts = 0;
  Instant queued_at = 0;
  // The process that delivers it, and until when no other one does. They are about live processes: no snapshot, copy or trace has
  // them.
  std::string holder;
  Instant leased_until = 0;
};
using MessageRef = Shared<const OutboxMessage>;

// Why a schedule cannot be fired, and when it is examined again. Its next occurrence is unchanged meanwhile.
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
  Shared<const JobTemplate> job;  // null: it creates promises without jobs
  Instant created_at = 0;
  Instant next_run_at = kNever;  // kNever: there is no further occurrence
  std::optional<Instant> last_run_at;
  DialectId dialect = DialectId::k2026_04_01;
  Shared<const SetAside> set_aside;  // null: it can be fired
  bool paused = false;               // while true it does not fire and its next_run_at does not change

  // The instant of its next step: an occurrence, or the next examination; kNever: there is none.
  Instant due_at() const noexcept {
    if (paused || next_run_at == kNever) return kNever;
    return set_aside ? set_aside->retry_at : next_run_at;
  }
};
using ScheduleRef = Shared<const Schedule>;

std::string_view name_of(PromiseState state) noexcept;
std::string_view name_of(TaskState state) noexcept;
std::optional<PromiseState> promise_state_named(std::string_view name) noexcept;
std::string_view name_of(ChildKind kind) noexcept;
std::optional<ChildKind> child_kind_named(std::string_view name) noexcept;
std::optional<TaskState> task_state_named(std::string_view name) noexcept;

}  // namespace resonate
