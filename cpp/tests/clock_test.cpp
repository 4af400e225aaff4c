// Clocks: a manual clock that drives several engines, and the system clock.
#include "resonate/clock.hpp"

#include <gtest/gtest.h>

#include "fake_store.hpp"
#include "interrupting.hpp"

namespace resonate {
namespace {

using namespace fake;

const StringMap kExternal = tags({{"resonate:external", "true"}});

// A second engine on the clock of the first.
Store beside(const Store& first) {
  Store second;
  second.clock = first.clock;
  second.engine = Engine::create(make_memory_storage(), first.clock, checked());
  return second;
}

TEST(DatabaseClock, IsNeverAheadOfTheDatabase) {
  SystemClock database;
  DatabaseClock clock;
  for (int transaction = 0; transaction < 30; ++transaction) {
    const Instant begin = database.wall();
    clock.learn(begin);
    for (Instant now = begin; now < begin + 3; now = database.wall()) {
      const Instant shown = clock.wall();
      ASSERT_LE(shown, database.wall());
    }
  }
}

// Regression: just after it had learned an instant, it showed the millisecond before.
TEST(DatabaseClock, ShowsWhatItHasLearnedAtOnce) {
  DatabaseClock clock;
  for (Instant at = 1'700'000'000'000; at < 1'700'000'001'000; ++at) {
    clock.learn(at);
    ASSERT_GE(clock.wall(), at);
  }
}

TEST(SystemClock, NeverGoesBack) {
  SystemClock clock;
  Instant last = 0;
  for (int i = 0; i < 1000; ++i) {
    const Instant now = clock.now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, 1'700'000'000'000);
  EXPECT_FALSE(clock.manual());
}

TEST(ManualClock, StandsStillUntilItIsMoved) {
  ManualClock clock(5);
  EXPECT_EQ(clock.now(), 5);
  EXPECT_TRUE(clock.set(7));
  EXPECT_FALSE(clock.set(6));
  EXPECT_EQ(clock.now(), 7);
  EXPECT_TRUE(clock.advance(3).empty());
  EXPECT_EQ(clock.now(), 10);
  EXPECT_THROW(clock.advance(-1), Error);
  EXPECT_THROW(clock.advance_to(9), Error);
  EXPECT_TRUE(clock.advance_to_next().empty());
  EXPECT_EQ(clock.now(), 10);
}

TEST(ManualClock, VisitsEveryInstantAtWhichSomethingIsDue) {
  Store store;
  store.create("a", 7000, target());
  store.create("b", 30, kExternal);
  store.engine->take_messages();
  EXPECT_EQ(texts_of(store.clock->advance_to(12'000)),
            (Texts{"promise_timeout b@30", "dispatch a@5000 " + kTarget, "promise_timeout a@7000"}));
  EXPECT_EQ(store.clock->now(), 12'000);
  EXPECT_EQ(store.engine->with_storage([](Storage& storage) { return storage.counters().now; }), 12'000);
}

TEST(ManualClock, ATickIsAServerThatWasAway) {
  Store there;
  Store away;
  for (Store* store : {&there, &away}) store->claim("a", 100'000, 1000);
  EXPECT_EQ(texts_of(there.clock->advance_to(12'000)), (Texts{"lease_expiry a@1000", "dispatch a@1000 " + kTarget}));
  EXPECT_EQ(texts_of(away.engine->tick(12'000)), (Texts{"lease_expiry a@1000", "dispatch a@12000 " + kTarget}));
}

TEST(ManualClock, DrivesSeveralEnginesInOrderOfInstants) {
  Store first;
  Store second = beside(first);
  first.create("f1", 10, kExternal);
  first.create("f2", 30, kExternal);
  second.create("s1", 20, kExternal);
  second.create("s2", 30, kExternal);
  EXPECT_EQ(texts_of(first.clock->advance_to(40)),
            (Texts{"promise_timeout f1@10", "promise_timeout s1@20", "promise_timeout f2@30", "promise_timeout s2@30"}));
  for (Store* store : {&first, &second})
    EXPECT_EQ(store->engine->with_storage([](Storage& storage) { return storage.counters().now; }), 40);
}

TEST(ManualClock, GoesToTheNextInstantAndNoFurther) {
  Store first;
  Store second = beside(first);
  first.create("a", 10, kExternal);
  second.create("b", 20, kExternal);
  EXPECT_EQ(texts_of(first.clock->advance_to_next()), Texts{"promise_timeout a@10"});
  EXPECT_EQ(first.clock->now(), 10);
  EXPECT_EQ(texts_of(first.clock->advance_to_next()), Texts{"promise_timeout b@20"});
  EXPECT_TRUE(first.clock->advance_to_next().empty());
  EXPECT_EQ(first.clock->now(), 20);
}

TEST(ManualClock, AnInstantWithoutAdvanceRunsWhatIsDue) {
  Store store;
  store.create("a", 10, kExternal);
  store.clock->set(15);
  EXPECT_EQ(texts_of(store.clock->advance_to(15)), Texts{"promise_timeout a@10"});
}

TEST(ManualClock, ForgetsEnginesThatWent) {
  Store store;
  const std::weak_ptr<Engine> gone = store.engine;
  store.create("a", 10, kExternal);
  store.engine.reset();
  EXPECT_TRUE(gone.expired());
  EXPECT_TRUE(store.clock->advance_to(100).empty());
}

TEST(ManualClock, AnInterruptStopsBetweenInstants) {
  Store store;
  for (int i = 0; i < 10; ++i) store.create("p" + std::to_string(i), 10 + i, kExternal);
  {
    const Interrupting after_three([](int calls) {
      if (calls > 3) throw Stop();
    });
    EXPECT_THROW(store.clock->advance_to(100), Interrupted);
  }
  EXPECT_EQ(store.clock->now(), 12);
  EXPECT_EQ(store.row("p2")->state, PromiseState::rejected_timedout);
  EXPECT_EQ(store.row("p3")->state, PromiseState::pending);
  EXPECT_EQ(store.clock->advance_to(100).size(), 7u);  // the clock is usable afterwards
}

TEST(ManualClock, AnInterruptStopsWithinOneInstant) {
  Store store;
  for (int i = 0; i < 2500; ++i) store.create("p" + std::to_string(i), 10, kExternal);
  {
    const Interrupting second([](int calls) {
      if (calls == 2) throw Stop();
    });
    EXPECT_THROW(store.clock->advance_to(100), Interrupted);
  }
  EXPECT_EQ(store.clock->now(), 10);
  const std::size_t left = store.clock->advance_to(100).size();
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, 2500u);  // steps that were committed before the interrupt are kept
}

// Regression: if a request moved the clock during an advance, the advance failed.
TEST(ManualClockRegression, ARequestMayOvertakeAnAdvance) {
  Store first;
  Store second = beside(first);
  for (int i = 0; i < 1500; ++i) first.create("p" + std::to_string(i), 10, kExternal);
  second.create("s", 10, kExternal);
  const Interrupting overtaking([&](int calls) {
    if (calls == 2) second.run(PromiseGet{"s"}, kNew, 50);  // between the two transactions of the first engine's tick
  });
  const auto fired = first.clock->advance_to(20);
  EXPECT_EQ(fired.size(), 1501u);
  EXPECT_EQ(first.clock->now(), 50);
}

}  // namespace
}  // namespace resonate
