// The memory backend through the storage interface: look-ups, order, edges, messages, forks.
#include "storage/memory_storage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fake_rows.hpp"

namespace resonate {
namespace {

using fake::RowMaker;
using Texts = std::vector<std::string>;

Texts ids(const std::vector<RowRef>& rows) {
  Texts found;
  for (const RowRef& row : rows) found.push_back(row->id());
  return found;
}
RowRef external(const std::string& id, Instant timeout_at, StringMap more = {}) {
  RowMaker maker(id, timeout_at, std::move(more));
  maker.row.external = true;
  return maker.ref();
}
RowRef held_by(const std::string& id, const std::string& pid, Instant expires_at) {
  RowMaker maker(id, 1000);
  maker.row.task = TaskState::acquired;
  maker.row.external = true;
  maker.row.expires_at = expires_at;
  return maker.pid(pid).ref();
}

TEST(MemoryStorage, IsEmptyWhenNew) {
  const auto storage = make_memory_storage();
  EXPECT_EQ(storage->counters(), Counters{});
  EXPECT_FALSE(storage->load("a"));
  EXPECT_FALSE(storage->load_schedule("a"));
  EXPECT_EQ(storage->first_due(), kNever);
  EXPECT_TRUE(fake::due(*storage).empty());
  EXPECT_TRUE(storage->rows({.limit = 10}).empty());
  EXPECT_TRUE(storage->schedules({}).empty());
  EXPECT_TRUE(storage->messages({}).empty());
  EXPECT_EQ(storage->count(Table::rows), 0u);
}

TEST(MemoryStorage, LoadsManyInTheOrderAsked) {
  MemoryStorage storage;
  fake::put(storage, external("a", 1));
  fake::put(storage, external("b", 1));
  std::vector<Lookup<RowRef>> rows;
  for (const char* id : {"b", "missing", "a", "b"}) rows.push_back({id});
  storage.load_many({.rows = rows});
  EXPECT_EQ(rows[0].found->id(), "b");
  EXPECT_FALSE(rows[1].found);
  EXPECT_EQ(rows[2].found->id(), "a");
  EXPECT_EQ(rows[3].found, rows[0].found);
}

TEST(MemoryStorage, DueGoesByInstantThenKindThenId) {
  MemoryStorage storage;
  fake::put(storage, external("b", 5));
  fake::put(storage, external("a", 5));
  fake::put(storage, held_by("z", "w", 5));
  fake::put(storage, external("c", 4));
  Changes changes;
  changes.schedules.push_back({nullptr, fake::schedule("a", 5)});
  changes.schedules.push_back({nullptr, fake::schedule("never", kNever)});
  fake::write(storage, std::move(changes));
  EXPECT_EQ(storage.first_due(), 4);
  EXPECT_EQ(fake::due(storage, 5), (Texts{"4 c", "5 a", "5 b", "5 z", "5 a"}));
  EXPECT_EQ(fake::due(storage, 4), Texts{"4 c"});

  Texts paged;  // each page begins after the last row of the page before
  RowRange rows = rows_by_due();
  for (rows.limit = 2;;) {
    const std::vector<RowRef> page = storage.rows(rows);
    if (page.empty()) break;
    for (const RowRef& row : page) paged.push_back(row->id());
    rows.after = place_in(rows, *page.back());
  }
  EXPECT_EQ(paged, (Texts{"c", "a", "b", "z"}));
  EXPECT_TRUE(storage.schedules({.by = ScheduleRange::By::due, .after = "a", .after_at = 5}).empty());
}

// Index keys hold the first bytes of an id; these ids are shorter, as long, longer, or equal in these bytes.
TEST(MemoryStorage, DueOrdersACrowdOfOneInstantByTheWholeId) {
  MemoryStorage storage;
  Texts wanted;
  for (const std::string& stem :
       {std::string(), std::string(6, 'a'), std::string(14, 'a'), std::string(15, 'a'), std::string(40, 'a')})
    for (const char* end : {"", "a", "a\x01", "ab", "b", "z", "\x7f", "\xc3\xa4", "\xf0\x9f\x98\x80"})
      if (const std::string id = stem + end; !id.empty()) wanted.push_back(id);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  Texts shuffled = wanted;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(7));
  for (const std::string& id : shuffled) fake::put(storage, external(id, 5));
  const auto ids_due = [&] {
    Texts found;
    for (const RowRef& row : storage.rows(rows_by_due())) found.push_back(row->id());
    return found;
  };
  EXPECT_EQ(ids_due(), wanted);

  while (!shuffled.empty()) {  // the index finds the key of each row and removes it
    const RowRef row = storage.load(shuffled.back());
    shuffled.pop_back();
    std::erase(wanted, row->id());
    fake::put(storage, fake::changed(row, [](Row& settled) {
                settled.state = PromiseState::resolved;
                settled.settled_at = 1;
              }));
    ASSERT_EQ(ids_due(), wanted);
    ASSERT_EQ(storage.first_due(), wanted.empty() ? kNever : 5);
  }
}

TEST(MemoryStorage, DueFollowsARow) {
  MemoryStorage storage;
  const RowRef born = external("a", 50);
  fake::put(storage, born);
  EXPECT_EQ(storage.first_due(), 50);
  const RowRef settled = fake::changed(born, [](Row& row) {
    row.state = PromiseState::resolved;
    row.settled_at = 1;
    row.listeners = 1;
  });
  fake::put(storage, settled);
  EXPECT_EQ(storage.first_due(), kAtOnce);
  fake::put(storage, fake::changed(settled, [](Row& row) { row.listeners = 0; }));
  EXPECT_EQ(storage.first_due(), kNever);
}

TEST(MemoryStorage, ScansByIdBranchAndPid) {
  MemoryStorage storage;
  fake::put(storage, external("b", 9));
  for (const char* id : {"d", "a", "c"}) {
    StringMap tags;
    tags.set("resonate:branch", id == std::string("a") ? "other" : "one");
    fake::put(storage, external(id, 9, std::move(tags)));
  }
  fake::put(storage, held_by("h2", "w1", 5));
  fake::put(storage, held_by("h1", "w1", 6));
  fake::put(storage, held_by("h3", "w10", 6));
  const auto scan = [&](Index index, const std::string& key, const std::string& after, std::size_t limit) {
    return ids(storage.rows({.index = index, .text = key, .after = {.id = after}, .limit = limit}));
  };
  EXPECT_EQ(scan(Index::id, "", "", 100), (Texts{"a", "b", "c", "d", "h1", "h2", "h3"}));
  EXPECT_EQ(scan(Index::id, "", "b", 2), (Texts{"c", "d"}));
  EXPECT_EQ(scan(Index::id, "", "bb", 1), (Texts{"c"}));
  EXPECT_EQ(scan(Index::id, "", "", 0), Texts{});
  EXPECT_EQ(scan(Index::branch, "one", "", 100), (Texts{"c", "d"}));
  EXPECT_EQ(scan(Index::branch, "one", "c", 100), (Texts{"d"}));
  EXPECT_EQ(scan(Index::branch, "on", "", 100), Texts{});
  EXPECT_EQ(scan(Index::holder, "w1", "", 100), (Texts{"h1", "h2"}));
  EXPECT_EQ(scan(Index::holder, "w1", "h1", 1), (Texts{"h2"}));

  fake::put(storage,
            fake::changed(storage.load("h1"), [](Row& row) { row.pid = Shared<const SharedString>(new SharedString("w2")); }));
  EXPECT_EQ(scan(Index::holder, "w1", "", 100), (Texts{"h2"}));
  EXPECT_EQ(scan(Index::holder, "w2", "", 100), (Texts{"h1"}));
  fake::put(storage, fake::changed(storage.load("h1"), [](Row& row) {
              row.pid = nullptr;
              row.task = TaskState::halted;
            }));
  EXPECT_EQ(scan(Index::holder, "w2", "", 100), Texts{});
}

TEST(MemoryStorage, OrdersIdsAsUnsignedBytes) {
  MemoryStorage storage;
  for (const char* id : {"\xf0\x9f\x98\x80", "z", "\xc3\xa4", "A", "a.b", "a/b", "a"}) fake::put(storage, external(id, 9));
  EXPECT_EQ(ids(storage.rows({.limit = 100})), (Texts{"A", "a", "a.b", "a/b", "z", "\xc3\xa4", "\xf0\x9f\x98\x80"}));
}

TEST(MemoryStorage, EdgesComeInOrderOfRegistration) {
  MemoryStorage storage;
  Changes changes;
  changes.edges_added = {fake::edge(EdgeKind::callback, "a", "z", 1), fake::edge(EdgeKind::callback, "a", "b", 3),
                         fake::edge(EdgeKind::listener, "a", "z", 2), fake::edge(EdgeKind::callback, "ab", "z", 4)};
  fake::write(storage, changes);
  const auto others = [&](EdgeKind kind, const char* owner, std::int64_t after, std::size_t limit) {
    Texts found;
    for (const EdgeRef& edge : storage.edges({kind, owner, after, limit})) found.push_back(edge->other);
    return found;
  };
  EXPECT_EQ(others(EdgeKind::callback, "a", 0, 10), (Texts{"z", "b"}));
  EXPECT_EQ(others(EdgeKind::callback, "a", 1, 10), (Texts{"b"}));
  EXPECT_EQ(others(EdgeKind::callback, "a", 0, 1), (Texts{"z"}));
  EXPECT_EQ(others(EdgeKind::listener, "a", 0, 10), (Texts{"z"}));
  EXPECT_TRUE(storage.load_edge(EdgeKind::callback, "ab", "z"));
  EXPECT_FALSE(storage.load_edge(EdgeKind::listener, "ab", "z"));
  Changes removal;
  removal.edges_removed = {changes.edges_added[0]};
  fake::write(storage, std::move(removal));
  EXPECT_EQ(others(EdgeKind::callback, "a", 0, 10), (Texts{"b"}));
  EXPECT_FALSE(storage.load_edge(EdgeKind::callback, "a", "z"));
}

TEST(MemoryStorage, MessagesComeInOrderOfQueueing) {
  MemoryStorage storage;
  Changes changes;
  changes.messages_added = {fake::message(MessageKind::execute, "a", "x", 1), fake::message(MessageKind::unblock, "b", "x", 2),
                            fake::message(MessageKind::unblock, "c", "x", 3)};
  changes.counters = {.sequence = 3, .now = 7, .dropped = 1};
  storage.write(changes);
  EXPECT_EQ(storage.counters(), changes.counters);
  EXPECT_EQ(storage.messages({.after = 0, .limit = 10}).size(), 3u);
  EXPECT_EQ(storage.messages({.after = 1, .limit = 1}).front()->id, "b");
  const auto unblocks = [&](std::int64_t after) {
    Texts found;
    for (const MessageRef& message : storage.messages({.by = MessageRange::By::unblock, .after = after}))
      found.push_back(message->id);
    return found;
  };
  EXPECT_EQ(unblocks(0), (Texts{"b", "c"}));
  EXPECT_EQ(unblocks(2), Texts{"c"});
  EXPECT_EQ(unblocks(3), Texts{});
  EXPECT_EQ(storage.messages({.by = MessageRange::By::unblock_of, .text = "b"}).size(), 1u);
  EXPECT_TRUE(storage.messages({.by = MessageRange::By::unblock_of, .text = "a"}).empty());
  Changes removal;
  removal.counters = changes.counters;
  removal.messages_removed = {2, 99};  // the removal of a missing message is not an error
  storage.write(removal);
  EXPECT_EQ(unblocks(0), Texts{"c"});
  EXPECT_TRUE(storage.messages({.by = MessageRange::By::unblock_of, .text = "b"}).empty());
  EXPECT_EQ(storage.messages({.after = 0, .limit = 10}).size(), 2u);
}

TEST(MemoryStorage, AForkAndItsOriginalGoTheirOwnWays) {
  MemoryStorage storage;
  for (int i = 0; i < 500; ++i) fake::put(storage, external("p" + std::to_string(1000 + i), 100 + i));
  const auto fork = storage.fork();
  fake::put(storage, external("zz", 1));
  fake::put(*fork, fake::changed(fork->load("p1000"), [](Row& row) { row.listeners = 7; }));
  EXPECT_EQ(storage.count(Table::rows), 501u);
  EXPECT_EQ(fork->count(Table::rows), 500u);
  EXPECT_EQ(storage.load("p1000")->listeners, 0u);
  EXPECT_EQ(fork->first_due(), 100);
  EXPECT_EQ(storage.first_due(), 1);
  Changes nothing;
  nothing.replaces_all = true;
  storage.write(nothing);
  EXPECT_EQ(storage.counters(), Counters{});
  EXPECT_EQ(storage.first_due(), kNever);
  EXPECT_EQ(fork->rows({.limit = 1000}).size(), 500u);
  EXPECT_EQ(fake::due(*fork).size(), 500u);
}

TEST(MemoryStorage, ADeletedRowLeavesNoTrace) {
  MemoryStorage storage;
  StringMap branch;
  branch.set("resonate:branch", "one");
  for (int i = 0; i < 300; ++i) fake::put(storage, external("p" + std::to_string(1000 + i), 5, branch));
  for (int i = 0; i < 300; i += 2) {
    Changes changes;
    changes.rows.push_back({storage.load("p" + std::to_string(1000 + i)), nullptr});
    fake::write(storage, std::move(changes));
  }
  EXPECT_EQ(storage.count(Table::rows), 150u);
  EXPECT_EQ(fake::due(storage).size(), 150u);
  EXPECT_EQ(storage.rows(rows_of_branch("one")).size(), 150u);
  for (int i = 0; i < 300; i += 2) fake::put(storage, external("p" + std::to_string(1000 + i), 5, branch));
  EXPECT_EQ(storage.rows({.limit = 1000}).size(), 300u);
}

// Regression: the index of due entries read the id of a schedule that had been replaced or deleted.
TEST(MemoryStorageRegression, SchedulesThatWentAreNotLookedAtAgain) {
  MemoryStorage storage;
  const auto name = [](int i) { return "a schedule whose name is on the heap " + std::to_string(1000 + i); };
  for (int i = 0; i < 500; ++i) {
    Changes changes;
    changes.schedules.push_back({nullptr, fake::schedule(name(i), 60'000)});
    fake::write(storage, std::move(changes));
  }
  for (int i = 0; i < 500; ++i) {
    Changes changes;
    changes.schedules.push_back(
        {storage.load_schedule(name(i)), i % 3 == 0 ? ScheduleRef() : fake::schedule(name(i), i % 3 == 1 ? 120'000 : 60'000)});
    fake::write(storage, std::move(changes));
  }
  EXPECT_EQ(fake::due(storage, 60'000).size(), 166u);
  EXPECT_EQ(fake::due(storage).size(), 333u);
  EXPECT_EQ(storage.schedules({}).size(), 333u);
}

}  // namespace
}  // namespace resonate
