// Internal steps and their order at one instant (PROTOCOL 4). Drains have a file of their own.
#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

TEST(Steps, AtOneInstantGoByKindThenId) {
  Store store;
  constexpr Instant kAt = 60'000;
  store.must(ScheduleCreate{"a", "* * * * *", "{{.id}}!", 5, {}, {}, {}});
  store.create("z", kAt, tags({{"resonate:external", "true"}}));
  store.create("b", kAt, tags({{"resonate:external", "true"}}));
  for (const char* id : {"y", "c"}) store.claim(id, kFar, kAt);
  StringMap delayed = target();
  delayed.set("resonate:delay", std::to_string(kAt));
  for (const char* id : {"x", "d"}) store.create(id, kFar, delayed);
  EXPECT_EQ(texts_of(store.clock->advance_to(kAt)),
            (Texts{"promise_timeout b@60000", "promise_timeout z@60000", "lease_expiry c@60000", "lease_expiry y@60000",
                   "dispatch c@60000 " + kTarget, "dispatch d@60000 " + kTarget, "dispatch x@60000 " + kTarget,
                   "dispatch y@60000 " + kTarget, "schedule a@60000 a!"}));
}

TEST(Steps, ALateTickGoesByDeadline) {
  Store store;
  store.create("late", 90, tags({{"resonate:external", "true"}}));
  store.create("early", 80, tags({{"resonate:external", "true"}}));
  store.claim("lease", kFar, 85);
  EXPECT_EQ(texts_of(store.engine->tick(100)), (Texts{"promise_timeout early@80", "lease_expiry lease@85",
                                                      "promise_timeout late@90", "dispatch lease@100 " + kTarget}));
}

TEST(Steps, ADeadRowHasOnlyItsTimeout) {
  Store store;
  store.claim("leased", 100, 50);
  store.create("queued", 100, target());
  store.create("b", 70, tags({{"resonate:external", "true"}}));
  EXPECT_EQ(texts_of(store.engine->tick(6000)),
            (Texts{"promise_timeout b@70", "promise_timeout leased@100", "promise_timeout queued@100"}));
  EXPECT_EQ(store.outbox(), Texts{"execute:queued"});
}

TEST(Steps, ALeaseRunsOutAndTheTaskIsSentAgain) {
  Store store;
  store.claim("a", kFar, 30);
  EXPECT_EQ(texts_of(store.clock->advance_to(30)), (Texts{"lease_expiry a@30", "dispatch a@30 " + kTarget}));
  EXPECT_EQ(store.row("a")->acquisitions, 1);
  EXPECT_EQ(store.row("a")->retry_at, 5030);
  EXPECT_EQ(store.run(TaskRelease{"a", 1}).status, 409);
  store.must(TaskAcquire{"a", 1, "other", 5});
}

TEST(Steps, AHeartbeatAtTheInstantOfExpiryComesFirst) {
  Store store;
  store.claim("a", kFar, 30);
  EXPECT_EQ(store.run(TaskHeartbeat{"worker", {{"a", 1}}}, kNew, 30).status, 200);
  EXPECT_EQ(store.row("a")->expires_at, 60);
  EXPECT_EQ(store.task("a"), TaskState::acquired);
}

TEST(Steps, TheCadenceIsAnIntervalOrTheLastTtl) {
  for (const bool by_ttl : {false, true}) {
    Options options = checked();
    options.retry_timeout = by_ttl ? std::nullopt : std::optional<Duration>(70);
    Store store(options);
    store.create("a", kFar, target());
    EXPECT_EQ(store.row("a")->retry_at, by_ttl ? 5000 : 70);
    store.must(TaskAcquire{"a", 0, "w", 33});
    store.must(TaskRelease{"a", 1});
    EXPECT_EQ(store.row("a")->retry_at, by_ttl ? 33 : 70);
  }
}

TEST(Steps, AHaltedTaskHasNoTimerButItsDeadline) {
  Store store;
  store.claim("a", 100, 10);
  store.must(TaskHalt{"a"});
  EXPECT_EQ(texts_of(store.clock->advance_to(200)), Texts{"promise_timeout a@100"});
}

TEST(Steps, AnInternalPromiseHasNoStep) {
  Store store;
  store.create("a", 100);
  EXPECT_EQ(store.engine->next_due(), std::nullopt);
  EXPECT_TRUE(store.clock->advance_to(200).empty());
  EXPECT_EQ(store.row("a")->state, PromiseState::pending);
}

TEST(Steps, RepeatedTicksDoNothingMore) {
  Store store;
  store.claim("a", 9000, 10);
  store.engine->tick(50);
  const std::string before = store.digest();
  EXPECT_TRUE(store.engine->tick(50).empty());
  EXPECT_TRUE(store.engine->tick().empty());
  EXPECT_EQ(store.digest(), before);
}

}  // namespace
}  // namespace resonate
