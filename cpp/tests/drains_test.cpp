// The drains after a settlement: their order, and the number of them that one request runs.
#include <gtest/gtest.h>

#include "fake_store.hpp"
#include "machine/machine.hpp"

namespace resonate {
namespace {

using namespace fake;

std::string awaiter(int i) { return "w" + std::to_string(100'000 + i); }

// `count` suspended tasks that wait for "dep".
void suspend_many(Store& store, int count) {
  store.create("dep");
  std::vector<Request> batch;
  for (int i = 0; i < count; ++i) {
    batch.push_back({kNew, TaskCreate{"p", 1000, creation(awaiter(i), kFar, target())}});
    batch.push_back({kNew, suspension(awaiter(i), 1, {"dep"})});
  }
  for (const Reply& reply : store.engine->apply(std::move(batch))) ASSERT_EQ(reply.status, 200) << reply.error;
}

TEST(Drains, ARequestTakesAPortionOfStepsAndATickTheRest) {
  constexpr std::size_t kAwaiters = 1000;
  constexpr std::size_t kLeft = kAwaiters - 2 * kStepsPerRequest;
  Store store{Options{}};
  suspend_many(store, static_cast<int>(kAwaiters));
  store.settle("dep");
  EXPECT_EQ(store.row("dep")->callbacks, kAwaiters - kStepsPerRequest);
  EXPECT_EQ(store.engine->next_due(), 0);  // the remaining drains are due at once
  EXPECT_EQ(store.run(PromiseGet{"dep"}).promise->callbacks, kAwaiters - kStepsPerRequest);
  store.run(settlement("missing"));
  EXPECT_EQ(store.row("dep")->callbacks, kLeft);
  EXPECT_TRUE(store.outbox().empty());  // drains run before every timer, also before dispatches
  const auto fired = store.engine->tick();
  ASSERT_EQ(fired.size(), kLeft + kAwaiters);
  for (std::size_t i = 0; i < kLeft; ++i)
    ASSERT_EQ(text_of(fired[i]), "callback_drain dep@0 " + awaiter(static_cast<int>(2 * kStepsPerRequest + i)));
  for (std::size_t i = 0; i < kAwaiters; ++i) ASSERT_EQ(fired[kLeft + i].id, awaiter(static_cast<int>(i)));
  EXPECT_EQ(store.row("dep")->callbacks, 0u);
  EXPECT_EQ(store.outbox().size(), kAwaiters);
  EXPECT_TRUE(store.engine->check().empty());
}

// Regression: the check reported a task as suspended without a callback if its awaited promise was settled but not yet drained.
TEST(DrainsRegression, ATaskWhoseDrainIsStillToComeIsNotLost) {
  Store store{Options{}};
  suspend_many(store, static_cast<int>(kStepsPerRequest) + 50);
  store.settle("dep");
  ASSERT_EQ(store.row("dep")->callbacks, 50u);
  for (const Violation& violation : store.engine->check())
    ADD_FAILURE() << violation.name << " " << violation.id << " " << violation.detail;
}

TEST(Drains, ListenersGoFirstEachInOrderOfRegistration) {
  Store store;
  store.create("dep", 50);
  for (const char* id : {"w2", "w1"}) {
    store.claim(id);
    store.suspend(id, 1, {"dep"});
    store.must(RegisterListener{"dep", std::string("http://") + id});
  }
  EXPECT_EQ(
      texts_of(store.engine->tick(60)),
      (Texts{"promise_timeout dep@50", "listener_drain dep@50 http://w2", "listener_drain dep@50 http://w1",
             "callback_drain dep@50 w2", "callback_drain dep@50 w1", "dispatch w1@60 " + kTarget, "dispatch w2@60 " + kTarget}));
  EXPECT_EQ(store.outbox(), (Texts{"unblock:dep:http://w2", "unblock:dep:http://w1", "execute:w1", "execute:w2"}));
  EXPECT_EQ(store.resumes("w1"), Texts{"dep"});
  EXPECT_EQ(store.current("w1"), "dep");
}

TEST(Drains, OneSettlementIsDrainedBeforeTheNextTimer) {
  Store store;
  for (const char* id : {"b", "a"}) {
    store.create(id, 50);
    store.must(RegisterListener{id, "http://x"});
  }
  EXPECT_EQ(texts_of(store.engine->tick(50)), (Texts{"promise_timeout a@50", "listener_drain a@50 http://x", "promise_timeout b@50",
                                                     "listener_drain b@50 http://x"}));
}

TEST(Drains, AnAwaiterIsResumedByItsState) {
  Store store;
  for (const char* id : {"dep1", "dep2"}) store.create(id);
  for (const char* id : {"suspended", "acquired", "halted", "pending", "fulfilled"}) {
    store.claim(id);
    store.must(RegisterCallback{"dep1", id});
    store.must(RegisterCallback{"dep2", id});
  }
  ASSERT_EQ(store.suspend("suspended", 1, {"dep1"}).status, 200);
  store.must(TaskHalt{"halted"});
  store.must(TaskRelease{"pending", 1});
  store.settle("fulfilled");
  store.settle("dep1");
  EXPECT_EQ(store.task("suspended"), TaskState::pending);
  EXPECT_EQ(store.current("suspended"), "dep1");
  EXPECT_EQ(store.current("pending"), "");
  store.settle("dep2");
  for (const char* id : {"suspended", "acquired", "halted", "pending"}) EXPECT_EQ(store.resumes(id), (Texts{"dep1", "dep2"})) << id;
  EXPECT_EQ(store.task("acquired"), TaskState::acquired);
  EXPECT_EQ(store.task("halted"), TaskState::halted);
  EXPECT_EQ(store.resumes("fulfilled"), Texts{});
}

TEST(Drains, ADeadAwaiterIsNotWoken) {
  Store store;
  store.claim("w", 100);
  store.create("dep", 200);
  ASSERT_EQ(store.suspend("w", 1, {"dep"}).status, 200);
  store.clock->set(150);
  store.settle("dep");
  EXPECT_EQ(store.task("w"), TaskState::fulfilled);
  EXPECT_EQ(store.row("w")->state, PromiseState::rejected_timedout);
  EXPECT_TRUE(store.outbox().empty());
}

TEST(Drains, AnAwaiterWithoutATaskLosesItsCallback) {
  Store store;
  store.create("dep");
  store.create("plain");
  store.must(RegisterCallback{"dep", "plain"}, kOld);
  EXPECT_EQ(store.row("dep")->callbacks, 1u);
  store.settle("dep");
  EXPECT_EQ(store.row("dep")->callbacks, 0u);
}

TEST(Drains, ManyAwaitedByOneTask) {
  constexpr int kAwaited = 3000;
  Store store{Options{}};
  store.claim("w");
  std::vector<Request> batch;
  for (int i = 0; i < kAwaited; ++i) {
    batch.push_back({kNew, creation(awaiter(i), 500)});
    batch.push_back({kNew, RegisterCallback{awaiter(i), "w"}});
  }
  store.engine->apply(std::move(batch));
  EXPECT_EQ(store.engine->tick(500).size(), 2u * kAwaited);
  EXPECT_EQ(store.resumes("w").size(), static_cast<std::size_t>(kAwaited));
  EXPECT_TRUE(store.engine->check().empty());
}

}  // namespace
}  // namespace resonate
