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
#include "resonate/rules.hpp"
#include "resonate/shared.hpp"

namespace resonate {

enum class PromiseState : std::uint8_t { pending, resolved, rejected, rejected_canceled, rejected_timedout };
enum class TaskState : std::uint8_t { none, pending, acquired, suspended, halted, fulfilled };

// Names, ordered by key bytewise, each key once.
class StringMap {
 public:
  using Entry = std::pair<std::string, std::string>;

  std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }
  const std::string* find(std::string_view key) const noexcept {
    for (const Entry& entry : entries_)
      if (entry.first == key) return &entry.second;
    return nullptr;
  }
  bool equals(std::string_view key, std::string_view value) const noexcept {
    const std::string* found = find(key);
    return found && *found == value;
  }
  // True when every entry of `wanted` is here with the same value.
  bool contains(const StringMap& wanted) const noexcept {
    return std::all_of(wanted.begin(), wanted.end(), [this](const Entry& e) { return equals(e.first, e.second); });
  }
  // The last value given for a key wins.
  void set(std::string key, std::string value) {
    auto at =
        std::lower_bound(entries_.begin(), entries_.end(), key, [](const Entry& e, const std::string& k) { return e.first < k; });
    if (at != entries_.end() && at->first == key) {
      at->second = std::move(value);
    } else {
      entries_.emplace(at, std::move(key), std::move(value));
    }
  }
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  friend bool operator==(const StringMap&, const StringMap&) = default;

 private:
  std::vector<Entry> entries_;
};

// A param or value: members that were not given stay not given.
struct Value {
  std::optional<StringMap> headers;
  std::optional<std::string> data;  // base64 by convention; the engine keeps it as it is

  bool empty() const noexcept { return !headers && !data; }
  friend bool operator==(const Value&, const Value&) = default;
};

struct SharedValue final : Counted {
  Value value;
  explicit SharedValue(Value v) : value(std::move(v)) {}
};
struct SharedString final : Counted {
  std::string text;
  explicit SharedString(std::string t) : text(std::move(t)) {}
};
struct SharedStrings final : Counted {
  std::vector<std::string> items;
  explicit SharedStrings(std::vector<std::string> i) : items(std::move(i)) {}
};

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

// Which of a row's timers is the earliest; the order is the order of steps at one instant (PROTOCOL 4).
enum class DueKind : std::uint8_t { drain, timeout, lease, dispatch, schedule, none };

struct Due {
  Instant at = kNever;
  DueKind kind = DueKind::none;
  friend auto operator<=>(const Due&, const Due&) = default;
};

struct Row final : Counted {
  Shared<const Birth> birth;

  PromiseState state = PromiseState::pending;
  bool external = false;  // may be awaited, and its timeout is armed (PROTOCOL 1.1)
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
  Instant retry_at = kUnset;    // set exactly while pending
  Shared<const SharedStrings> resumes;
  Shared<const SharedString> current;
  std::int64_t execute_seq = 0;  // seq of the newest execute message (it may have been taken since); 0 = there was none

  // A lower bound of the instant of the row's next step, derived from the members above (see next_due).
  Due due;

  const std::string& id() const noexcept { return birth->id; }
  bool has_task() const noexcept { return task != TaskState::none; }
  bool dead_at(Instant now) const noexcept { return state == PromiseState::pending && birth->timeout_at <= now; }
};
using RowRef = Shared<const Row>;

// The verdict of a deadline (PROTOCOL 1.2).
constexpr PromiseState timeout_verdict(bool timer) noexcept {
  return timer ? PromiseState::resolved : PromiseState::rejected_timedout;
}

// A row as every response, guard and search sees it at one instant: timeout always wins (PROTOCOL 1.2).
class Projected {
 public:
  Projected(const Row& row, Instant now) noexcept : row_(row), dead_(row.dead_at(now)) {}

  const Row& row() const noexcept { return row_; }
  PromiseState state() const noexcept { return dead_ ? timeout_verdict(row_.birth->timer) : row_.state; }
  bool pending() const noexcept { return state() == PromiseState::pending; }
  Instant settled_at() const noexcept { return dead_ ? row_.birth->timeout_at : row_.settled_at; }
  const Value& value() const noexcept {
    static const Value kNoValue;
    return dead_ || !row_.value ? kNoValue : row_.value->value;
  }
  TaskState task() const noexcept { return dead_ && row_.has_task() ? TaskState::fulfilled : row_.task; }
  std::size_t resumes() const noexcept { return dead_ || !row_.resumes ? 0 : row_.resumes->items.size(); }

 private:
  const Row& row_;
  bool dead_;
};

// The version of a task as a dialect shows it (PROTOCOL 2).
constexpr std::int64_t shown_version(const Dialect& dialect, TaskState state, std::int64_t acquisitions) noexcept {
  const bool running = state == TaskState::acquired || state == TaskState::suspended;
  return dialect.version_counts_completed && running ? acquisitions - 1 : acquisitions;
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

struct Schedule final : Counted {
  std::string id;
  std::string cron;
  std::string promise_id;  // template
  Duration promise_timeout = 0;
  Value promise_param;
  StringMap promise_tags;
  Instant created_at = 0;
  Instant next_run_at = kNever;  // kNever: the calendar holds no further occurrence
  std::optional<Instant> last_run_at;
  DialectId dialect = DialectId::k2026_04_01;
};
using ScheduleRef = Shared<const Schedule>;

std::string_view name_of(PromiseState state) noexcept;
std::string_view name_of(TaskState state) noexcept;
std::optional<PromiseState> promise_state_named(std::string_view name) noexcept;
std::optional<TaskState> task_state_named(std::string_view name) noexcept;

}  // namespace resonate
