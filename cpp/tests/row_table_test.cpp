// The hash table of rows against std::map: puts, erases, clears, splits and copies.
#include "storage/row_table.hpp"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <random>
#include <string>

namespace resonate {
namespace {

RowRef row(const std::string& id, std::int64_t mark) {
  auto* promise_spec = new PromiseSpec;
  Shared<const PromiseSpec> held(promise_spec);
  promise_spec->id = id;
  auto* made = new Row;
  made->promise_spec = std::move(held);
  made->acquisitions = mark;
  return RowRef(made);
}

using Model = std::map<std::string, std::int64_t>;

void expect_same(const RowTable& table, const Model& model) {
  ASSERT_EQ(table.size(), model.size());
  for (const auto& [id, mark] : model) {
    const RowRef* found = table.find(id);
    ASSERT_NE(found, nullptr) << id;
    ASSERT_EQ((*found)->acquisitions, mark) << id;
  }
  Model seen;
  table.visit_all([&](const RowRef& each) { ASSERT_TRUE(seen.emplace(each->id(), each->acquisitions).second) << each->id(); });
  ASSERT_EQ(seen, model);
}

class RowTableRandom : public ::testing::TestWithParam<unsigned> {};

TEST_P(RowTableRandom, AgreesWithAMapThroughCopies) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const int span = 50 << below(8);  // from one segment to a hundred
  struct Pair {
    RowTable table;
    Model model;
  };
  std::list<Pair> pairs;
  pairs.emplace_back();
  for (int step = 0; step < 30'000; ++step) {
    auto at = pairs.begin();
    std::advance(at, below(static_cast<int>(pairs.size())));
    const std::string id = "promise." + std::to_string(below(span));
    const int action = below(1000);
    const bool growing = step / 5000 % 2 == 0;
    if (action < (growing ? 650 : 300)) {
      at->table.put(row(id, step));
      at->model[id] = step;
    } else if (action < 850) {
      ASSERT_EQ(at->table.erase(id), at->model.erase(id) == 1) << id;
    } else if (action < 995) {
      const RowRef* found = at->table.find(id);
      ASSERT_EQ(found != nullptr, at->model.contains(id)) << id;
    } else if (action < 998) {
      if (pairs.size() == 4) pairs.erase(pairs.begin() == at ? std::next(at) : pairs.begin());
      pairs.emplace_back(*at);
    } else if (action == 999 && below(10) == 0) {
      at->table.clear();
      at->model.clear();
    }
    if (step % 6000 == 0)
      for (const Pair& each : pairs) expect_same(each.table, each.model);
  }
  for (const Pair& each : pairs) expect_same(each.table, each.model);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowTableRandom, ::testing::Range(1u, 9u));

TEST(RowTable, SplitsUnderManyRowsAndShrinksToNothing) {
  RowTable table;
  Model model;
  for (int i = 0; i < 50'000; ++i) {
    table.put(row("p" + std::to_string(i), i));
    model["p" + std::to_string(i)] = i;
  }
  expect_same(table, model);
  const RowTable copy = table;
  for (const auto& [id, mark] : model) ASSERT_TRUE(table.erase(id));
  EXPECT_EQ(table.size(), 0u);
  expect_same(copy, model);
}

TEST(RowTable, ACopySplitsWithoutTheOriginal) {
  RowTable table;
  Model model;
  for (int i = 0; i < 90; ++i) {
    table.put(row("p" + std::to_string(i), i));
    model["p" + std::to_string(i)] = i;
  }
  RowTable copy = table;
  Model more = model;
  for (int i = 90; i < 5000; ++i) {
    copy.put(row("p" + std::to_string(i), i));
    more["p" + std::to_string(i)] = i;
  }
  expect_same(table, model);
  expect_same(copy, more);
  RowTable third = copy;  // a copy of a directory whose segments have different depths
  third.clear();
  expect_same(third, {});
  expect_same(copy, more);
}

TEST(RowTable, TakesOddIds) {
  RowTable table;
  for (const std::string& id :
       {std::string("a"), std::string(), std::string("a\0b", 3), std::string(5000, 'x'), std::string("\xc3\xa4")})
    table.put(row(id, 1));
  EXPECT_EQ(table.size(), 5u);
  EXPECT_NE(table.find(std::string_view("a\0b", 3)), nullptr);
  EXPECT_NE(table.find(""), nullptr);
  EXPECT_EQ(table.find("b"), nullptr);
  EXPECT_FALSE(table.erase("b"));
}

TEST(RowTable, AnErasedRowIsGivenBack) {
  RowTable table;
  const RowRef kept = row("a", 1);
  table.put(kept);
  EXPECT_FALSE(kept->is_unshared());
  table.erase("a");
  EXPECT_TRUE(kept->is_unshared());
  table.put(kept);
  {
    const RowTable copy = table;
    table.clear();
    EXPECT_FALSE(kept->is_unshared());
  }
  EXPECT_TRUE(kept->is_unshared());
}

}  // namespace
}  // namespace resonate
