// The memory home through the storage interface: look-ups, order, edges, messages, forks.
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
Texts due_ids(const std::vector<DueEntry>& entries) {
  Texts found;
  for (const DueEntry& entry : entries) found.push_back(std::to_string(entry.due.at) + " " + std::string(entry.id()));
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

TEST(MemoryStorage, IsEmptyAtBirth) {
  const auto storage = make_memory_storage();
  EXPECT_EQ(storage->counters(), Counters{});
  EXPECT_FALSE(storage->load("a"));
  EXPECT_FALSE(storage->load_schedule("a"));
  EXPECT_EQ(storage->first_due(), kNever);
  EXPECT_TRUE(storage->due(kNever, 10, nullptr).empty());
  EXPECT_TRUE(storage->scan({.by = RowScan::By::id, .key = {}, .after = {}, .limit = 10}).empty());
  EXPECT_TRUE(storage->scan_schedules("", 10).empty());
  EXPECT_TRUE(storage->messages(0, 10).empty());
  EXPECT_FALSE(storage->oldest_unblock(0));
  EXPECT_EQ(storage->row_count(), 0u);
}

TEST(MemoryStorage, LoadsManyInTheOrderAsked) {
  MemoryStorage storage;
  fake::put(storage, external("a", 1));
  fake::put(storage, external("b", 1));
  const std::vector<std::string_view> wanted = {"b", "missing", "a", "b"};
  const std::vector<RowRef> rows = storage.load_many(wanted);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0]->id(), "b");
  EXPECT_FALSE(rows[1]);
  EXPECT_EQ(rows[2]->id(), "a");
  EXPECT_EQ(rows[3], rows[0]);
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
  EXPECT_EQ(due_ids(storage.due(5, 10, nullptr)), (Texts{"4 c", "5 a", "5 b", "5 z", "5 a"}));
  EXPECT_EQ(due_ids(storage.due(4, 10, nullptr)), Texts{"4 c"});
  EXPECT_TRUE(storage.due(kNever, 10, nullptr).back().schedule);

  Texts paged;  // page by page, each after the last of the page before
  std::optional<DueEntry> after;
  for (;;) {
    const std::vector<DueEntry> page = storage.due(kNever, 2, after ? &*after : nullptr);
    if (page.empty()) break;
    for (const std::string& text : due_ids(page)) paged.push_back(text);
    after = page.back();
  }
  EXPECT_EQ(paged, (Texts{"4 c", "5 a", "5 b", "5 z", "5 a"}));
}

// Keys hold the first bytes of an id: what is shorter, as long, longer, and equal in them.
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
    for (const DueEntry& entry : storage.due(5, 1000, nullptr)) found.emplace_back(entry.id());
    return found;
  };
  EXPECT_EQ(ids_due(), wanted);

  while (!shuffled.empty()) {  // each is found again where it stands
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
  const auto scan = [&](RowScan::By by, const std::string& key, const std::string& after, std::size_t limit) {
    return ids(storage.scan({.by = by, .key = key, .after = after, .limit = limit}));
  };
  EXPECT_EQ(scan(RowScan::By::id, "", "", 100), (Texts{"a", "b", "c", "d", "h1", "h2", "h3"}));
  EXPECT_EQ(scan(RowScan::By::id, "", "b", 2), (Texts{"c", "d"}));
  EXPECT_EQ(scan(RowScan::By::id, "", "bb", 1), (Texts{"c"}));
  EXPECT_EQ(scan(RowScan::By::id, "", "", 0), Texts{});
  EXPECT_EQ(scan(RowScan::By::branch, "one", "", 100), (Texts{"c", "d"}));
  EXPECT_EQ(scan(RowScan::By::branch, "one", "c", 100), (Texts{"d"}));
  EXPECT_EQ(scan(RowScan::By::branch, "on", "", 100), Texts{});
  EXPECT_EQ(scan(RowScan::By::pid, "w1", "", 100), (Texts{"h1", "h2"}));
  EXPECT_EQ(scan(RowScan::By::pid, "w1", "h1", 1), (Texts{"h2"}));

  fake::put(storage,
            fake::changed(storage.load("h1"), [](Row& row) { row.pid = Shared<const SharedString>(new SharedString("w2")); }));
  EXPECT_EQ(scan(RowScan::By::pid, "w1", "", 100), (Texts{"h2"}));
  EXPECT_EQ(scan(RowScan::By::pid, "w2", "", 100), (Texts{"h1"}));
  fake::put(storage, fake::changed(storage.load("h1"), [](Row& row) {
              row.pid = nullptr;
              row.task = TaskState::halted;
            }));
  EXPECT_EQ(scan(RowScan::By::pid, "w2", "", 100), Texts{});
}

TEST(MemoryStorage, OrdersIdsAsUnsignedBytes) {
  MemoryStorage storage;
  for (const char* id : {"\xf0\x9f\x98\x80", "z", "\xc3\xa4", "A", "a.b", "a/b", "a"}) fake::put(storage, external(id, 9));
  EXPECT_EQ(ids(storage.scan({.by = RowScan::By::id, .key = {}, .after = {}, .limit = 100})),
            (Texts{"A", "a", "a.b", "a/b", "z", "\xc3\xa4", "\xf0\x9f\x98\x80"}));
}

TEST(MemoryStorage, EdgesComeInOrderOfRegistration) {
  MemoryStorage storage;
  Changes changes;
  changes.edges_added = {fake::edge(EdgeKind::callback, "a", "z", 1), fake::edge(EdgeKind::callback, "a", "b", 3),
                         fake::edge(EdgeKind::listener, "a", "z", 2), fake::edge(EdgeKind::callback, "ab", "z", 4)};
  fake::write(storage, changes);
  const auto others = [&](EdgeKind kind, const char* owner, std::int64_t after, std::size_t limit) {
    Texts found;
    for (const EdgeRef& edge : storage.edges(kind, owner, after, limit)) found.push_back(edge->other);
    return found;
  };
  EXPECT_EQ(others(EdgeKind::callback, "a", 0, 10), (Texts{"z", "b"}));
  EXPECT_EQ(others(EdgeKind::callback, "a", 1, 10), (Texts{"b"}));
  EXPECT_EQ(others(EdgeKind::callback, "a", 0, 1), (Texts{"z"}));
  EXPECT_EQ(others(EdgeKind::listener, "a", 0, 10), (Texts{"z"}));
  EXPECT_TRUE(storage.has_edge(EdgeKind::callback, "ab", "z"));
  EXPECT_FALSE(storage.has_edge(EdgeKind::listener, "ab", "z"));
  Changes removal;
  removal.edges_removed = {changes.edges_added[0]};
  fake::write(storage, std::move(removal));
  EXPECT_EQ(others(EdgeKind::callback, "a", 0, 10), (Texts{"b"}));
  EXPECT_FALSE(storage.has_edge(EdgeKind::callback, "a", "z"));
}

TEST(MemoryStorage, MessagesComeInOrderOfQueueing) {
  MemoryStorage storage;
  Changes changes;
  changes.messages_added = {fake::message(MessageKind::execute, "a", "x", 1), fake::message(MessageKind::unblock, "b", "x", 2),
                            fake::message(MessageKind::unblock, "c", "x", 3)};
  changes.counters = {.sequence = 3, .now = 7, .dropped = 1};
  storage.write(changes);
  EXPECT_EQ(storage.counters(), changes.counters);
  EXPECT_EQ(storage.messages(0, 10).size(), 3u);
  EXPECT_EQ(storage.messages(1, 1).front()->id, "b");
  EXPECT_EQ(storage.oldest_unblock(0)->id, "b");
  EXPECT_EQ(storage.oldest_unblock(2)->id, "c");
  EXPECT_FALSE(storage.oldest_unblock(3));
  Changes removal;
  removal.counters = changes.counters;
  removal.messages_removed = {2, 99};  // what is not there any more is no error
  storage.write(removal);
  EXPECT_EQ(storage.oldest_unblock(0)->id, "c");
  EXPECT_EQ(storage.messages(0, 10).size(), 2u);
}

TEST(MemoryStorage, AForkAndItsOriginalGoTheirOwnWays) {
  MemoryStorage storage;
  for (int i = 0; i < 500; ++i) fake::put(storage, external("p" + std::to_string(1000 + i), 100 + i));
  const auto fork = storage.fork();
  fake::put(storage, external("zz", 1));
  fake::put(*fork, fake::changed(fork->load("p1000"), [](Row& row) { row.listeners = 7; }));
  EXPECT_EQ(storage.row_count(), 501u);
  EXPECT_EQ(fork->row_count(), 500u);
  EXPECT_EQ(storage.load("p1000")->listeners, 0u);
  EXPECT_EQ(fork->first_due(), 100);
  EXPECT_EQ(storage.first_due(), 1);
  storage.clear();
  EXPECT_EQ(storage.counters(), Counters{});
  EXPECT_EQ(storage.first_due(), kNever);
  EXPECT_EQ(fork->scan({.by = RowScan::By::id, .key = {}, .after = {}, .limit = 1000}).size(), 500u);
  EXPECT_EQ(fork->due(kNever, 1000, nullptr).size(), 500u);
}

TEST(MemoryStorage, ARowThatGoesLeavesNoTrace) {
  MemoryStorage storage;
  StringMap branch;
  branch.set("resonate:branch", "one");
  for (int i = 0; i < 300; ++i) fake::put(storage, external("p" + std::to_string(1000 + i), 5, branch));
  for (int i = 0; i < 300; i += 2) {
    Changes changes;
    changes.rows.push_back({storage.load("p" + std::to_string(1000 + i)), nullptr});
    fake::write(storage, std::move(changes));
  }
  EXPECT_EQ(storage.row_count(), 150u);
  EXPECT_EQ(storage.due(kNever, 1000, nullptr).size(), 150u);
  EXPECT_EQ(storage.scan({.by = RowScan::By::branch, .key = "one", .after = {}, .limit = 1000}).size(), 150u);
  for (int i = 0; i < 300; i += 2) fake::put(storage, external("p" + std::to_string(1000 + i), 5, branch));
  EXPECT_EQ(storage.scan({.by = RowScan::By::id, .key = {}, .after = {}, .limit = 1000}).size(), 300u);
}

// Regression: the index of due entries compared with the id of a schedule that had been replaced or deleted.
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
  EXPECT_EQ(storage.due(60'000, 1000, nullptr).size(), 166u);
  EXPECT_EQ(storage.due(kNever, 1000, nullptr).size(), 333u);
  EXPECT_EQ(storage.scan_schedules("", 1000).size(), 333u);
}

}  // namespace
}  // namespace resonate
