// Instants and durations at the ends of int64: sums saturate (PROTOCOL 8), no value wraps, and no loop is endless.
#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

TEST(Limits, SumsSaturate) {
  EXPECT_EQ(saturating_add(kNever, 1), kNever);
  EXPECT_EQ(saturating_add(kNever - 1, 1), kNever);
  EXPECT_EQ(saturating_add(kNever, kNever), kNever);
  EXPECT_EQ(saturating_add(0, -5), -5);
  EXPECT_EQ(saturating_add(std::numeric_limits<Instant>::min(), -1), std::numeric_limits<Instant>::min());
  EXPECT_EQ(saturating_add(kNever, std::numeric_limits<Duration>::min()), -1);
}

TEST(Limits, APromiseForever) {
  Store store;
  store.create("a", kNever, tags({{"resonate:external", "true"}}));
  EXPECT_EQ(store.engine->next_due(), kNever);
  store.clock->advance_to(kNever - 1);
  EXPECT_EQ(state_of(store.run(PromiseGet{"a"})), PromiseState::pending);
  EXPECT_EQ(texts_of(store.clock->advance(kNever)), Texts{"promise_timeout a@" + std::to_string(kNever)});
  EXPECT_EQ(store.clock->now(), kNever);
  EXPECT_TRUE(store.engine->check().empty());
}

TEST(Limits, ALeaseForever) {
  Store store(checked(), 1000);
  store.claim("a", kNever, kNever);
  EXPECT_EQ(store.row("a")->expires_at, kNever);
  store.must(TaskHeartbeat{"worker", {{"a", 1}}});
  EXPECT_EQ(store.row("a")->expires_at, kNever);
  EXPECT_EQ(texts_of(store.engine->tick(kNever)), Texts{"promise_timeout a@" + std::to_string(kNever)});
}

TEST(Limits, AnIntervalForever) {
  for (const bool by_ttl : {false, true}) {
    Options options = checked();
    options.retry_timeout = by_ttl ? std::nullopt : std::optional<Duration>(kNever);
    Store store(options, 7);
    store.create("a", kNever, target());
    if (by_ttl) {
      store.must(TaskAcquire{"a", 0, "w", kNever});
      store.must(TaskRelease{"a", 1});
    }
    EXPECT_EQ(store.row("a")->retry_at, kNever);
    EXPECT_EQ(store.engine->tick(kNever - 1).size(), 0u);
    EXPECT_EQ(store.engine->tick(kNever).size(), 1u);
  }
}

TEST(Limits, TheLastInstantHasAnEnd) {
  Store store(checked(), kNever - 10'000);
  store.create("a", kNever, target());
  EXPECT_EQ(store.engine->take_messages().size(), 1u);
  EXPECT_EQ(store.clock->advance_to(kNever).size(), 2u);  // one more dispatch, then the deadline; dispatches do not repeat for ever
  EXPECT_EQ(store.create("b", kNever, target()).promise->task, TaskState::fulfilled);
  EXPECT_TRUE(store.clock->advance(1).empty());
  EXPECT_EQ(store.engine->next_due(), std::nullopt);
}

TEST(Limits, ADelayUpToTheDeadline) {
  Store store;
  StringMap tagged = target();
  tagged.set("resonate:delay", std::to_string(kNever - 1));
  store.create("a", kNever, tagged);
  EXPECT_EQ(store.row("a")->retry_at, kNever - 1);
  EXPECT_EQ(store.engine->tick(kNever - 2).size(), 0u);
  EXPECT_EQ(store.engine->tick(kNever - 1).size(), 1u);
}

TEST(Limits, AnOccurrenceForever) {
  Store store;
  store.must(ScheduleCreate{"s", "0 0 1 1 *", "{{.id}}", kNever, {}, target(), {}});
  const Instant year = *store.engine->next_due();
  store.clock->advance_to_next();
  EXPECT_EQ(store.row("s")->promise_spec->timeout_at, kNever);
  EXPECT_EQ(store.row("s")->promise_spec->created_at, year);
}

TEST(Limits, ACalendarEnds) {
  constexpr Instant kYear9999 = 253'402'300'799'000;  // the last second of that year
  Store store(checked(), kYear9999 - 500'000);
  store.must(ScheduleCreate{"s", "*/5 * * * *", "{{.id}}.{{.timestamp}}", 10, {}, {}, {}});
  const auto fired = store.clock->advance_to(kNever - 1);
  EXPECT_EQ(fired.size(), 1u);
  EXPECT_EQ(store.engine->next_due(), std::nullopt);
  EXPECT_EQ(store.run(ScheduleGet{"s"}).schedule->next_run_at, kNever);
  EXPECT_TRUE(store.engine->check().empty());
}

TEST(Limits, InstantsBeforeTheEpoch) {
  Store store(checked(), -5000);
  store.create("a", 10, target());
  EXPECT_EQ(store.row("a")->promise_spec->created_at, -5000);
  EXPECT_EQ(store.engine->take_messages().size(), 1u);
  EXPECT_EQ(store.clock->advance_to(20).size(), 2u);
  EXPECT_TRUE(store.engine->check().empty());
}

TEST(Limits, RetentionForeverAndNone) {
  for (const Duration retention : {Duration{0}, kNever}) {
    Options options = checked();
    options.unblock_retention = retention;
    Store store(options, 5);
    store.create("a");
    store.must(RegisterListener{"a", "http://x"});
    store.settle("a");
    EXPECT_EQ(store.outbox().size(), 1u);
    store.engine->tick(retention == 0 ? 5 : kNever);
    EXPECT_EQ(store.outbox().size(), retention == 0 ? 0u : 1u);
  }
}

}  // namespace
}  // namespace resonate
