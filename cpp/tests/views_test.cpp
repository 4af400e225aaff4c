// The newest rows, held leases and hours, in every backend, and forks of a memory storage that has not entered its new rows yet.
#include "resonate/views.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

class Views : public ::testing::TestWithParam<Backend> {
 protected:
  Backends backends;
};
INSTANTIATE_TEST_SUITE_P(InEachBackend, Views, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

Texts ids_of(const std::vector<RowRef>& rows) {
  Texts ids;
  for (const RowRef& row : rows) ids.push_back(row->id());
  return ids;
}

// All rows of a range, a page at a time.
Texts paged(Storage& storage, RowRange range, std::size_t page) {
  Texts all;
  range.limit = page;
  for (;;) {
    const std::vector<RowRef> rows = storage.rows(range);
    for (const RowRef& row : rows) all.push_back(row->id());
    if (rows.size() < page) return all;
    range.after = place_in(range, *rows.back());
  }
}

struct Expected {
  Instant created_at;
  std::string group;  // of jobs their queue; "": roots
};

Texts newest(const std::map<std::string, Expected>& rows, const std::string& group, Instant since, Instant until) {
  std::vector<std::pair<Instant, std::string>> found;
  for (const auto& [id, row] : rows)
    if (row.group == group && row.created_at >= since && row.created_at <= until) found.emplace_back(row.created_at, id);
  std::sort(found.rbegin(), found.rend());
  Texts ids;
  for (const auto& [at, id] : found) ids.push_back(id);
  return ids;
}

TEST_P(Views, NewestRowsOfRandomChanges) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  JobStore store(backends.storage(GetParam()), {}, 10);
  std::map<std::string, Expected> rows;
  const auto compare = [&rows](Storage& storage) {
    for (const std::size_t page : {1u, 3u, 1000u}) {
      EXPECT_EQ(paged(storage, newest_roots(kUnset, kNever - 1), page), newest(rows, "", kUnset, kNever));
      for (const char* queue : {"q", "queue-with-a-long-name"}) {
        EXPECT_EQ(paged(storage, newest_jobs(queue, kUnset, kNever - 1), page), newest(rows, queue, kUnset, kNever));
        EXPECT_EQ(paged(storage, newest_jobs(queue, 12, 14), page), newest(rows, queue, 12, 14));
      }
    }
  };
  for (int turn = 0; turn < 300; ++turn) {
    const std::string id = "id" + std::to_string(below(40));
    const std::string queue = below(2) ? "q" : "queue-with-a-long-name";
    const Instant now = store.clock->now();
    switch (below(8)) {
      case 0:
      case 1:
        if (!rows.contains(id)) {
          store.create(id);
          rows[id] = {now, ""};
        }
        break;
      case 2:
        if (!rows.contains(id)) store.create(id, kFar, tags({{"resonate:origin", "another"}}));
        if (!rows.contains(id)) rows[id] = {now, "no root"};
        break;
      case 3:
      case 4:
        if (rows.contains(id) && rows[id].group != "" && rows[id].group != "no root") break;
        if (store.run(enqueue(id, queue)).status != status::kOk) break;
        rows.try_emplace(id, Expected{now, queue}).first->second.group = queue;
        break;
      case 5:
        if (store.run(JobDelete{only(id)}).status == status::kOk) rows.erase(id);
        break;
      case 6: store.clock->advance_to(now + below(2)); break;
      default:
        if (below(4) == 0) store.engine->with_storage(compare);
    }
  }
  store.engine->with_snapshot(compare);
}

TEST(ViewsInMemory, AForkEntersItsNewRowsItself) {
  JobStore store;
  store.add(order("a", "q"));
  const auto fork = store.engine->fork(std::make_shared<ManualClock>(0));
  store.must(JobDelete{only("a")});
  store.add(order("b", "q"));
  const auto of = [](Engine& engine) {
    return engine.with_snapshot([](Storage& storage) { return ids_of(find_jobs(storage, {}, 0).rows); });
  };
  EXPECT_EQ(of(*fork), Texts{"a"});
  EXPECT_EQ(of(*store.engine), Texts{"b"});
}

TEST(ViewsInMemory, ReadingAFewRowsDoesNotEnterNewRows) {
  JobStore store;
  store.add(order("a", "q"));
  const auto all_are_entered = [&] { return store.engine->with_storage([](Storage& storage) { return storage.index_some(0); }); };
  EXPECT_EQ(store.engine->with_few_rows([](Storage& storage) { return leases_of(storage, 10).rows.size(); }), 0u);
  EXPECT_FALSE(all_are_entered());
  store.engine->with_snapshot([](Storage&) {});
  EXPECT_TRUE(all_are_entered());
}

TEST_P(Views, HoldersAreReadPidByPid) {
  Store store(backends.storage(GetParam()));
  for (const char* pid : {"b", "a", "ab", "c"})
    for (const char* number : {"1", "2"}) store.claim(std::string(pid) + number, kFar, 1000, pid);
  store.engine->with_storage([](Storage& storage) {
    EXPECT_EQ(storage.holders("", 10), (Texts{"a", "ab", "b", "c"}));
    EXPECT_EQ(storage.holders("", 2), (Texts{"a", "ab"}));
    EXPECT_EQ(storage.holders("ab", 10), (Texts{"b", "c"}));
    EXPECT_EQ(storage.holders("c", 10), Texts{});
  });
}

TEST_P(Views, AnEndedHourIsARowAndTheOldestGo) {
  JobStore store(backends.storage(GetParam()), checked(), 0);
  const auto hours = [&] {
    return store.engine->with_storage([](Storage& storage) {
      std::vector<std::int64_t> found;
      for (const HourRef& hour : storage.hours("q", 0)) found.push_back(hour->counted.hour);
      return found;
    });
  };
  for (const std::int64_t hour : {0, 1, 4, 167}) {
    store.clock->advance_to(hour * kHour);
    store.add(order("of" + std::to_string(hour), "q"));
  }
  EXPECT_EQ(hours(), (std::vector<std::int64_t>{0, 1, 4}));
  store.clock->advance_to(169 * kHour);
  store.add(order("last", "q"));
  EXPECT_EQ(hours(), (std::vector<std::int64_t>{4, 167}));
  EXPECT_EQ(store.engine->with_storage([](Storage& storage) { return storage.hours("q", 5).size(); }), 1u);
}

}  // namespace
}  // namespace resonate
