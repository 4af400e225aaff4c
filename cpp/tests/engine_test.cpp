// The engine around the machine: instants, batches, reads, messages, forks.
#include "resonate/engine.hpp"

#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

TEST(Engine, StartsAtTheInstantOfItsClock) {
  Store store(checked(), 77);
  EXPECT_EQ(store.engine->with_storage([](Storage& storage) { return storage.counters().now; }), 77);
  EXPECT_EQ(store.engine->next_due(), std::nullopt);
  EXPECT_EQ(store.create("a").promise->promise_spec->created_at, 77);
}

TEST(Engine, ARequestsInstantMovesAManualClock) {
  Store store;
  EXPECT_EQ(store.run(creation("a"), kNew, 50).now, 50);
  EXPECT_EQ(store.clock->now(), 50);
  const Reply early = store.run(creation("b"), kNew, 49);
  EXPECT_EQ(early.status, 400);
  EXPECT_NE(early.error.find("50"), std::string::npos) << early.error;
  EXPECT_EQ(store.row("b"), nullptr);
  EXPECT_EQ(store.run(PromiseGet{"a"}, kNew, 60).status, 200);  // a read moves the clock, too
  EXPECT_EQ(store.clock->now(), 60);
  EXPECT_EQ(store.run(creation("", 10), kNew, 90).status, 400);  // a malformed request does not
  EXPECT_EQ(store.clock->now(), 60);
  EXPECT_EQ(store.run(PromiseGet{"missing"}, kNew, 95).status, 404);
  EXPECT_EQ(store.clock->now(), 95);
}

TEST(Engine, ASystemClockCannotBeMoved) {
  const auto engine = Engine::create(make_memory_storage(), std::make_shared<SystemClock>(), checked());
  const Reply reply = engine->apply(Request{kNew, PromiseGet{"a"}}, 5);
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.error.find("manual"), std::string::npos) << reply.error;
  EXPECT_THROW(engine->tick(5), Error);
  EXPECT_TRUE(engine->tick().empty());
}

TEST(Engine, ReadsNeitherStoreNorRunSteps) {
  Store store;
  store.create("a", 10, tags({{"resonate:external", "true"}}));
  const std::string before = store.digest();
  store.clock->set(20);
  for (Operation read : {Operation(PromiseGet{"a"}), Operation(TaskGet{"a"}), Operation(ScheduleGet{"a"}),
                         Operation(PromiseSearch{}), Operation(TaskSearch{}), Operation(ScheduleSearch{})})
    store.run(std::move(read));
  EXPECT_EQ(store.digest(), before);
  EXPECT_EQ(state_of(store.run(PromiseGet{"a"})), PromiseState::rejected_timedout);  // a read shows the projection
  EXPECT_EQ(store.row("a")->state, PromiseState::pending);
  EXPECT_EQ(store.run(settlement("missing")).status, 404);  // the steps that are due run after a refused request
  EXPECT_EQ(store.row("a")->state, PromiseState::rejected_timedout);
}

TEST(Engine, AnInvalidRequestIsNotRunAtAll) {
  Store store;
  store.create("a", 10, tags({{"resonate:external", "true"}}));
  store.clock->set(20);
  EXPECT_EQ(store.run(settlement("a", "rejected_timedout")).status, 400);
  EXPECT_EQ(store.row("a")->state, PromiseState::pending);
}

std::vector<Request> requests(std::initializer_list<Operation> operations) {
  std::vector<Request> made;
  for (const Operation& operation : operations) made.push_back({kNew, operation});
  return made;
}

TEST(EngineBatch, LaterRequestsSeeEarlierOnesAndTheirSteps) {
  Store store;
  const auto replies = store.engine->apply(requests({creation("w", kFar, target()), TaskAcquire{"w", 0, "p", 50}, creation("dep"),
                                                     suspension("w", 1, {"dep"}), settlement("dep"), TaskGet{"w"}}));
  for (const Reply& reply : replies) EXPECT_EQ(reply.status, 200) << reply.error;
  EXPECT_EQ(replies.back().task->task, TaskState::pending);
  EXPECT_EQ(replies[0].promise->task, TaskState::pending);  // a reply keeps the state that it saw
  EXPECT_EQ(replies[2].promise->callbacks, 0u);
  EXPECT_EQ(store.outbox(), Texts{"execute:w"});
}

TEST(EngineBatch, InstantsGoForwardOrTheOneRequestIsRefused) {
  Store store;
  const auto replies = store.engine->apply(requests({creation("a"), creation("b"), creation("c"), creation("d"), creation("e")}),
                                           {10, 5, std::nullopt, 30});
  EXPECT_EQ(replies[1].status, 400);
  EXPECT_EQ(replies[2].now, 10);
  EXPECT_EQ(replies[4].now, 30);
  EXPECT_EQ(store.row("b"), nullptr);
  EXPECT_EQ(store.row("c")->promise_spec->created_at, 10);
  EXPECT_EQ(store.clock->now(), 30);
}

TEST(EngineBatch, AnEmptyBatchDoesNothing) {
  Store store;
  const std::string before = store.digest();
  EXPECT_TRUE(store.engine->apply(std::vector<Request>{}).empty());
  EXPECT_TRUE(store.engine->apply(std::vector<Request>{}, {}, Atomicity::all_or_nothing).empty());
  EXPECT_EQ(store.digest(), before);
}

TEST(EngineBatch, AllOrNothingUndoesEverything) {
  Store store;
  store.create("old");
  const std::string before = store.digest();
  for (Operation refused : {Operation(settlement("missing")), Operation(creation("")), Operation(TaskAcquire{"old", 0, "p", 1})}) {
    const auto replies =
        store.engine->apply(requests({creation("a"), settlement("old"), refused, creation("b")}), {40}, Atomicity::all_or_nothing);
    ASSERT_EQ(replies.size(), 4u);
    EXPECT_TRUE(replies[2].status == 404 || replies[2].status == 400) << replies[2].status;
    for (const std::size_t other : {0u, 1u, 3u}) {
      EXPECT_EQ(replies[other].status, 409);
      EXPECT_NE(replies[other].error.find("request 2"), std::string::npos) << replies[other].error;
      EXPECT_FALSE(replies[other].promise);
    }
    EXPECT_EQ(store.digest(), before);
    EXPECT_EQ(store.clock->now(), 0);
  }
  const auto replies = store.engine->apply(requests({creation("a"), settlement("old")}), {40}, Atomicity::all_or_nothing);
  EXPECT_TRUE(replies[0].ok() && replies[1].ok());
  EXPECT_EQ(store.clock->now(), 40);
}

TEST(EngineBatch, ARedirectionIsNoRefusal) {
  Store store;
  store.claim("w");
  store.create("dep");
  const auto replies =
      store.engine->apply(requests({settlement("dep"), suspension("w", 1, {"dep"}), creation("x")}), {}, Atomicity::all_or_nothing);
  EXPECT_EQ(replies[1].status, 300);
  EXPECT_NE(store.row("x"), nullptr);
}

TEST(Engine, NextDueIsNeverEarlierThanNow) {
  Store store(checked(), 100);
  store.create("a", 500, target());
  EXPECT_EQ(store.engine->next_due(), 500);  // the deadline; the execute is undelivered, so it has no timer
  store.create("b", 90'000, target());
  store.clock->set(700);
  EXPECT_EQ(store.engine->next_due(), 700);
  EXPECT_EQ(texts_of(store.engine->tick()), Texts{"promise_timeout a@500"});
  EXPECT_EQ(store.engine->next_due(), 90'000);
  store.engine->take_messages();
  EXPECT_EQ(store.engine->next_due(), 5100);
}

TEST(EngineMessages, AreTakenInOrderAndOnce) {
  Store store;
  for (const char* id : {"c", "a", "b"}) store.create(id, kFar, target(id == std::string("a") ? "http://x" : kTarget));
  EXPECT_EQ(store.outbox(), (Texts{"execute:c", "execute:a", "execute:b"}));
  const auto only_http = [](const OutboxMessage& message) { return message.address.starts_with("http"); };
  ASSERT_EQ(store.engine->take_messages_if(only_http, 0).size(), 0u);
  const auto taken = store.engine->take_messages_if(only_http, 10);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].first->id, "a");
  EXPECT_EQ(store.outbox(), (Texts{"execute:c", "execute:b"}));
  EXPECT_EQ(store.engine->take_messages(1).front().first->id, "c");
  EXPECT_EQ(store.engine->take_messages().front().first->id, "b");
  EXPECT_TRUE(store.engine->take_messages().empty());
}

TEST(EngineMessages, AnUnblockCarriesTheSettledRecord) {
  Store store;
  store.create("a");
  store.must(RegisterListener{"a", "http://x"});
  store.settle("a", "rejected");
  const auto taken = store.engine->take_messages();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].second->state, PromiseState::rejected);
}

TEST(EngineMessages, ANewExecuteReplacesTheOldAndGoesToTheEnd) {
  Store store;
  store.create("a", kFar, target());
  store.create("b", kFar, target());
  store.clock->advance_to(4999);
  EXPECT_EQ(store.outbox(), (Texts{"execute:a", "execute:b"}));
  EXPECT_TRUE(store.clock->advance_to(5000).empty());  // both executes are still undelivered
  store.must(TaskAcquire{"a", 0, "w", 10});
  EXPECT_EQ(store.outbox(), (Texts{"execute:a", "execute:b"}));  // a stale execute stays in the outbox
  store.must(TaskRelease{"a", 1});
  EXPECT_EQ(store.outbox(), (Texts{"execute:b", "execute:a"}));
}

TEST(EngineMessages, OldUnblocksAreDroppedAndCounted) {
  Options options = checked();
  options.unblock_retention = 100;
  Store store(options);
  store.create("a");
  store.must(RegisterListener{"a", "http://x"});
  store.settle("a");
  store.engine->tick(99);
  EXPECT_EQ(store.outbox().size(), 1u);
  store.run(PromiseGet{"a"}, kNew, 100);  // a read drops no message
  EXPECT_EQ(store.outbox().size(), 1u);
  store.run(settlement("missing"));
  EXPECT_TRUE(store.outbox().empty());
  EXPECT_EQ(store.engine->with_storage([](Storage& storage) { return storage.counters().dropped; }), 1);
}

TEST(EngineFork, IsIndependentOfItsOriginal) {
  Store store(checked(), 10);
  store.claim("w", kFar, 100);
  const auto clock = std::make_shared<ManualClock>(10);
  const auto fork = store.engine->fork(clock);
  EXPECT_EQ(store.digest(), fork->with_storage([](Storage& storage) { return digest(storage, {}); }));
  fork->apply(Request{kNew, settlement("w")});
  EXPECT_EQ(store.task("w"), TaskState::acquired);
  store.clock->advance_to(200);
  EXPECT_EQ(store.task("w"), TaskState::pending);
  EXPECT_EQ(clock->now(), 10);
  EXPECT_TRUE(clock->advance_to(1000).empty());
  EXPECT_EQ(fork->options().check, true);
}

// Regression: if a fork's clock was earlier than the store, every advance of that clock failed.
TEST(EngineForkRegression, AnEarlierClockIsMovedToWhatTheStoreHasSeen) {
  Store store(checked(), 100);
  store.claim("w", kFar, 50);
  const auto clock = std::make_shared<ManualClock>(0);
  const auto fork = store.engine->fork(clock);
  EXPECT_EQ(clock->now(), 100);
  EXPECT_EQ(texts_of(clock->advance_to(150)), (Texts{"lease_expiry w@150", "dispatch w@150 " + kTarget}));
}

TEST(Engine, ResetForgetsAllButTheClockAndThePause) {
  Store store;
  store.claim("w", kFar, 50);
  store.clock->set(30);
  store.engine->set_paused(true);
  store.engine->reset();
  EXPECT_TRUE(store.engine->paused());
  EXPECT_EQ(store.engine->promise_count(), 0u);
  EXPECT_EQ(store.engine->next_due(), std::nullopt);
  EXPECT_EQ(store.digest(), Store(checked(), 30).digest());
  EXPECT_EQ(store.create("w").promise->promise_spec->created_at, 30);
}

TEST(Engine, ReplacedContentsMoveAManualClockForward) {
  Store later(checked(), 500);
  later.claim("w", kFar, 50);
  Store store;
  store.engine->replace_storage(later.engine->with_storage([](Storage& storage) { return storage.fork(); }));
  EXPECT_EQ(store.clock->now(), 500);
  EXPECT_EQ(store.digest(), later.digest());
  EXPECT_EQ(store.clock->advance_to(550).size(), 2u);
}

TEST(EngineTrace, TellsRequestsAndStepsInOrder) {
  Store store;
  Texts seen;
  store.engine->start_trace([&](const TraceEvent& event) {
    if (event.request) seen.push_back("request@" + std::to_string(event.now) + " " + std::to_string(event.reply->status));
    if (event.fired) seen.push_back(text_of(*event.fired));
    if (event.taken) seen.push_back("taken " + std::to_string(event.taken->size()));
    if (event.replaced) seen.emplace_back("replaced");
  });
  store.create("a", kFar, target());
  store.run(settlement("missing"), kNew, 5);
  store.run(creation(""));  // validation refuses it, so the trace does not record it
  store.engine->take_messages();
  store.engine->tick(5000);
  EXPECT_EQ(seen, (Texts{"replaced", "request@0 200", "dispatch a@0 " + kTarget, "request@5 404", "taken 1",
                         "dispatch a@5000 " + kTarget}));
}

}  // namespace
}  // namespace resonate
