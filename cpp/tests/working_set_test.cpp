// The overlay of one transaction over storage, in handwritten cases: rows, edges, messages, due order, checkpoints.
#include "machine/working_set.hpp"

#include <gtest/gtest.h>

#include "fake_rows.hpp"
#include "storage/memory_storage.hpp"

namespace resonate {
namespace {

using fake::RowMaker;
using Texts = std::vector<std::string>;

const auto everything = [](const Row&) { return true; };

Shared<Row> fresh(const std::string& id, Instant timeout_at = 100) {
  RowMaker maker(id, timeout_at);
  maker.row.external = true;
  return Shared<Row>(new Row(*maker.ref()));
}
void put(Storage& storage, const std::string& id, Instant timeout_at = 100) { fake::put(storage, RowRef(fresh(id, timeout_at))); }

Texts scan(WorkingSet& set, const std::string& after = "", std::size_t limit = 1000) {
  Texts ids;
  for (const RowRef& row : set.scan({.after = {.id = after}, .limit = limit}, everything)) ids.push_back(row->id());
  return ids;
}

TEST(WorkingSet, ChangesReachStorageOnlyWhenWritten) {
  MemoryStorage storage;
  put(storage, "a");
  const RowRef stored = storage.load("a");
  {
    WorkingSet set(storage);
    WorkingSet::Entry* entry = set.find("a");
    ASSERT_NE(entry, nullptr);
    set.edit(*entry).listeners = 3;
    set.touched(*entry);
    set.create(fresh("b"));
    EXPECT_TRUE(set.changed());
    EXPECT_EQ(storage.load("a"), stored);
    EXPECT_EQ(stored->listeners, 0u);
  }
  EXPECT_FALSE(storage.load("b"));
  EXPECT_EQ(storage.load("a"), stored);
  WorkingSet untouched(storage);
  EXPECT_NE(untouched.find("a"), nullptr);
  EXPECT_EQ(untouched.find("b"), nullptr);
  EXPECT_FALSE(untouched.changed());
}

TEST(WorkingSet, ASharedRowIsNotWrittenTo) {
  MemoryStorage storage;
  WorkingSet set(storage);
  WorkingSet::Entry& entry = set.create(fresh("a"));
  const RowRef reply = entry.now;
  set.edit(entry).listeners = 1;
  EXPECT_EQ(reply->listeners, 0u);
  const Row* own = entry.now.get();
  set.edit(entry).listeners = 2;  // no other reference to this row exists
  EXPECT_EQ(entry.now.get(), own);
  set.touched(entry);
  set.checkpoint();
  set.edit(entry).listeners = 3;
  EXPECT_EQ(entry.checkpoint->listeners, 2u);
}

TEST(WorkingSet, EntriesStayWhereTheyAre) {
  MemoryStorage storage;
  for (int i = 0; i < 50; ++i) put(storage, "s" + std::to_string(i));
  WorkingSet set(storage);
  std::vector<WorkingSet::Entry*> entries;
  for (int i = 0; i < 50; ++i) entries.push_back(set.find("s" + std::to_string(i)));
  for (int i = 0; i < 50; ++i) set.create(fresh("n" + std::to_string(i)));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(set.find("s" + std::to_string(i)), entries[static_cast<std::size_t>(i)]);
    EXPECT_NE(set.find("n" + std::to_string(i)), nullptr);
  }
  EXPECT_EQ(set.find("missing"), nullptr);
  EXPECT_EQ(scan(set).size(), 100u);
}

TEST(WorkingSet, PrefetchedRowsAreFound) {
  MemoryStorage storage;
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) put(storage, id);
  WorkingSet set(storage);
  std::vector<Lookup<RowRef>> wanted;
  for (const char* id : {"a", "b", "x", "c", "d", "e", "f", "a", "x"}) wanted.push_back({id});
  set.prefetch({.rows = wanted});
  EXPECT_NE(set.find("f"), nullptr);
  EXPECT_EQ(set.find("x"), nullptr);
  set.create(fresh("x"));
  EXPECT_NE(set.find("x"), nullptr);
  EXPECT_EQ(scan(set), (Texts{"a", "b", "c", "d", "e", "f", "x"}));
}

TEST(WorkingSet, ScansLayOwnRowsOverStorage) {
  MemoryStorage storage;
  for (const char* id : {"b", "d", "f"}) put(storage, id);
  WorkingSet set(storage);
  set.create(fresh("a"));
  set.create(fresh("e"));
  set.create(fresh("g"));
  WorkingSet::Entry* changed = set.find("d");
  set.edit(*changed).listeners = 9;
  set.touched(*changed);
  EXPECT_EQ(scan(set), (Texts{"a", "b", "d", "e", "f", "g"}));
  EXPECT_EQ(scan(set, "b"), (Texts{"d", "e", "f", "g"}));
  EXPECT_EQ(scan(set, "e", 1), (Texts{"f"}));
  EXPECT_EQ(scan(set, "", 4), (Texts{"a", "b", "d", "e"}));
  EXPECT_EQ(scan(set, "g"), Texts{});
  EXPECT_EQ(scan(set, "", 0), Texts{});
  const auto nine = set.scan({.limit = 10}, [](const Row& row) { return row.listeners == 9; });
  ASSERT_EQ(nine.size(), 1u);
  EXPECT_EQ(nine[0]->id(), "d");
}

TEST(WorkingSet, ScansGoOnPastAPageThatNothingMatches) {
  MemoryStorage storage;
  for (int i = 0; i < 900; ++i) put(storage, "p" + std::to_string(1000 + i));
  WorkingSet set(storage);
  set.create(fresh("p1850a"));
  const auto late = set.scan({.limit = 2}, [](const Row& row) { return row.id() >= "p1850"; });
  ASSERT_EQ(late.size(), 2u);
  EXPECT_EQ(late[0]->id(), "p1850");
  EXPECT_EQ(late[1]->id(), "p1850a");
}

TEST(WorkingSet, EdgesAreConsumedStoredOnesFirst) {
  MemoryStorage storage;
  put(storage, "a");
  Changes before;
  before.edges_added = {fake::edge(EdgeKind::callback, "a", "x", 1), fake::edge(EdgeKind::callback, "a", "y", 2)};
  before.counters.sequence = 2;
  storage.write(before);
  WorkingSet set(storage);
  EXPECT_TRUE(set.has_edge(EdgeKind::callback, "a", "x"));
  set.add_edge(EdgeKind::callback, "a", "z", DialectId::k2026_04_01);
  set.add_edge(EdgeKind::callback, "b", "x", DialectId::k2026_04_01);
  Texts order;
  while (const EdgeRef edge = set.first_edge(EdgeKind::callback, "a")) {
    order.push_back(edge->other);
    set.remove_first_edge(edge);
    EXPECT_FALSE(set.has_edge(EdgeKind::callback, "a", edge->other));
  }
  EXPECT_EQ(order, (Texts{"x", "y", "z"}));
  storage.write(set.finish());
  EXPECT_TRUE(storage.edges({EdgeKind::callback, "a", 0, 10}).empty());
  EXPECT_EQ(storage.edges({EdgeKind::callback, "b", 0, 10}).size(), 1u);
  EXPECT_EQ(storage.counters().sequence, 4);
}

TEST(WorkingSet, AMessageThatWasReplacedIsNeverStored) {
  MemoryStorage storage;
  Changes before;
  before.messages_added = {fake::message(MessageKind::execute, "a", "x", 1)};
  before.counters.sequence = 1;
  storage.write(before);
  WorkingSet set(storage);
  const auto queue = [&](const std::string& id) {
    return set.add_message(Shared<OutboxMessage>(new OutboxMessage(*fake::message(MessageKind::execute, id, "x", 0))));
  };
  set.remove_message(1);
  const std::int64_t second = queue("a");
  queue("b");
  set.remove_message(second);
  queue("a");
  storage.write(set.finish());
  Texts left;
  for (const MessageRef& message : storage.messages({.after = 0, .limit = 10}))
    left.push_back(message->id + std::to_string(message->seq));
  EXPECT_EQ(left, (Texts{"b3", "a4"}));
}

TEST(WorkingSet, OldUnblocksAreDroppedAndCountedOnce) {
  MemoryStorage storage;
  Changes before;
  before.messages_added = {fake::message(MessageKind::unblock, "a", "x", 1, 10),
                           fake::message(MessageKind::execute, "a", "x", 2, 10),
                           fake::message(MessageKind::unblock, "b", "x", 3, 20)};
  before.counters.sequence = 3;
  storage.write(before);
  WorkingSet set(storage);
  set.drop_unblocks(9);
  EXPECT_EQ(set.counters().dropped, 0);
  set.drop_unblocks(10);
  set.drop_unblocks(10);
  EXPECT_EQ(set.counters().dropped, 1);
  set.add_message(Shared<OutboxMessage>(new OutboxMessage(*fake::message(MessageKind::unblock, "c", "x", 0, 30))));
  set.add_message(Shared<OutboxMessage>(new OutboxMessage(*fake::message(MessageKind::unblock, "d", "x", 0, 40))));
  set.drop_unblocks(30);
  EXPECT_EQ(set.counters().dropped, 3);
  storage.write(set.finish());
  Texts left;
  for (const MessageRef& message : storage.messages({.after = 0, .limit = 10})) left.push_back(message->id);
  EXPECT_EQ(left, (Texts{"a", "d"}));
  EXPECT_EQ(storage.counters().dropped, 3);
}

TEST(WorkingSet, DueGoesOverStorageAndOwnRows) {
  MemoryStorage storage;
  put(storage, "b", 5);
  put(storage, "d", 5);
  put(storage, "late", 50);
  WorkingSet set(storage);
  set.create(fresh("c", 5));
  set.create(fresh("a", 6));
  set.put_schedule(fake::schedule("s", 5));
  Texts order;
  while (const auto next = set.next_due(10)) {
    if (next->schedule) {
      order.push_back("schedule " + next->schedule->now->id);
      set.put_schedule(fake::schedule("s", 60));
      continue;
    }
    order.push_back(next->row->now->id());
    Row& row = set.edit(*next->row);
    row.state = PromiseState::resolved;
    row.settled_at = 1;
    set.touched(*next->row);
  }
  EXPECT_EQ(order, (Texts{"b", "c", "d", "schedule s", "a"}));
  EXPECT_EQ(set.next_due(55)->row->now->id(), "late");  // the clock may advance within one batch
  EXPECT_TRUE(set.next_due(60).has_value());
}

TEST(WorkingSet, ManyDueRowsComeInPages) {
  MemoryStorage storage;
  for (int i = 0; i < 2000; ++i) put(storage, "p" + std::to_string(10'000 + i), 1 + i / 7);
  WorkingSet set(storage);
  int taken = 0;
  for (Instant now = 0; now <= 400; now += 50)
    while (const auto next = set.next_due(now)) {
      ASSERT_EQ(next->row->now->id(), "p" + std::to_string(10'000 + taken));
      ASSERT_LE(next->due.at, now);
      set.edit(*next->row).state = PromiseState::resolved;
      set.touched(*next->row);
      ++taken;
    }
  EXPECT_EQ(taken, 2000);
}

TEST(WorkingSet, SchedulesComeAndGoWithinOneTransaction) {
  MemoryStorage storage;
  WorkingSet first(storage);
  first.put_schedule(fake::schedule("b", 9));
  first.put_schedule(fake::schedule("d", 9));
  storage.write(first.finish());

  WorkingSet set(storage);
  const auto ids = [&](const std::string& after, std::size_t limit) {
    Texts found;
    for (const ScheduleRef& each : set.scan_schedules(after, limit, [](const Schedule&) { return true; }))
      found.push_back(each->id);
    return found;
  };
  set.remove_schedule(*set.find_schedule("b"));
  EXPECT_EQ(set.find_schedule("b"), nullptr);
  set.put_schedule(fake::schedule("a", 9));
  set.put_schedule(fake::schedule("c", 9));
  EXPECT_EQ(ids("", 10), (Texts{"a", "c", "d"}));
  EXPECT_EQ(ids("a", 1), (Texts{"c"}));
  set.put_schedule(fake::schedule("b", 12));
  EXPECT_EQ(ids("", 10), (Texts{"a", "b", "c", "d"}));
  set.remove_schedule(*set.find_schedule("a"));
  storage.write(set.finish());
  EXPECT_EQ(storage.load_schedule("b")->next_run_at, 12);
  EXPECT_FALSE(storage.load_schedule("a"));
  EXPECT_EQ(fake::due(storage).size(), 3u);
}

// Regression: the queue of due items read the id of a schedule that the same transaction had replaced or deleted.
TEST(WorkingSetRegression, SchedulesThatWentAreNotLookedAtAgain) {
  MemoryStorage storage;
  WorkingSet set(storage);
  const std::string name = "a schedule whose name is on the heap ";
  for (const char* each : {"1", "2", "3"}) set.put_schedule(fake::schedule(name + each, 5));
  set.remove_schedule(*set.find_schedule(name + "1"));
  set.put_schedule(fake::schedule(name + "2", 7));
  set.put_schedule(fake::schedule(name + "0", 5));
  EXPECT_EQ(set.next_due(5)->schedule->now->id, name + "0");
}

TEST(WorkingSet, ACheckpointShowsWhatChangedSince) {
  MemoryStorage storage;
  put(storage, "a");
  put(storage, "b");
  WorkingSet set(storage);
  WorkingSet::Entry* a = set.find("a");
  set.edit(*a).listeners = 1;
  set.touched(*a);
  set.add_edge(EdgeKind::listener, "a", "x", DialectId::k2026_04_01);
  set.checkpoint();
  EXPECT_TRUE(set.since_checkpoint().rows.empty());
  WorkingSet::Entry* b = set.find("b");
  set.edit(*b).listeners = 2;
  set.touched(*b);
  set.create(fresh("c"));
  set.add_edge(EdgeKind::listener, "b", "x", DialectId::k2026_04_01);
  const WorkingSet::StepView view = set.since_checkpoint();
  ASSERT_EQ(view.rows.size(), 2u);
  EXPECT_EQ(view.rows[0].first->listeners, 0u);
  EXPECT_EQ(view.rows[0].second->listeners, 2u);
  EXPECT_FALSE(view.rows[1].first);
  ASSERT_EQ(view.edges_added.size(), 1u);
  EXPECT_EQ(view.edges_added[0]->owner, "b");
}

}  // namespace
}  // namespace resonate
