// Requests on promises (PROTOCOL 3.1-3.7) in both dialects and under both rule sets.
#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

TEST(PromiseCreate, CreatesOnce) {
  Store store(checked(), 5);
  PromiseCreate create = creation("a", 100, tags({{"k", "v"}}));
  create.param = data("x");
  const Reply first = store.must(create);
  EXPECT_EQ(first.promise->birth->created_at, 5);
  EXPECT_EQ(first.promise->birth->param, data("x"));
  EXPECT_FALSE(first.promise->external);
  EXPECT_FALSE(first.promise->has_task());
  store.clock->set(9);
  EXPECT_EQ(store.must(creation("a", 500)).promise, first.promise);  // whatever the second asks for
}

TEST(PromiseCreate, WithATargetHasATaskThatIsDispatchedAtOnce) {
  Store store;
  const Reply reply = store.create("a", 100, target());
  EXPECT_EQ(reply.promise->task, TaskState::pending);
  EXPECT_EQ(reply.promise->acquisitions, 0);
  EXPECT_EQ(reply.promise->retry_at, 0);
  EXPECT_TRUE(reply.promise->external);
  EXPECT_EQ(store.outbox(), Texts{"execute:a"});
  EXPECT_EQ(store.row("a")->retry_at, 5000);
}

TEST(PromiseCreate, ADelayHoldsTheFirstMessageBack) {
  Store store(checked(), 10);
  StringMap tagged = target();
  tagged.set("resonate:delay", "40");
  store.create("late", 100, tagged);
  tagged.set("resonate:delay", "3");
  store.create("past", 100, tagged);
  EXPECT_EQ(store.row("late")->retry_at, 40);
  EXPECT_EQ(store.outbox(), Texts{"execute:past"});
  EXPECT_EQ(store.clock->advance_to(39).size(), 0u);
  EXPECT_EQ(store.clock->advance_to(40).size(), 1u);
}

TEST(PromiseCreate, BornDead) {
  Store store(checked(), 50);
  const Reply plain = store.create("plain", 50, target());
  EXPECT_EQ(plain.promise->state, PromiseState::rejected_timedout);
  EXPECT_EQ(plain.promise->birth->created_at, 50);
  EXPECT_EQ(plain.promise->settled_at, 50);
  EXPECT_EQ(plain.promise->task, TaskState::fulfilled);
  EXPECT_EQ(plain.promise->acquisitions, 0);
  const Reply timed = store.create("timer", 20, timer());
  EXPECT_EQ(timed.promise->state, PromiseState::resolved);
  EXPECT_EQ(timed.promise->birth->created_at, 20);
  EXPECT_EQ(timed.promise->settled_at, 20);
  EXPECT_EQ(store.engine->next_due(), std::nullopt);
}

TEST(PromiseCreate, IdempotencyKeys) {
  Store store;
  PromiseCreate keyed = creation("keyed");
  keyed.ikc = "one";
  store.must(keyed);
  EXPECT_EQ(store.run(keyed).status, 200);
  EXPECT_EQ(store.run(creation("keyed")).status, 200);  // without a key nothing conflicts
  PromiseCreate other = creation("keyed");
  other.ikc = "two";
  EXPECT_EQ(store.run(other).status, 409);
  store.create("plain");
  other.id = "plain";
  EXPECT_EQ(store.run(other).status, 409);
  EXPECT_NE(store.run(other).error.find("two"), std::string::npos);
}

TEST(PromiseCreate, TargetsByDialect) {
  Store store;
  const StringMap invoke = tags({{"resonate:invoke", "poll://i"}});
  EXPECT_FALSE(store.must(creation("new", kFar, invoke)).promise->has_task());
  EXPECT_EQ(*store.must(creation("old", kFar, invoke), kOld).promise->birth->target, "poll://i");
  StringMap both = invoke;
  both.set("resonate:target", kTarget);
  EXPECT_EQ(*store.must(creation("both", kFar, both), kOld).promise->birth->target, kTarget);
  EXPECT_TRUE(store.must(creation("outer"), kOld).promise->external);
}

TEST(PromiseCreate, ATimerWithATargetIsNeverDispatched) {
  Store store;
  StringMap both = target();
  both.set("resonate:timer", "true");
  EXPECT_EQ(store.create("t", 70, both).promise->retry_at, 70);
  EXPECT_TRUE(store.outbox().empty());
  store.must(TaskAcquire{"t", 0, "w", 5});
  EXPECT_EQ(texts_of(store.clock->advance_to(80)), (Texts{"lease_expiry t@5", "promise_timeout t@70"}));
  EXPECT_EQ(store.row("t")->state, PromiseState::resolved);
}

TEST(PromiseSettle, OnceAndForAll) {
  Store store;
  for (const char* state : {"resolved", "rejected", "rejected_canceled"}) {
    store.create(state, kFar, target());
    PromiseSettle settle = settlement(state, state);
    settle.value = data("v");
    const Reply reply = store.must(settle);
    EXPECT_EQ(name_of(reply.promise->state), state);
    EXPECT_EQ(reply.promise->value->value, data("v"));
    EXPECT_EQ(reply.promise->task, TaskState::fulfilled);
    EXPECT_EQ(store.must(settlement(state, "resolved")).promise, reply.promise);
  }
  EXPECT_EQ(store.run(settlement("missing")).status, 404);
}

TEST(PromiseSettle, TheDeadlineWins) {
  Store store;
  store.create("internal", 10);
  store.create("timer", 10, timer());
  store.clock->set(10);
  EXPECT_EQ(state_of(store.must(settlement("internal"))), PromiseState::rejected_timedout);
  EXPECT_EQ(state_of(store.must(settlement("timer", "rejected"))), PromiseState::resolved);
  EXPECT_EQ(store.row("internal")->state, PromiseState::pending);  // nobody waits for it: it times out by projection alone
  EXPECT_EQ(store.row("timer")->state, PromiseState::resolved);
  EXPECT_EQ(state_of(store.run(PromiseGet{"internal"})), PromiseState::rejected_timedout);
}

TEST(PromiseSettle, IdempotencyKeys) {
  Store store;
  PromiseSettle keyed = settlement("a");
  keyed.iku = "one";
  store.create("a");
  store.must(keyed);
  EXPECT_EQ(store.run(keyed).status, 200);
  EXPECT_EQ(store.run(settlement("a")).status, 200);
  keyed.iku = "two";
  EXPECT_EQ(store.run(keyed).status, 409);
  store.create("b");
  store.settle("b");
  keyed.id = "b";
  EXPECT_EQ(store.run(keyed).status, 409);
  store.create("c", 10);
  store.clock->set(20);
  keyed.id = "c";
  EXPECT_EQ(store.run(keyed).status, 409);  // a deadline settles without a key
}

TEST(RegisterCallback, Guards) {
  Store store;
  store.create("dep");
  store.create("plain");
  store.create("w", kFar, target());
  EXPECT_EQ(store.run(RegisterCallback{"missing", "w"}).status, 404);
  EXPECT_EQ(store.run(RegisterCallback{"dep", "missing"}).status, 422);
  EXPECT_EQ(store.run(RegisterCallback{"dep", "plain"}).status, 422);
  EXPECT_EQ(store.run(RegisterCallback{"dep", "dep"}).status, 400);
  EXPECT_EQ(store.run(RegisterCallback{"dep", "missing"}, kOld).status, 404);
  EXPECT_EQ(store.run(RegisterCallback{"dep", "plain"}, kOld).status, 200);
  EXPECT_TRUE(store.row("dep")->external);
}

TEST(RegisterCallback, MakesAnInternalPromiseExternalOrIsRefused) {
  Store compatible;
  compatible.create("dep", 50);
  compatible.create("w", kFar, target());
  EXPECT_EQ(compatible.engine->next_due(), kFar);
  EXPECT_EQ(compatible.must(RegisterCallback{"dep", "w"}).promise->id(), "dep");
  EXPECT_EQ(compatible.engine->next_due(), 50);  // from now on its timeout is armed
  compatible.must(RegisterCallback{"dep", "w"});
  EXPECT_EQ(compatible.row("dep")->callbacks, 1u);

  Store strict(checked(RulesId::strict));
  strict.create("dep", 50);
  strict.create("w", kFar, target());
  strict.create("open", 50, tags({{"resonate:external", "true"}}));
  EXPECT_EQ(strict.run(RegisterCallback{"dep", "w"}).status, 422);
  EXPECT_EQ(strict.run(RegisterListener{"dep", "http://x"}).status, 422);
  strict.settle("dep");
  EXPECT_EQ(strict.run(RegisterCallback{"dep", "w"}).status, 422);
  EXPECT_EQ(strict.run(RegisterCallback{"open", "w"}).status, 200);
  strict.create("inner", 50);
  EXPECT_EQ(strict.run(RegisterListener{"inner", "http://x"}, kOld).status, 200);
  EXPECT_TRUE(strict.row("inner")->external);
}

TEST(RegisterCallback, HasNoEffectOnceEitherSideIsSettled) {
  Store store;
  store.create("dep", 50);
  store.create("dead", 10);
  store.claim("w", 30);
  store.clock->set(10);
  EXPECT_EQ(state_of(store.must(RegisterCallback{"dead", "w"})), PromiseState::rejected_timedout);
  store.clock->set(30);
  EXPECT_EQ(state_of(store.must(RegisterCallback{"dep", "w"})), PromiseState::pending);
  EXPECT_EQ(store.row("dep")->callbacks, 0u);
  EXPECT_FALSE(store.row("dep")->external);
  EXPECT_FALSE(store.row("dead")->external);
}

TEST(RegisterListener, OnceAnAddressWhateverTheDialect) {
  Store store;
  store.create("a");
  EXPECT_EQ(store.run(RegisterListener{"missing", "http://x"}).status, 404);
  store.must(RegisterListener{"a", "http://x"}, kOld);
  store.must(RegisterListener{"a", "http://x"}, kNew);
  store.must(RegisterListener{"a", "http://y"}, kNew);
  EXPECT_EQ(store.row("a")->listeners, 2u);
  store.settle("a");
  const auto taken = store.engine->take_messages();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].first->dialect, kOld);  // an unblock speaks the dialect of its registration
  EXPECT_EQ(taken[1].first->dialect, kNew);
  store.must(RegisterListener{"a", "http://z"});
  EXPECT_TRUE(store.outbox().empty());
}

Texts ids(const Reply& reply) {
  Texts found;
  for (const RowRef& row : reply.rows) found.push_back(row->id());
  return found;
}
SearchQuery by_state(const std::string& state) {
  SearchQuery query;
  query.filter.state = state;
  return query;
}

TEST(PromiseSearch, FiltersByTheProjection) {
  Store store;
  store.create("a", 10);
  store.create("b", 10, timer());
  store.create("c", 100, tags({{"k", "v"}, {"l", "w"}}));
  store.create("d", 100, tags({{"k", "v"}}));
  store.clock->set(10);
  EXPECT_EQ(ids(store.run(PromiseSearch{by_state("rejected_timedout")})), Texts{"a"});
  EXPECT_EQ(ids(store.run(PromiseSearch{by_state("resolved")})), Texts{"b"});
  EXPECT_EQ(ids(store.run(PromiseSearch{by_state("pending")})), (Texts{"c", "d"}));
  SearchQuery query;
  query.filter.tags = tags({{"k", "v"}, {"l", "w"}});
  EXPECT_EQ(ids(store.run(PromiseSearch{query})), Texts{"c"});
}

TEST(PromiseSearch, PagesByCursor) {
  Store store;
  for (const char* id : {"x.1", "x.2", "x.3", "y.1", "x.4"}) store.create(id);
  SearchQuery query;
  query.filter.id = "x.*";
  query.limit = 2;
  Texts all;
  for (int pages = 0; pages < 5; ++pages) {
    const Reply reply = store.run(PromiseSearch{query});
    for (const std::string& id : ids(reply)) all.push_back(id);
    if (!reply.cursor) break;
    query.cursor = *reply.cursor;
  }
  EXPECT_EQ(all, (Texts{"x.1", "x.2", "x.3", "x.4"}));
  EXPECT_EQ(query.cursor, "x.2");
}

TEST(PromiseSearch, Globs) {
  Store store;
  for (const char* id : {"a", "ab", "abc", "b*c"}) store.create(id);
  const auto matching = [&](const std::string& glob) {
    SearchQuery query;
    query.filter.id = glob;
    return ids(store.run(PromiseSearch{query}));
  };
  EXPECT_EQ(matching("*"), (Texts{"a", "ab", "abc", "b*c"}));
  EXPECT_EQ(matching("a*"), (Texts{"a", "ab", "abc"}));
  EXPECT_EQ(matching("*c"), (Texts{"abc", "b*c"}));
  EXPECT_EQ(matching("a*b*"), (Texts{"ab", "abc"}));
  EXPECT_EQ(matching("**bc"), Texts{"abc"});
  EXPECT_EQ(matching("a?"), Texts{});
  EXPECT_EQ(matching(""), Texts{});
}

}  // namespace
}  // namespace resonate
