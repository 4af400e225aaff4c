// A failed commit and a violated property leave no partial change.
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_rows.hpp"
#include "fake_storage.hpp"
#include "fake_store.hpp"
#include "interrupting.hpp"
#include "machine/machine.hpp"

namespace resonate {
namespace {

using namespace fake;

struct FailingStore : Store {
  FailingStore() : FailingStore(std::make_shared<int>(-1)) {}
  explicit FailingStore(const std::shared_ptr<int>& its_writes_left) : writes_left(its_writes_left) {
    clock = std::make_shared<ManualClock>(0);
    engine = Engine::create(std::make_unique<FailingStorage>(writes_left), clock, checked());
  }
  void fail_after(int writes) { *writes_left = writes; }
  void heal() { *writes_left = -1; }
  std::shared_ptr<int> writes_left;
};

TEST(EngineFaults, ARequestWhoseCommitFailsHasNotHappened) {
  FailingStore store;
  store.create("a", kFar, target());
  const std::string before = store.snapshot();
  store.fail_after(0);
  EXPECT_THROW(store.run(settlement("a"), kNew, 10), Error);
  EXPECT_THROW(store.run(TaskAcquire{"a", 0, "w", 10}, kNew, 10), Error);
  EXPECT_EQ(store.run(PromiseGet{"a"}).promise->state, PromiseState::pending);  // reads need no commit
  EXPECT_EQ(store.snapshot(), before);
  EXPECT_EQ(store.clock->now(), 0);
  store.heal();
  EXPECT_EQ(store.run(settlement("a"), kNew, 10).promise->settled_at, 10);
}

TEST(EngineFaults, ABatchWhoseCommitFailsHasNotHappened) {
  FailingStore store;
  store.claim("w");
  store.create("dep");
  const std::string before = store.snapshot();
  const std::vector<Request> batch = {{kNew, creation("x")}, {kNew, suspension("w", 1, {"dep"})}, {kNew, settlement("dep")}};
  store.fail_after(0);
  EXPECT_THROW(store.engine->apply(batch, {7}), Error);
  EXPECT_EQ(store.snapshot(), before);
  EXPECT_EQ(store.clock->now(), 0);
  store.heal();
  for (const Reply& reply : store.engine->apply(batch, {7})) EXPECT_TRUE(reply.ok()) << reply.error;
  EXPECT_EQ(store.task("w"), TaskState::pending);
}

TEST(EngineFaults, ATickContinuesAfterItsLastCommit) {
  FailingStore store;
  constexpr int kDue = 600;  // a tick runs them in three transactions of at most 256 steps
  for (int i = 0; i < kDue; ++i) store.create("p" + std::to_string(i), 10, tags({{"resonate:external", "true"}}));
  store.fail_after(1);
  EXPECT_THROW(store.engine->tick(10), Error);
  store.heal();
  const auto left = store.engine->tick(10);
  EXPECT_EQ(left.size(), static_cast<std::size_t>(kDue - 256));
  EXPECT_TRUE(store.engine->tick(10).empty());
  EXPECT_TRUE(store.engine->check().empty());
}

TEST(EngineFaults, MessagesThatCouldNotBeRemovedStay) {
  FailingStore store;
  store.create("a", kFar, target());
  store.fail_after(0);
  EXPECT_THROW(store.engine->take_messages(), Error);
  store.heal();
  EXPECT_EQ(store.engine->take_messages().size(), 1u);
}

// Regression: if the trace's sink threw, the caller got its exception for a committed request, and the clock did not advance.
TEST(EngineFaultsRegression, ASinkThatThrowsCostsNoReply) {
  Store store;
  struct Full {};
  int calls = 0;
  store.engine->start_trace([&](const TraceEvent& event) {
    ++calls;
    if (event.request) throw Full();
  });
  EXPECT_TRUE(store.run(creation("a", kFar, target()), kNew, 10).ok());
  EXPECT_EQ(store.clock->now(), 10);
  EXPECT_EQ(store.engine->apply({{kNew, creation("b", kFar, target())}}, {20}).size(), 1u);
  EXPECT_EQ(store.clock->now(), 20);
  EXPECT_EQ(store.engine->take_messages().size(), 2u);
  EXPECT_EQ(store.engine->tick(6000).size(), 2u);
  EXPECT_EQ(calls, 2) << "the open state and the request whose line was lost: a trace with a gap would be none";
  EXPECT_THROW(store.engine->stop_trace(), Full);
  EXPECT_NO_THROW(store.engine->stop_trace());
}

TEST(EngineFaults, ATraceThatFailedIsNotReplacedInSilence) {
  Store store;
  struct Full {};
  store.engine->start_trace([](const TraceEvent&) { throw Full(); });
  int calls = 0;
  const auto count = [&](const TraceEvent&) { ++calls; };
  EXPECT_THROW(store.engine->start_trace(count), Full);
  EXPECT_EQ(calls, 0);
  store.engine->start_trace(count);
  EXPECT_EQ(calls, 1);
}

TEST(EngineFaults, ABrokenPropertyUndoesTheRequestThatShowedIt) {
  Store store;
  store.claim("w");
  store.engine->with_storage(
      [](Storage& storage) { fake::put(storage, fake::changed(storage.load("w"), [](Row& row) { row.retry_at = 5; })); });
  const std::string before = store.snapshot();
  try {
    store.run(TaskHeartbeat{"worker", {{"w", 1}}}, kNew, 1);
    FAIL() << "the broken row was not noticed";
  } catch (const InvariantError& error) {
    EXPECT_EQ(error.code(), ErrorCode::invariant);
    ASSERT_FALSE(error.violations().empty());
    EXPECT_EQ(error.violations()[0].name, "retry_mismatch");
    EXPECT_NE(std::string(error.what()).find("retry_mismatch"), std::string::npos);
  }
  EXPECT_EQ(store.snapshot(), before);
  EXPECT_EQ(store.clock->now(), 0);
}

TEST(EngineFaults, AnInterruptedTickKeepsWhatItCommitted) {
  Store store;
  for (int i = 0; i < 1500; ++i) store.create("p" + std::to_string(i), 10, tags({{"resonate:external", "true"}}));
  {
    const Interrupting at_once([](int) { throw Stop(); });
    EXPECT_THROW(store.engine->tick(10), Interrupted);
  }
  const std::size_t left = store.engine->tick(10).size();
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, 1500u);
}

// Regression: if a request at a later instant ran between two transactions of a tick, the tick continued at its earlier instant.
TEST(EngineFaultsRegression, ATickThatWasOvertakenContinuesAtTheLaterInstant) {
  Store store;
  for (int i = 0; i < 4000; ++i) store.create("p" + std::to_string(1000 + i), 10, tags({{"resonate:external", "true"}}));
  bool overtaken = false;
  const Interrupting overtaking([&](int) {
    if (!std::exchange(overtaken, true)) store.run(settlement("missing"), kNew, 400);
  });
  const auto fired = store.engine->tick(10);
  ASSERT_EQ(fired.size(), 4000 - kStepsPerRequest);  // the request ran the other steps
  const auto later = std::ranges::find(fired, 400, &Fired::now);
  EXPECT_NE(later, fired.begin());
  EXPECT_NE(later, fired.end());
  EXPECT_TRUE(std::all_of(fired.begin(), later, [](const Fired& one) { return one.now == 10; }));
  EXPECT_TRUE(std::all_of(later, fired.end(), [](const Fired& one) { return one.now == 400; }));
  EXPECT_EQ(store.clock->now(), 400);
}

}  // namespace
}  // namespace resonate
