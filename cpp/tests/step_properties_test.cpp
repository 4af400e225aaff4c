// Each violated property of two consecutive states is reported by its name (PROTOCOL 6, "on steps"): steps the machine never makes.
#include <gtest/gtest.h>

#include <set>

#include "fake_rows.hpp"
#include "fake_store.hpp"
#include "machine/invariants.hpp"
#include "machine/transitions.hpp"

namespace resonate {
namespace {

using namespace fake;
using Names = std::set<std::string>;

const Operation kSettle = settlement("w");
const Operation kAcquire = TaskAcquire{"w", 1, "p", 10};
const Operation kHeartbeat = TaskHeartbeat{"worker", {}};

// A store with an acquired task "w" (lease 10 from 0, deadline 100), a pending one "q" and a settled promise "done" with a listener
// and a callback that are not drained.
class StepProperties : public ::testing::Test {
 protected:
  StepProperties() : store(Options{}) {
    store.claim("w", 100, 10);
    store.create("q", 100, target());
    store.create("dep", 100);
    store.engine->with_storage([](Storage& storage) {
      RowMaker done("done", 100);
      done.row.state = PromiseState::resolved;
      done.row.settled_at = 5;
      done.row.external = true;
      done.row.listeners = done.row.callbacks = 1;
      Changes changes;
      changes.counters = storage.counters();
      changes.rows.push_back({nullptr, done.ref()});
      changes.edges_added = {fake::edge(EdgeKind::listener, "done", "http://x", 501),
                             fake::edge(EdgeKind::callback, "done", "w", 502)};
      changes.counters.sequence = 600;
      storage.write(changes);
    });
  }
  // The names of the properties that a change of one row violates, as a step at `now`.
  Names after(const std::string& id, const Operation* request, auto change, Instant now = 5) {
    return store.engine->with_storage([&](Storage& storage) {
      WorkingSet set(storage);
      set.checkpoint();
      WorkingSet::Entry* entry = set.find(id);
      change(set.edit(*entry), set);
      set.touched(*entry);
      return judged(set, request, now);
    });
  }
  static Names judged(WorkingSet& set, const Operation* request, Instant now) {
    Names names;
    for (const Violation& violation : check_step(set, {now, request}, RulesId::compatible)) names.insert(violation.name);
    return names;
  }
  Store store;
};

TEST_F(StepProperties, CreationFieldsNeverChange) {
  EXPECT_EQ(after("dep", &kSettle, [](Row& row, WorkingSet&) { row.promise_spec = RowMaker("dep", 100).ref()->promise_spec; }),
            Names{"birth_changed"});
}

TEST_F(StepProperties, ASettledRecordNeverChanges) {
  const Names wanted = {"settled_record_changed"};
  EXPECT_EQ(after("done", &kSettle, [](Row& row, WorkingSet&) { row.state = PromiseState::rejected; }), wanted);
  EXPECT_EQ(after("done", &kSettle, [](Row& row, WorkingSet&) { row.settled_at = 4; }), wanted);
  EXPECT_EQ(after("done", &kSettle, [](Row& row, WorkingSet&) { row.iku = Shared<const SharedString>(new SharedString("k")); }),
            wanted);
  EXPECT_EQ(after("done", &kSettle, [](Row& row, WorkingSet&) { row.listeners = 2; }), Names{"edges_grew_once_settled"});
}

TEST_F(StepProperties, EdgesStayWhilePending) {
  store.must(RegisterListener{"dep", "http://x"});
  EXPECT_EQ(after("dep", &kSettle, [](Row& row, WorkingSet&) { row.listeners = 0; }), Names{"edges_shrank_while_pending"});
}

TEST_F(StepProperties, SettlementsAreStamped) {
  const auto settle = [](Instant at) {
    return [at](Row& row, WorkingSet&) {
      row.state = at == 100 ? PromiseState::rejected_timedout : PromiseState::resolved;
      row.settled_at = at;
    };
  };
  EXPECT_EQ(after("dep", &kSettle, settle(5), 5), Names{});
  EXPECT_EQ(after("dep", &kSettle, settle(4), 5), Names{"settlement_stamp"});
  EXPECT_EQ(after("dep", &kSettle, settle(100), 100), Names{"settlement_stamp"});  // no request settles a promise at its deadline
  EXPECT_EQ(after("dep", nullptr, settle(100), 100), Names{});
  EXPECT_EQ(after("dep", nullptr, settle(100), 120), Names{});
  EXPECT_EQ(after("dep", nullptr, settle(50), 120), Names{"settlement_stamp"});
}

TEST_F(StepProperties, TasksKeepToTheirEdges) {
  const auto suspend = [](Row& row, WorkingSet&) {
    row.task = TaskState::suspended;
    row.retry_at = kUnset;
    row.execute_waits = false;
  };
  EXPECT_EQ(after("q", &kSettle, suspend), Names{"task_edge_not_allowed"});
  const auto halt = [](Row& row, WorkingSet&) {
    row.task = TaskState::halted;
    row.retry_at = kUnset;
    row.execute_waits = false;
  };
  EXPECT_EQ(after("q", &kSettle, halt), Names{});
  EXPECT_EQ(after("q", nullptr, halt), Names{"task_edge_not_allowed"});  // the engine itself halts no task
}

TEST_F(StepProperties, VersionsRiseByAcquisitionAlone) {
  EXPECT_EQ(after("q", &kSettle, [](Row& row, WorkingSet&) { row.acquisitions = 1; }), Names{"version_moved"});
  const auto acquire = [](std::int64_t by) {
    return [by](Row& row, WorkingSet&) {
      row.task = TaskState::acquired;
      row.acquisitions += by;
      row.retry_at = kUnset;
      row.execute_waits = false;
      row.ttl = 10;
      row.expires_at = 15;
      row.pid = Shared<const SharedString>(new SharedString("p"));
    };
  };
  EXPECT_EQ(after("q", &kAcquire, acquire(1)), Names{});
  EXPECT_EQ(after("q", &kAcquire, acquire(2)), Names{"version_moved"});
  EXPECT_EQ(after("q", &kAcquire, acquire(1), 6), Names{"lease_not_now_plus_ttl"});
}

TEST_F(StepProperties, LeasesBelongToOneHolder) {
  EXPECT_EQ(after("w", &kHeartbeat, [](Row& row, WorkingSet&) { row.expires_at = 15; }), Names{});
  EXPECT_EQ(after("w", &kHeartbeat, [](Row& row, WorkingSet&) { row.expires_at = 16; }), Names{"lease_not_now_plus_ttl"});
  EXPECT_EQ(after("w", &kHeartbeat, [](Row& row, WorkingSet&) { row.pid = Shared<const SharedString>(new SharedString("thief")); }),
            Names{"holder_changed"});
  EXPECT_EQ(after(
                "w", &kHeartbeat, [](Row& row, WorkingSet&) { row.expires_at = 160; }, 150),
            (Names{"lease_renewed_past_deadline"}));
}

TEST_F(StepProperties, NoTaskIsResumedPastItsDeadline) {
  const auto release = [](Row& row, WorkingSet&) {
    row.task = TaskState::pending;
    row.pid = nullptr;
    row.expires_at = kUnset;
    row.retry_at = 100;
  };
  EXPECT_EQ(after("w", &kSettle, release, 99), Names{});
  EXPECT_EQ(after("w", nullptr, release, 100), Names{"woken_past_deadline"});
  const auto dispatch = [](Row&, WorkingSet& set) {
    set.add_message(Shared<OutboxMessage>(new OutboxMessage(*fake::message(MessageKind::execute, "q", kTarget, 0))));
  };
  EXPECT_EQ(after("q", nullptr, dispatch, 99), Names{});
  EXPECT_EQ(after("q", nullptr, dispatch, 100), Names{"execute_past_deadline"});
}

TEST_F(StepProperties, ResumesAreNotLost) {
  store.engine->with_storage([](Storage& storage) {
    fake::put(storage, fake::changed(storage.load("w"), [](Row& row) {
                row.resumes = Shared<const SharedStrings>(new SharedStrings({"a", "b"}));
              }));
  });
  const auto drop = [](Row& row, WorkingSet&) { row.resumes = Shared<const SharedStrings>(new SharedStrings({"b"})); };
  EXPECT_EQ(after("w", &kHeartbeat, drop), Names{"resume_lost"});
  EXPECT_EQ(after("w", nullptr, drop), Names{"resume_lost"});
  const Operation suspend = suspension("w", 1, {"dep"});
  EXPECT_EQ(after("w", &suspend, drop), Names{});
}

TEST_F(StepProperties, RetriesMoveWhenDueAndForward) {
  const auto to = [](Instant at) { return [at](Row& row, WorkingSet&) { row.retry_at = at; }; };
  EXPECT_EQ(after("q", nullptr, to(60), 5), Names{"retry_moved_early"});  // it is due at 5000
  store.engine->with_storage(
      [](Storage& storage) { fake::put(storage, fake::changed(storage.load("q"), [](Row& row) { row.retry_at = 5; })); });
  EXPECT_EQ(after("q", nullptr, to(60), 5), Names{});
  EXPECT_EQ(after("q", nullptr, to(4), 5), Names{"retry_moved_early"});
}

TEST_F(StepProperties, AnExecuteThatWaitsIsNotSentAgain) {
  const auto again = [](Row& row, WorkingSet&) { ++row.execute_seq; };
  EXPECT_EQ(after("q", nullptr, again), Names{"waiting_execute_sent_again"});
  store.engine->take_messages();
  EXPECT_EQ(after("q", nullptr, again), Names{});
}

TEST_F(StepProperties, ConsumedEdgesLeaveTheirMark) {
  const auto consume = [this](EdgeKind kind, auto effect) {
    return after("done", nullptr, [=](Row& row, WorkingSet& set) {
      set.remove_first_edge(set.first_edge(kind, "done"));
      --(kind == EdgeKind::listener ? row.listeners : row.callbacks);
      effect(set);
    });
  };
  EXPECT_EQ(consume(EdgeKind::listener, [](WorkingSet&) {}), Names{"consumed_listener_lost"});
  EXPECT_EQ(consume(EdgeKind::listener,
                    [](WorkingSet& set) {
                      set.add_message(
                          Shared<OutboxMessage>(new OutboxMessage(*fake::message(MessageKind::unblock, "done", "http://x", 0))));
                    }),
            Names{});
  EXPECT_EQ(consume(EdgeKind::callback, [](WorkingSet&) {}), Names{"consumed_callback_lost"});
  EXPECT_EQ(consume(EdgeKind::callback,
                    [](WorkingSet& set) {
                      WorkingSet::Entry* awaiter = set.find("w");
                      set.edit(*awaiter).resumes = Shared<const SharedStrings>(new SharedStrings({"done"}));
                      set.touched(*awaiter);
                    }),
            Names{});
}

TEST_F(StepProperties, APendingPromiseKeepsTheCallbacksOfPendingAwaiters) {
  store.must(RegisterCallback{.awaited = "dep", .awaiter = "w"});
  const auto drop = [](Row& row, WorkingSet& set) {
    set.remove_edge(set.first_edge(EdgeKind::callback, "dep"));
    --row.callbacks;
  };
  EXPECT_EQ(after("dep", nullptr, drop), (Names{"callback_dropped", "edges_shrank_while_pending"}));
  store.must(settlement("w", "rejected_canceled"));
  EXPECT_EQ(after("dep", nullptr, drop), Names{"edges_shrank_while_pending"});  // dep is no job
}

TEST_F(StepProperties, NewRowsAreLookedAtToo) {
  const Names names = store.engine->with_storage([](Storage& storage) {
    WorkingSet set(storage);
    set.checkpoint();
    RowMaker maker("new", 100, target());
    maker.row.task = TaskState::acquired;
    maker.row.acquisitions = 1;
    maker.row.ttl = 10;
    maker.row.expires_at = 14;
    maker.pid("w");
    set.create(Shared<Row>(new Row(*maker.ref())));
    const Operation request = TaskCreate{};
    return judged(set, &request, 5);
  });
  EXPECT_EQ(names, Names{"lease_not_now_plus_ttl"});
}

// PROTOCOL 6 allows only these edges. The engine itself uses only some of them.
TEST(Transitions, AreTheOnesOfTheContract) {
  using enum TaskState;
  const std::set<std::pair<TaskState, TaskState>> all = {{pending, acquired},    {pending, halted},     {pending, fulfilled},
                                                         {acquired, pending},    {acquired, suspended}, {acquired, halted},
                                                         {acquired, fulfilled},  {suspended, pending},  {suspended, halted},
                                                         {suspended, fulfilled}, {halted, pending},     {halted, fulfilled}};
  const std::set<std::pair<TaskState, TaskState>> internal = {{pending, fulfilled}, {acquired, pending},    {acquired, fulfilled},
                                                              {suspended, pending}, {suspended, fulfilled}, {halted, fulfilled}};
  const TaskState states[] = {pending, acquired, suspended, halted, fulfilled};
  for (const TaskState from : states)
    for (const TaskState to : states) {
      EXPECT_EQ(edge_allowed(from, to, false), from == to || all.contains({from, to})) << name_of(from) << " " << name_of(to);
      EXPECT_EQ(edge_allowed(from, to, true), from == to || internal.contains({from, to})) << name_of(from) << " " << name_of(to);
    }
}

}  // namespace
}  // namespace resonate
