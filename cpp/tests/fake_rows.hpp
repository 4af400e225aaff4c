// Rows, schedules, edges and messages made by hand, for tests that write to a storage without a machine.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "machine/derive.hpp"
#include "resonate/storage.hpp"

namespace resonate::fake {

// A row that a test sets member by member; ref() returns a copy of it.
struct RowMaker {
  explicit RowMaker(std::string its_id = "p", Instant its_timeout_at = 100, StringMap its_tags = {})
      : id(std::move(its_id)), tags(std::move(its_tags)), timeout_at(its_timeout_at) {}

  std::string id;
  StringMap tags;
  Instant timeout_at;
  Instant created_at = 0;
  DialectId dialect = DialectId::k2026_04_01;
  Row row;

  RowMaker& pid(const std::string& text) {
    row.pid = Shared<const SharedString>(new SharedString(text));
    return *this;
  }
  RowMaker& resumes(std::vector<std::string> ids) {
    row.resumes = Shared<const SharedStrings>(new SharedStrings(std::move(ids)));
    return *this;
  }
  RowMaker& value(const std::string& data) {
    row.value = Shared<const SharedValue>(new SharedValue(Value{std::nullopt, data}));
    return *this;
  }
  RowRef ref() const {
    auto* promise_spec = new PromiseSpec;
    Shared<const PromiseSpec> held(promise_spec);
    promise_spec->id = id;
    promise_spec->tags = tags;
    promise_spec->timeout_at = timeout_at;
    promise_spec->created_at = created_at;
    promise_spec->dialect = dialect;
    derive_promise_spec(*promise_spec);
    auto* made = new Row(row);
    RowRef ref(made);
    made->promise_spec = std::move(held);
    made->external = row.external || promise_spec->initially_external;
    made->due = next_due(*made);
    return ref;
  }
};

inline RowRef changed(const RowRef& before, auto change) {
  auto* after = new Row(*before);
  RowRef ref(after);
  change(*after);
  after->due = next_due(*after);
  return ref;
}

inline ScheduleRef schedule(const std::string& id, Instant next_run_at, std::optional<Instant> last_run_at = {}) {
  auto* made = new Schedule;
  ScheduleRef ref(made);
  made->id = id;
  made->cron = "* * * * *";
  made->promise_id = "{{.id}}.{{.timestamp}}";
  made->next_run_at = next_run_at;
  made->last_run_at = last_run_at;
  return ref;
}

inline EdgeRef edge(EdgeKind kind, const std::string& owner, const std::string& other, std::int64_t seq) {
  auto* made = new Edge;
  EdgeRef ref(made);
  made->kind = kind;
  made->owner = owner;
  made->other = other;
  made->seq = seq;
  return ref;
}

inline MessageRef message(MessageKind kind, const std::string& id, const std::string& address, std::int64_t seq,
                          Instant queued_at = 0) {
  auto* made = new OutboxMessage;
  MessageRef ref(made);
  made->kind = kind;
  made->id = id;
  made->address = address;
  made->seq = seq;
  made->queued_at = queued_at;
  return ref;
}

// Ids of due rows and schedules, with their instants, in the order of steps; at most `limit` of each.
inline std::vector<std::string> due(Storage& storage, Instant until = kNever, std::size_t limit = 1000) {
  RowRange rows = rows_by_due();
  rows.until = until;
  rows.limit = limit;
  std::vector<std::tuple<Due, std::string>> all;
  for (const RowRef& row : storage.rows(rows)) all.emplace_back(row->due, row->id());
  for (const ScheduleRef& each : storage.schedules({.by = ScheduleRange::By::due, .until = until, .limit = limit}))
    all.emplace_back(Due{each->due_at(), DueKind::schedule}, each->id);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  std::vector<std::string> texts;
  for (const auto& [at, id] : all) texts.push_back(std::to_string(at.at) + " " + id);
  return texts;
}

inline void write(Storage& storage, Changes changes) {
  if (changes.counters == Counters{}) changes.counters = storage.counters();
  storage.write(changes);
}
inline void put(Storage& storage, const RowRef& row) {
  Changes changes;
  changes.rows.push_back({storage.load(row->id()), row});
  write(storage, std::move(changes));
}

}  // namespace resonate::fake
