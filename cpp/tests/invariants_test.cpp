// Each violated property of states is reported by its name (PROTOCOL 6). The tests write invalid states without the machine.
#include "machine/invariants.hpp"

#include <gtest/gtest.h>

#include <set>

#include "fake_rows.hpp"
#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;
using Names = std::set<std::string>;

Names names_of(const std::vector<Violation>& violations) {
  Names names;
  for (const Violation& violation : violations) names.insert(violation.name);
  return names;
}

Names row_names(const RowMaker& maker, RulesId rules_id = RulesId::compatible) {
  std::vector<Violation> found;
  check_row(*maker.ref(), 1000, rules_id, found);
  for (const Violation& violation : found) EXPECT_EQ(violation.id, "p");
  return names_of(found);
}

RowMaker settled(PromiseState state, Instant at) {
  RowMaker maker;
  maker.row.state = state;
  maker.row.settled_at = at;
  return maker;
}
RowMaker tasked(TaskState state) {
  RowMaker maker("p", 100, target());
  maker.row.task = state;
  if (state == TaskState::pending) maker.row.retry_at = 5;
  if (state == TaskState::acquired) {
    maker.row.acquisitions = 1;
    maker.row.ttl = 10;
    maker.row.expires_at = 15;
    maker.pid("w");
  }
  if (state == TaskState::fulfilled) {
    maker.row.state = PromiseState::resolved;
    maker.row.settled_at = 50;
  }
  return maker;
}
RowMaker with(RowMaker maker, auto change) {
  change(maker);
  return maker;
}

TEST(InvariantsOfRows, HoldForWhatTheMachineMakes) {
  EXPECT_EQ(row_names(RowMaker()), Names{});
  EXPECT_EQ(row_names(settled(PromiseState::resolved, 50)), Names{});
  EXPECT_EQ(row_names(settled(PromiseState::rejected_timedout, 100)), Names{});
  for (const TaskState state :
       {TaskState::pending, TaskState::acquired, TaskState::suspended, TaskState::halted, TaskState::fulfilled})
    EXPECT_EQ(row_names(tasked(state)), Names{}) << name_of(state);
}

TEST(InvariantsOfRows, OfPromises) {
  EXPECT_EQ(row_names(with(RowMaker(), [](RowMaker& m) { m.created_at = 100; })), Names{"promise_created_after_timeout"});
  EXPECT_EQ(row_names(with(settled(PromiseState::rejected_timedout, 100), [](RowMaker& m) { m.created_at = 100; })), Names{});
  EXPECT_EQ(row_names(with(RowMaker(), [](RowMaker& m) { m.row.settled_at = 5; })), Names{"promise_settled_at_mismatch"});
  EXPECT_EQ(row_names(settled(PromiseState::resolved, kUnset)), Names{"promise_settled_at_mismatch"});
  EXPECT_EQ(row_names(with(RowMaker(), [](RowMaker& m) { m.value("v"); })), Names{"pending_promise_has_value"});
  EXPECT_EQ(row_names(with(settled(PromiseState::resolved, 5), [](RowMaker& m) { m.created_at = 6; })),
            Names{"promise_settled_outside_life"});
  EXPECT_EQ(row_names(settled(PromiseState::resolved, 101)), Names{"promise_settled_outside_life"});
  EXPECT_EQ(row_names(settled(PromiseState::resolved, 100)), Names{"timeout_verdict_mismatch"});
  EXPECT_EQ(row_names(with(settled(PromiseState::resolved, 100), [](RowMaker& m) { m.tags = timer(); })), Names{});
  EXPECT_EQ(row_names(with(settled(PromiseState::rejected_timedout, 100), [](RowMaker& m) { m.value("v"); })),
            Names{"timeout_verdict_mismatch"});
  EXPECT_EQ(row_names(settled(PromiseState::rejected_timedout, 99)), Names{"timeout_verdict_mismatch"});
  EXPECT_EQ(row_names(with(RowMaker("p", 5000), [](RowMaker& m) { m.created_at = 1001; })), Names{"promise_in_future"});
  EXPECT_EQ(row_names(with(settled(PromiseState::resolved, 1001), [](RowMaker& m) { m.timeout_at = 5000; })),
            Names{"promise_in_future"});
  EXPECT_EQ(row_names(with(RowMaker(), [](RowMaker& m) { m.row.listeners = 1; })), Names{"edges_on_internal_promise"});
  StringMap both = target();
  both.set("resonate:timer", "true");
  EXPECT_EQ(row_names(RowMaker("p", 100, both)), Names{});
  EXPECT_EQ(row_names(RowMaker("p", 100, both), RulesId::strict), Names{"timer_has_target"});
  const auto older = [](RowMaker& m) { m.dialect = DialectId::k2025_01_15; };
  EXPECT_EQ(row_names(with(RowMaker("p", 100, both), older), RulesId::strict), Names{});  // PROTOCOL 2.1
}

TEST(InvariantsOfRows, OfTasks) {
  EXPECT_EQ(row_names(with(RowMaker(), [](RowMaker& m) { m.row.acquisitions = 1; })), Names{"orphan_tasks"});
  EXPECT_EQ(row_names(with(RowMaker(), [](RowMaker& m) { m.pid("w"); })), Names{"orphan_tasks"});
  const auto unset_retry = [](RowMaker& m) { m.row.retry_at = kUnset; };
  EXPECT_EQ(row_names(with(tasked(TaskState::pending), unset_retry)), (Names{"pending_task_no_ttimeout", "retry_mismatch"}));
  const auto unset_lease = [](RowMaker& m) { m.row.expires_at = kUnset; };
  EXPECT_EQ(row_names(with(tasked(TaskState::acquired), unset_lease)), (Names{"acquired_task_no_lease", "lease_fields_mismatch"}));
  const auto set_retry = [](RowMaker& m) { m.row.retry_at = 5; };
  const auto set_lease = [](RowMaker& m) { m.row.expires_at = 5; };
  EXPECT_EQ(row_names(with(tasked(TaskState::suspended), set_retry)), (Names{"suspended_task_has_ttimeout", "retry_mismatch"}));
  EXPECT_EQ(row_names(with(tasked(TaskState::suspended), set_lease)),
            (Names{"suspended_task_has_ttimeout", "lease_fields_mismatch"}));
  EXPECT_EQ(row_names(with(tasked(TaskState::fulfilled), set_retry)), (Names{"fulfilled_task_has_ttimeout", "retry_mismatch"}));
  EXPECT_EQ(row_names(with(tasked(TaskState::halted), set_lease)), (Names{"idle_task_has_timer", "lease_fields_mismatch"}));
  EXPECT_EQ(row_names(with(tasked(TaskState::acquired), set_retry)), Names{"retry_mismatch"});
  for (const TaskState state : {TaskState::pending, TaskState::suspended, TaskState::halted, TaskState::fulfilled})
    EXPECT_EQ(row_names(with(tasked(state), [](RowMaker& m) { m.pid("w"); })), Names{"lease_fields_mismatch"});
  EXPECT_EQ(row_names(with(tasked(TaskState::acquired), [](RowMaker& m) { m.row.ttl = 0; })), Names{"lease_fields_mismatch"});
  EXPECT_EQ(row_names(with(tasked(TaskState::acquired), [](RowMaker& m) { m.row.acquisitions = 0; })),
            Names{"acquired_never_counted"});
  const auto resumed = [](RowMaker& m) { m.resumes({"a"}); };
  EXPECT_EQ(row_names(with(tasked(TaskState::suspended), resumed)),
            (Names{"suspended_with_consumed_callbacks", "resumes_not_empty"}));
  EXPECT_EQ(row_names(with(tasked(TaskState::fulfilled), resumed)), Names{"resumes_not_empty"});
  EXPECT_EQ(row_names(with(tasked(TaskState::halted), resumed)), Names{});
  EXPECT_EQ(row_names(with(tasked(TaskState::halted), [](RowMaker& m) { m.resumes({"a", "b", "a"}); })), Names{"duplicate_resume"});
  RowMaker done = tasked(TaskState::fulfilled);
  done.row.state = PromiseState::pending;
  done.row.settled_at = kUnset;
  EXPECT_EQ(row_names(done), Names{"settlement_mismatch"});
  RowMaker open = tasked(TaskState::halted);
  open.row.state = PromiseState::resolved;
  open.row.settled_at = 50;
  EXPECT_EQ(row_names(open), Names{"settlement_mismatch"});
}

TEST(InvariantsOfSchedules, Order) {
  const auto names = [](Instant created_at, std::optional<Instant> last, Instant next) {
    Schedule made(*fake::schedule("s", next, last));
    made.created_at = created_at;
    std::vector<Violation> found;
    check_schedule(made, found);
    return names_of(found);
  };
  EXPECT_EQ(names(5, {}, 6), Names{});
  EXPECT_EQ(names(5, 5, 6), Names{});
  EXPECT_EQ(names(5, 7, kNever), Names{});
  EXPECT_EQ(names(5, {}, 5), Names{"schedule_order"});
  EXPECT_EQ(names(5, 4, 6), Names{"schedule_order"});
  EXPECT_EQ(names(5, 6, 6), Names{"schedule_order"});
}

// Properties of a whole state: a test writes one error into a valid store.
class InvariantsOfState : public ::testing::Test {
 protected:
  InvariantsOfState() {
    store.create("open");
    store.create("done");
    store.settle("done");
    for (const char* id : {"w", "v"}) store.claim(id);
    EXPECT_EQ(store.suspend("w", 1, {"open"}).status, 200);
    EXPECT_EQ(names_of(store.engine->check()), Names{});
  }
  Names after(auto change) {
    store.engine->with_storage([&](Storage& storage) {
      Changes changes;
      changes.counters = storage.counters();
      change(storage, changes);
      storage.write(changes);
    });
    return names_of(store.engine->check());
  }
  Names with_message(const MessageRef& message) {
    return after([&](Storage&, Changes& changes) { changes.messages_added.push_back(message); });
  }
  Store store;
};

TEST_F(InvariantsOfState, ATaskWithoutAnythingThatWakesIt) {
  EXPECT_EQ(
      after([](Storage& storage, Changes& changes) {
        changes.edges_removed = storage.edges({EdgeKind::callback, "open", 0, 10});
        changes.rows.push_back({storage.load("open"), fake::changed(storage.load("open"), [](Row& row) { row.callbacks = 0; })});
      }),
      Names{"suspended_no_callback"});
  store.clock->set(kFar);  // after its own deadline it needs no callback
  store.engine->with_storage([](Storage& storage) {
    Changes changes;
    changes.counters = storage.counters();
    changes.counters.now = kFar;
    storage.write(changes);
  });
  EXPECT_EQ(names_of(store.engine->check()), Names{});
}

TEST_F(InvariantsOfState, EdgesThatAreNotCounted) {
  EXPECT_EQ(
      after([](Storage& storage, Changes& changes) {
        changes.rows.push_back({storage.load("open"), fake::changed(storage.load("open"), [](Row& row) { row.callbacks = 2; })});
      }),
      Names{"edge_count_mismatch"});
}

TEST_F(InvariantsOfState, EdgesTwiceAndOnItself) {
  const auto add = [&](EdgeKind kind, const std::string& other, std::int64_t seq) {
    return [=](Storage& storage, Changes& changes) {
      changes.edges_added.push_back(fake::edge(kind, "open", other, seq));
      changes.rows.push_back({storage.load("open"), fake::changed(storage.load("open"), [=](Row& row) {
                                ++(kind == EdgeKind::callback ? row.callbacks : row.listeners);
                              })});
    };
  };
  EXPECT_EQ(after(add(EdgeKind::callback, "open", 1001)), Names{"self_callback"});
  EXPECT_EQ(after(add(EdgeKind::callback, "w", 1002)), (Names{"self_callback", "duplicate_callback"}));
  after(add(EdgeKind::listener, "http://x", 1003));
  EXPECT_EQ(after(add(EdgeKind::listener, "http://x", 1004)), (Names{"self_callback", "duplicate_callback", "duplicate_listener"}));
}

TEST_F(InvariantsOfState, Messages) {
  const auto execute = [](const std::string& id, const std::string& address, std::int64_t version, std::int64_t seq) {
    auto* made = new OutboxMessage(*fake::message(MessageKind::execute, id, address, seq));
    made->version = version;
    return MessageRef(made);
  };
  const auto unblock = [](const std::string& id, std::int64_t seq) {
    return fake::message(MessageKind::unblock, id, "http://x", seq);
  };
  const std::vector<MessageRef> stray = {execute("missing", kTarget, 0, 1001), execute("open", kTarget, 0, 1001),
                                         execute("v", kTarget, 2, 1001), execute("v", "poll://other", 1, 1001)};
  const auto remove = [&] { return after([](Storage&, Changes& changes) { changes.messages_removed.push_back(1001); }); };
  for (const MessageRef& message : stray) {
    EXPECT_EQ(with_message(message), Names{"stray_execute"}) << message->id;
    EXPECT_EQ(remove(), Names{});
  }
  for (const char* id : {"missing", "open"}) {
    EXPECT_EQ(with_message(unblock(id, 1001)), Names{"stray_unblock"}) << id;
    EXPECT_EQ(remove(), Names{});
  }
  EXPECT_EQ(with_message(unblock("done", 1001)), Names{});
  EXPECT_EQ(with_message(unblock("done", 1002)), Names{"duplicate_message_key"});
}

TEST_F(InvariantsOfState, SchedulesAreLookedAt) {
  EXPECT_EQ(after([](Storage&, Changes& changes) {
              changes.schedules.push_back({nullptr, fake::schedule("s", 0)});
            }),
            Names{"schedule_order"});
}

TEST_F(InvariantsOfState, SchedulesThatNoSystemCouldFire) {
  const auto with = [&](const std::string& cron, Duration promise_timeout) {
    return after([&](Storage& storage, Changes& changes) {
      Shared<Schedule> schedule(new Schedule(*fake::schedule("s", 1'000'000)));
      schedule->cron = cron;
      schedule->promise_timeout = promise_timeout;
      changes.schedules.push_back({storage.load_schedule("s"), std::move(schedule)});
    });
  };
  EXPECT_EQ(with("* * * * *", 1000), Names{});
  EXPECT_EQ(with("bad", 1000), Names{"schedule_cron_invalid"});
  EXPECT_EQ(with("0 0 30 2 *", 1000), Names{"schedule_cron_invalid"});
  EXPECT_EQ(with("* * * * *", -1), Names{"schedule_template_invalid"});
  EXPECT_EQ(with("CRON_TZ=Nowhere/Gone * * * * *", 1000), Names{}) << "a problem of this system's";
}

TEST_F(InvariantsOfState, ASettledPromiseWithAnOpenTask) {
  EXPECT_EQ(after([](Storage& storage, Changes& changes) {
              changes.rows.push_back({storage.load("v"), fake::changed(storage.load("v"), [](Row& row) {
                                        row.state = PromiseState::resolved;
                                        row.settled_at = 0;
                                      })});
            }),
            Names{"settlement_mismatch"});
}

}  // namespace
}  // namespace resonate
