// An engine on a manual clock with short ways to send it requests. Every property of PROTOCOL 6 is checked after every request and
// step unless a test says otherwise.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec/snapshot.hpp"
#include "resonate/clock.hpp"
#include "resonate/engine.hpp"

namespace resonate::fake {

inline constexpr DialectId kNew = DialectId::k2026_04_01;
inline constexpr DialectId kOld = DialectId::k2025_01_15;
inline constexpr Instant kFar = 1'000'000;
inline const std::string kTarget = "poll://any@workers";

inline StringMap tags(std::initializer_list<std::pair<std::string, std::string>> entries) {
  StringMap map;
  for (const auto& [key, value] : entries) map.set(key, value);
  return map;
}
inline StringMap target(const std::string& address = kTarget) { return tags({{"resonate:target", address}}); }
inline StringMap timer() { return tags({{"resonate:timer", "true"}}); }
inline Value data(const std::string& text) { return Value{std::nullopt, text}; }

inline PromiseCreate creation(const std::string& id, Instant timeout_at = kFar, StringMap its_tags = {}) {
  return PromiseCreate{.id = id, .timeout_at = timeout_at, .param = {}, .tags = std::move(its_tags), .ikc = {}};
}
inline PromiseSettle settlement(const std::string& id, const std::string& state = "resolved") {
  return PromiseSettle{.id = id, .state = state, .value = {}, .iku = {}};
}
inline TaskSuspend suspension(const std::string& id, std::int64_t version, const std::vector<std::string>& awaiteds) {
  TaskSuspend suspend{.id = id, .version = version, .actions = {}};
  for (const std::string& awaited : awaiteds) suspend.actions.push_back({awaited, id});
  return suspend;
}

inline Options checked() {
  Options options;
  options.check = true;
  return options;
}
inline Options checked(RulesId rules) {
  Options options = checked();
  options.rules = rules;
  return options;
}

class Store {
 public:
  explicit Store(Options options = checked(), Instant start = 0) : Store(make_memory_storage(), options, start) {}
  explicit Store(std::unique_ptr<Storage> storage, Options options = checked(), Instant start = 0)
      : clock(std::make_shared<ManualClock>(start)), engine(Engine::create(std::move(storage), clock, options)) {}

  Reply run(Operation operation, DialectId dialect = kNew, std::optional<Instant> now = {}) {
    return engine->apply(Request{dialect, std::move(operation)}, now);
  }
  // Like run(), but expects that the request succeeds.
  Reply must(Operation operation, DialectId dialect = kNew) {
    Reply reply = run(std::move(operation), dialect);
    EXPECT_EQ(reply.status, status::kOk) << reply.error;
    return reply;
  }
  Reply create(const std::string& id, Instant timeout_at = kFar, StringMap its_tags = {}) {
    return must(creation(id, timeout_at, std::move(its_tags)));
  }
  // A promise with a target whose task was acquired once, by `pid`.
  Reply claim(const std::string& id, Instant timeout_at = kFar, Duration ttl = 1000, const std::string& pid = "worker") {
    return must(TaskCreate{pid, ttl, creation(id, timeout_at, target())});
  }
  Reply suspend(const std::string& id, std::int64_t version, const std::vector<std::string>& awaiteds, DialectId dialect = kNew) {
    return run(suspension(id, version, awaiteds), dialect);
  }
  Reply settle(const std::string& id, const std::string& state = "resolved") { return must(settlement(id, state)); }

  // The stored row, which may lag behind its projection.
  RowRef row(const std::string& id) {
    return engine->with_storage([&](Storage& storage) { return storage.load(id); });
  }
  TaskState task(const std::string& id) { return row(id)->task; }
  std::vector<std::string> resumes(const std::string& id) {
    const RowRef stored = row(id);
    return stored->resumes ? stored->resumes->items : std::vector<std::string>();
  }
  std::string current(const std::string& id) {
    const RowRef stored = row(id);
    return stored->current ? stored->current->text : "";
  }
  // "execute:a" and "unblock:a:address", in order of queueing.
  std::vector<std::string> outbox() {
    std::vector<std::string> keys;
    for (const auto& [message, record] : engine->messages_with_records())
      keys.push_back(message->kind == MessageKind::execute ? "execute:" + message->id
                                                           : "unblock:" + message->id + ":" + message->address);
    return keys;
  }
  std::string digest() {
    return engine->with_storage([this](Storage& storage) { return resonate::digest(storage, engine->options()); });
  }
  std::string snapshot() {
    return engine->with_storage(
        [this](Storage& storage) { return write_snapshot(storage, SnapshotFormat::full, engine->options()); });
  }

  std::shared_ptr<ManualClock> clock;
  std::shared_ptr<Engine> engine;
};

inline PromiseState state_of(const Reply& reply) { return reply.promise->state; }

// "kind id@at" and its detail, for tables of fired steps.
inline std::string text_of(const Fired& fired) {
  std::string text = std::string(name_of(fired.kind)) + " " + fired.id + "@" + std::to_string(fired.at);
  return fired.detail.empty() ? text : text + " " + fired.detail;
}
inline std::vector<std::string> texts_of(const std::vector<Fired>& fired) {
  std::vector<std::string> texts;
  for (const Fired& step : fired) texts.push_back(text_of(step));
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace resonate::fake
