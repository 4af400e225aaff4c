// task.suspend (PROTOCOL 3.12; rows 31-37 of the table of 2025-01-15).
#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

class Suspend : public ::testing::Test {
 protected:
  Suspend() {
    for (const char* id : {"dep1", "dep2", "done"}) store.create(id);
    store.settle("done");
    store.claim("w");
  }
  Store store;
};

TEST_F(Suspend, WaitsForAllOfThem) {
  const Reply reply = store.suspend("w", 1, {"dep2", "dep1"});
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.has_preload);
  const RowRef row = store.row("w");
  EXPECT_EQ(row->task, TaskState::suspended);
  EXPECT_FALSE(row->pid);
  EXPECT_EQ(row->acquisitions, 1);
  EXPECT_EQ(store.row("dep1")->callbacks, 1u);
  store.settle("dep1");
  EXPECT_EQ(store.task("w"), TaskState::pending);
  EXPECT_EQ(store.outbox(), Texts{"execute:w"});
  EXPECT_TRUE(store.engine->messages_with_records()[0].first->resume);
}

TEST_F(Suspend, GoesOnAtOnceWhereOneIsSettled) {
  store.must(RegisterCallback{"dep2", "w"});
  store.settle("dep2");
  ASSERT_EQ(store.resumes("w"), Texts{"dep2"});
  const Reply reply = store.suspend("w", 1, {"dep1", "done"});
  EXPECT_EQ(reply.status, 300);
  EXPECT_TRUE(reply.has_preload);
  EXPECT_EQ(store.task("w"), TaskState::acquired);
  EXPECT_EQ(store.resumes("w"), Texts{});
  EXPECT_EQ(store.current("w"), "");
  EXPECT_EQ(store.row("dep1")->callbacks, 0u);
}

TEST_F(Suspend, BufferedResumesAloneDoNotRedirectIn2026) {
  store.must(RegisterCallback{"dep2", "w"});
  store.settle("dep2");
  EXPECT_EQ(store.suspend("w", 1, {"dep1"}).status, 200);
  EXPECT_EQ(store.resumes("w"), Texts{});
}

TEST_F(Suspend, ADeadAwaitedIsSettled) {
  store.create("short", 10);
  store.clock->set(10);
  EXPECT_EQ(store.suspend("w", 1, {"short"}).status, 300);
}

TEST_F(Suspend, Guards) {
  EXPECT_EQ(store.suspend("w", 1, {}).status, 400);
  EXPECT_EQ(store.suspend("w", 1, {"w"}).status, 400);
  EXPECT_EQ(store.run(TaskSuspend{"w", 1, {{"dep1", "other"}}}).status, 400);
  EXPECT_EQ(store.suspend("missing", 1, {"dep1"}).status, 404);
  EXPECT_EQ(store.suspend("w", 0, {"missing"}).status, 409);  // the version comes before the relations
  EXPECT_EQ(store.suspend("w", 1, {"dep1", "missing"}).status, 422);
  EXPECT_EQ(store.suspend("w", 1, {"done", "missing"}).status, 422);  // and these before the settled ones
  EXPECT_EQ(store.row("dep1")->callbacks, 0u);
  EXPECT_EQ(store.task("w"), TaskState::acquired);
}

TEST_F(Suspend, TheSameAwaitedTwiceIsMergedOrRefused) {
  EXPECT_EQ(store.suspend("w", 1, {"dep1", "dep1"}).status, 200);
  EXPECT_EQ(store.row("dep1")->callbacks, 1u);
  Store strict(checked(RulesId::strict));
  strict.create("dep", kFar, tags({{"resonate:external", "true"}}));
  strict.create("inner");
  strict.claim("w");
  EXPECT_EQ(strict.suspend("w", 1, {"dep", "dep"}).status, 400);
  EXPECT_EQ(strict.suspend("w", 1, {"inner"}).status, 422);
  EXPECT_EQ(strict.suspend("w", 1, {"dep"}).status, 200);
}

TEST_F(Suspend, MakesInternalPromisesExternalOnlyWhenItWaits) {
  store.suspend("w", 1, {"dep1", "done"});
  EXPECT_FALSE(store.row("dep1")->external);
  store.suspend("w", 1, {"dep1"});
  EXPECT_TRUE(store.row("dep1")->external);
}

TEST_F(Suspend, KeepsACallbackThatWasThereBefore) {
  store.must(RegisterCallback{"dep1", "w"});
  EXPECT_EQ(store.suspend("w", 1, {"dep1"}).status, 200);
  EXPECT_EQ(store.row("dep1")->callbacks, 1u);
}

TEST_F(Suspend, Row33PopsTheOldestResume) {
  for (const char* id : {"dep1", "dep2"}) {
    store.must(RegisterCallback{id, "w"});
    store.settle(id);
  }
  store.create("open");
  EXPECT_EQ(store.suspend("w", 0, {"missing"}, kOld).status, 400);  // as this dialect says 422, and nothing is popped
  EXPECT_EQ(store.suspend("w", 0, {"open"}, kOld).status, 300);
  EXPECT_EQ(store.current("w"), "dep1");
  EXPECT_EQ(store.resumes("w"), Texts{"dep2"});
  EXPECT_EQ(store.suspend("w", 0, {"done"}, kOld).status, 300);
  EXPECT_EQ(store.current("w"), "dep2");
  EXPECT_EQ(store.resumes("w"), Texts{});
  EXPECT_EQ(store.suspend("w", 0, {"open"}, kOld).status, 200);
  EXPECT_EQ(store.current("w"), "");
}

TEST_F(Suspend, Row32TakesTheFirstSettledInOrderOfActions) {
  store.settle("dep2", "rejected");
  EXPECT_EQ(store.suspend("w", 0, {"dep1", "dep2", "done"}, kOld).status, 300);
  EXPECT_EQ(store.current("w"), "dep2");
  EXPECT_FALSE(store.suspend("w", 0, {"dep2"}, kOld).has_preload);
}

}  // namespace
}  // namespace resonate
