// Requests on tasks (PROTOCOL 3.8-3.11, 3.13-3.17); suspend has a file of its own.
#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

TaskCreate task_creation(const std::string& id, Instant timeout_at = kFar) {
  return {"w", 100, creation(id, timeout_at, target())};
}

TEST(TaskCreate, BornAcquired) {
  Store store(checked(), 7);
  const Reply reply = store.must(task_creation("a"));
  EXPECT_TRUE(reply.show_task && reply.has_preload);
  EXPECT_EQ(reply.task->task, TaskState::acquired);
  EXPECT_EQ(reply.task->acquisitions, 1);
  EXPECT_EQ(reply.task->expires_at, 107);
  EXPECT_EQ(reply.task->pid->text, "w");
  EXPECT_TRUE(store.outbox().empty());
}

TEST(TaskCreate, OfWhatExists) {
  for (const RulesId rules : {RulesId::compatible, RulesId::strict}) {
    Store store(checked(rules));
    store.create("plain");
    EXPECT_EQ(store.run(task_creation("plain")).status, 422);
    store.create("pending", kFar, target());
    EXPECT_EQ(store.run(task_creation("pending")).task->acquisitions, 1);
    EXPECT_EQ(store.run(task_creation("pending")).status, 409);
    store.must(TaskHalt{"pending"});
    EXPECT_EQ(store.run(task_creation("pending")).status, 409);
    store.settle("pending");
    const Reply done = store.must(task_creation("pending"));
    EXPECT_EQ(done.task->task, TaskState::fulfilled);
    EXPECT_TRUE(done.show_task && done.has_preload && done.preload.empty());
  }
}

TEST(TaskCreate, OfWhatExistsIn2025) {
  Store store;
  store.create("pending", kFar, target());
  const Reply reply = store.must(task_creation("pending"), kOld);
  EXPECT_FALSE(reply.show_task);
  EXPECT_EQ(store.task("pending"), TaskState::pending);
  EXPECT_EQ(store.must(TaskCreate{"w", 5, creation("free")}, kOld).task->task, TaskState::acquired);  // without a target
  EXPECT_EQ(texts_of(store.clock->advance_to(5)), Texts{"lease_expiry free@5"});
  EXPECT_EQ(store.row("free")->retry_at, kFar);  // no message is ever due for it
}

TEST(TaskCreate, BornDead) {
  Store store(checked(), 50);
  const Reply reply = store.must(task_creation("a", 50));
  EXPECT_EQ(reply.task->task, TaskState::fulfilled);
  EXPECT_EQ(reply.task->acquisitions, 0);
  EXPECT_TRUE(reply.preload.empty());
  EXPECT_FALSE(store.must(task_creation("b", 50), kOld).show_task);
}

TEST(TaskCreate, PreloadsItsBranch) {
  Store store;
  for (const char* id : {"c", "a"}) store.create(id, kFar, tags({{"resonate:branch", "one"}}));
  store.create("other", kFar, tags({{"resonate:branch", "two"}}));
  TaskCreate create = task_creation("b");
  create.action.tags.set("resonate:branch", "one");
  const Reply reply = store.must(create);
  ASSERT_EQ(reply.preload.size(), 2u);
  EXPECT_EQ(reply.preload[0]->id(), "a");
  EXPECT_EQ(reply.preload[1]->id(), "c");
  create.action.id = "d";
  create.action.tags.set("resonate:branch", "");
  EXPECT_TRUE(store.must(create).preload.empty());  // an empty branch is none
}

TEST(TaskAcquire, AVersionIsSpentByItsAcquisition) {
  Store store;
  store.create("a", kFar, target());
  EXPECT_EQ(store.run(TaskAcquire{"missing", 0, "w", 5}).status, 404);
  EXPECT_EQ(store.run(TaskAcquire{"a", 1, "w", 5}).status, 409);
  EXPECT_EQ(store.must(TaskAcquire{"a", 0, "w", 5}).task->acquisitions, 1);
  EXPECT_EQ(store.run(TaskAcquire{"a", 0, "w", 5}).status, 409);
  EXPECT_EQ(store.run(TaskAcquire{"a", 1, "w", 5}).status, 409);
}

TEST(Versions, AreCountedByDialect) {
  Store store;
  store.create("a", kFar, target());
  store.must(TaskAcquire{"a", 0, "w", 5}, kOld);
  EXPECT_EQ(store.run(TaskRelease{"a", 1}, kOld).status, 409);
  store.must(TaskRelease{"a", 0}, kOld);
  store.must(TaskAcquire{"a", 1, "w", 5}, kNew);  // what a 2025 worker released, a 2026 worker acquires
  EXPECT_EQ(store.run(TaskRelease{"a", 1}, kNew).status, 409);
  store.must(TaskRelease{"a", 2}, kNew);
  store.must(TaskAcquire{"a", 2, "w", 5}, kOld);
  EXPECT_EQ(store.row("a")->acquisitions, 3);
}

TEST(TaskAcquire, ClearsResumesOrTakesCurrentFromThem) {
  for (const DialectId dialect : {kNew, kOld}) {
    Store store;
    for (const char* id : {"dep1", "dep2"}) store.create(id);
    store.claim("w");
    store.must(RegisterCallback{"dep2", "w"});
    ASSERT_EQ(store.suspend("w", 1, {"dep1"}).status, 200);
    store.settle("dep1");
    store.settle("dep2");
    EXPECT_EQ(store.resumes("w"), (Texts{"dep1", "dep2"}));
    const Reply reply = store.must(TaskAcquire{"w", 1, "p", 5}, dialect);
    EXPECT_EQ(store.resumes("w"), dialect == kNew ? Texts{} : Texts{"dep2"});
    EXPECT_EQ(store.current("w"), "dep1");
    EXPECT_EQ(reply.awaited->id(), "dep1");
  }
}

TEST(TaskRelease, GivesTheTaskBackAtOnce) {
  Store store;
  store.claim("a");
  EXPECT_EQ(store.run(TaskRelease{"a", 2}).status, 409);
  store.must(TaskRelease{"a", 1});
  EXPECT_EQ(store.outbox(), Texts{"execute:a"});
  EXPECT_FALSE(store.row("a")->pid);
  EXPECT_EQ(store.row("a")->ttl, 1000);  // remembered as the last
  EXPECT_EQ(store.run(TaskRelease{"a", 1}).status, 409);
  EXPECT_EQ(store.run(TaskRelease{"missing", 1}).status, 404);
}

TEST(TaskFulfill, SettlesBothOnce) {
  Store store;
  store.claim("a");
  EXPECT_EQ(store.run(TaskFulfill{"a", 0, settlement("a")}).status, 409);
  EXPECT_EQ(store.run(TaskFulfill{"a", 1, settlement("b")}).status, 400);
  EXPECT_EQ(store.run(TaskFulfill{"missing", 1, settlement("missing")}).status, 404);
  EXPECT_EQ(store.must(TaskFulfill{"a", 1, settlement("a", "rejected")}).promise->state, PromiseState::rejected);
  EXPECT_EQ(store.task("a"), TaskState::fulfilled);
  EXPECT_EQ(store.row("a")->ttl, 0);
  EXPECT_EQ(store.run(TaskFulfill{"a", 1, settlement("a")}).status, 409);
}

TEST(TaskFence, RunsItsActionOnlyForTheHolder) {
  Store store;
  store.claim("a");
  store.create("dep");
  EXPECT_EQ(store.run(TaskFence{"a", 0, creation("x")}).status, 409);
  EXPECT_EQ(store.row("x"), nullptr);
  EXPECT_EQ(store.run(TaskFence{"a", 1, creation("a")}).status, 400);
  const Reply created = store.must(TaskFence{"a", 1, creation("x")});
  EXPECT_TRUE(created.is_fence() && created.has_preload);
  EXPECT_EQ(created.fenced_status, 200);
  EXPECT_EQ(created.promise->id(), "x");
  EXPECT_EQ(store.must(TaskFence{"a", 1, settlement("dep")}).promise->state, PromiseState::resolved);
  EXPECT_EQ(store.must(TaskFence{"a", 1, settlement("missing")}).fenced_status, 404);
  EXPECT_EQ(store.run(TaskFence{"a", 1, creation("")}).status, 400);
  Store strict(checked(RulesId::strict));
  strict.claim("a");
  EXPECT_EQ(strict.run(TaskFence{"a", 0, creation("")}).status, 409);  // the outer guards come first
  EXPECT_EQ(strict.must(TaskFence{"a", 1, creation("")}).fenced_status, 400);
  EXPECT_EQ(strict.must(TaskFence{"a", 1, settlement("x", "odd")}).fenced_status, 400);
}

TEST(TaskHeartbeat, RenewsWhatItsHolderNames) {
  Store store;
  for (const char* id : {"a", "b", "c"}) store.claim(id, kFar, 100, id == std::string("c") ? "other" : "worker");
  store.clock->set(50);
  store.must(TaskHeartbeat{"worker", {{"a", 1}, {"b", 2}, {"c", 1}, {"missing", 1}}});
  EXPECT_EQ(store.row("a")->expires_at, 150);
  EXPECT_EQ(store.row("b")->expires_at, 100);
  EXPECT_EQ(store.row("c")->expires_at, 100);
  store.must(TaskHeartbeat{"worker", {{"a", 0}, {"b", 0}}}, kOld);  // as that dialect counts
  EXPECT_EQ(store.row("b")->expires_at, 150);
}

TEST(TaskHeartbeat, AnEmptyListIsEverythingOrNothing) {
  for (const RulesId rules : {RulesId::compatible, RulesId::strict}) {
    Store store(checked(rules));
    for (const char* id : {"a", "b", "gone"}) store.claim(id, id == std::string("gone") ? 40 : kFar, 100);
    store.claim("c", kFar, 100, "worker2");
    store.clock->set(50);
    store.must(TaskHeartbeat{"worker", {}});
    const Instant wanted = rules == RulesId::compatible ? 150 : 100;
    EXPECT_EQ(store.row("a")->expires_at, wanted);
    EXPECT_EQ(store.row("b")->expires_at, wanted);
    EXPECT_EQ(store.row("c")->expires_at, 100);
    EXPECT_EQ(store.task("gone"), TaskState::fulfilled);
  }
}

TEST(TaskHeartbeat, AllMissingIn2025) {
  Store store;
  store.claim("a");
  store.create("plain");
  EXPECT_EQ(store.run(TaskHeartbeat{"w", {{"x", 0}, {"plain", 0}}}, kOld).status, 404);
  EXPECT_EQ(store.run(TaskHeartbeat{"w", {{"x", 0}, {"a", 9}}}, kOld).status, 200);
  EXPECT_EQ(store.run(TaskHeartbeat{"w", {}}, kOld).status, 200);
  EXPECT_EQ(store.run(TaskHeartbeat{"w", {{"x", 0}}}).status, 200);
}

TEST(TaskHalt, AndContinue) {
  Store store;
  store.claim("w");
  for (const char* id : {"dep", "dep2"}) {
    store.create(id);
    store.must(RegisterCallback{id, "w"});
  }
  EXPECT_EQ(store.run(TaskHalt{"missing"}).status, 404);
  EXPECT_EQ(store.run(TaskContinue{"missing"}).status, 404);
  EXPECT_EQ(store.run(TaskContinue{"w"}).status, 409);
  store.settle("dep");
  store.must(TaskHalt{"w"});
  store.must(TaskHalt{"w"});
  EXPECT_EQ(store.task("w"), TaskState::halted);
  store.settle("dep2");
  EXPECT_EQ(store.resumes("w"), (Texts{"dep", "dep2"}));
  store.must(TaskContinue{"w"});
  EXPECT_EQ(store.task("w"), TaskState::pending);
  EXPECT_EQ(store.current("w"), "dep");
  EXPECT_EQ(store.resumes("w"), (Texts{"dep", "dep2"}));
  EXPECT_EQ(store.outbox(), Texts{"execute:w"});
  store.settle("w");
  EXPECT_EQ(store.run(TaskHalt{"w"}).status, 409);
}

// PROTOCOL 7: what existing servers got wrong. The promise expires first, then the request comes, before any step ran.
TEST(DeadPromises, AnswerAsSettledToEveryRequest) {
  const std::vector<std::pair<Operation, int>> table = {
      {TaskCreate{"w", 5, creation("a", kFar, target())}, 200},
      {TaskAcquire{"a", 1, "w", 5}, 409},
      {TaskRelease{"a", 1}, 409},
      {suspension("a", 1, {"dep"}), 409},
      {TaskFulfill{"a", 1, settlement("a")}, 409},
      {TaskFence{"a", 1, creation("x")}, 409},
      {TaskHeartbeat{"worker", {{"a", 1}}}, 200},
      {TaskHeartbeat{"worker", {}}, 200},
      {TaskHalt{"a"}, 409},
      {TaskContinue{"a"}, 409},
      {settlement("a"), 200},
      {RegisterListener{"a", "http://x"}, 200},
      {RegisterCallback{"a", "dep"}, 200},
  };
  for (const auto& [operation, status] : table) {
    for (const char* state : {"acquired", "pending", "suspended", "halted"}) {
      Store store;
      store.create("dep", kFar, target());
      store.claim("a", 100, 1000);
      if (state == std::string("pending")) store.must(TaskRelease{"a", 1});
      if (state == std::string("halted")) store.must(TaskHalt{"a"});
      if (state == std::string("suspended")) store.must(suspension("a", 1, {"dep"}));
      const Reply reply = store.run(operation, kNew, 100);
      EXPECT_EQ(reply.status, status) << state << " " << operation.index() << " " << reply.error;
      const RowRef row = store.row("a");
      EXPECT_EQ(row->state, PromiseState::rejected_timedout);
      EXPECT_EQ(row->task, TaskState::fulfilled);
      EXPECT_EQ(row->settled_at, 100);
      EXPECT_EQ(row->acquisitions, 1);
      EXPECT_EQ(row->listeners + row->callbacks, 0u);
      EXPECT_EQ(store.row("x"), nullptr);
    }
  }
}

}  // namespace
}  // namespace resonate
