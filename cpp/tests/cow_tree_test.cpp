// The copy-on-write tree against std::set: random inserts, erases, searches and copies.
#include "storage/cow_tree.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <vector>

namespace resonate {
namespace {

struct IntLess {
  bool operator()(int a, int b) const noexcept { return a < b; }
};
using Tree = CowTree<int, IntLess>;

std::vector<int> keys_of(const Tree& tree) {
  std::vector<int> keys;
  tree.visit_all([&](int key) {
    keys.push_back(key);
    return true;
  });
  return keys;
}

void expect_same(const Tree& tree, const std::set<int>& model) {
  ASSERT_EQ(tree.size(), model.size());
  ASSERT_EQ(tree.empty(), model.empty());
  ASSERT_EQ(keys_of(tree), std::vector<int>(model.begin(), model.end()));
  if (model.empty()) {
    ASSERT_EQ(tree.first(), nullptr);
  } else {
    ASSERT_EQ(*tree.first(), *model.begin());
  }
}

void expect_same_from(const Tree& tree, const std::set<int>& model, int probe, std::size_t limit) {
  std::vector<int> seen;
  tree.visit_from(probe, [&](int key) {
    seen.push_back(key);
    return seen.size() < limit;
  });
  std::vector<int> wanted;
  for (auto at = model.lower_bound(probe); at != model.end() && wanted.size() < limit; ++at) wanted.push_back(*at);
  ASSERT_EQ(seen, wanted) << "from " << probe;
}

struct Pair {
  Tree tree;
  std::set<int> model;
};

class CowTreeRandom : public ::testing::TestWithParam<unsigned> {};

TEST_P(CowTreeRandom, AgreesWithASetThroughCopies) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
  const int span = 1 << (6 + below(9));  // from one leaf to three levels
  std::vector<Pair> pairs(1);
  for (int step = 0; step < 20'000; ++step) {
    Pair& pair = pairs[static_cast<std::size_t>(below(static_cast<int>(pairs.size())))];
    const int key = below(span);
    const int action = below(1000);
    const bool growing = step / 4000 % 2 == 0;
    if (action < (growing ? 600 : 250)) {
      ASSERT_EQ(pair.tree.insert(key), pair.model.insert(key).second);
    } else if (action < 900) {
      ASSERT_EQ(pair.tree.erase(key), pair.model.erase(key) == 1);
    } else if (action < 980) {
      const int* found = pair.tree.find(key);
      ASSERT_EQ(found != nullptr, pair.model.contains(key));
      if (found) {
        ASSERT_EQ(*found, key);
      }
    } else if (action < 992) {
      expect_same_from(pair.tree, pair.model, key - 1, static_cast<std::size_t>(1 + below(200)));
    } else if (action < 997) {
      Pair copy = pair;
      if (pairs.size() < 5) {
        pairs.push_back(std::move(copy));
      } else {
        pairs[static_cast<std::size_t>(below(5))] = std::move(copy);
      }
    } else if (action == 999 && below(10) == 0) {
      pair.tree.clear();
      pair.model.clear();
    }
    if (step % 2500 == 0)
      for (const Pair& each : pairs) expect_same(each.tree, each.model);
  }
  for (const Pair& each : pairs) expect_same(each.tree, each.model);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CowTreeRandom, ::testing::Range(1u, 13u));

TEST(CowTree, KeepsOrderWhenKeysArriveInOrderAndLeaveInOrder) {
  Tree tree;
  std::set<int> model;
  for (int i = 0; i < 20'000; ++i) {  // like a queue of timers: added at the end, removed at the beginning
    tree.insert(i);
    model.insert(i);
    if (i >= 500) {
      ASSERT_EQ(*tree.first(), i - 500);
      tree.erase(i - 500);
      model.erase(i - 500);
    }
  }
  expect_same(tree, model);
  while (!model.empty()) {
    tree.erase(*model.rbegin());
    model.erase(std::prev(model.end()));
  }
  expect_same(tree, model);
  EXPECT_TRUE(tree.insert(7));
  EXPECT_EQ(keys_of(tree), std::vector<int>{7});
}

TEST(CowTree, TakesKeysInFallingOrder) {
  Tree tree;
  std::set<int> model;
  for (int i = 20'000; i > 0; --i) {
    tree.insert(i);
    model.insert(i);
  }
  expect_same(tree, model);
}

TEST(CowTree, ACopyKeepsWhatItSawWhileTheOriginalIsEmptied) {
  Tree tree;
  std::set<int> model;
  for (int i = 0; i < 10'000; ++i) {
    tree.insert(i * 7 % 10'007);
    model.insert(i * 7 % 10'007);
  }
  const Tree copy = tree;
  for (int key : model) tree.erase(key);
  EXPECT_TRUE(tree.empty());
  expect_same(copy, model);
  tree = copy;
  expect_same(tree, model);
}

TEST(CowTree, AnEmptyTreeAnswersEverything) {
  Tree tree;
  EXPECT_FALSE(tree.erase(1));
  EXPECT_EQ(tree.find(1), nullptr);
  EXPECT_EQ(tree.first(), nullptr);
  tree.visit_from(0, [](int key) {
    ADD_FAILURE() << key;
    return true;
  });
  tree.clear();
  EXPECT_TRUE(tree.empty());
}

// Keys that point to values, as in the storage's indexes.
struct PointedLess {
  bool operator()(const int* a, const int* b) const noexcept { return *a < *b; }
};

// Regression: inner nodes kept copies of erased keys as separators, and comparisons read the values of these keys.
TEST(CowTreeRegression, ErasedKeysAreNotLookedAtAgain) {
  for (const int step : {1, 3, 64}) {
    CowTree<const int*, PointedLess> tree;
    std::vector<std::unique_ptr<int>> values;
    for (int i = 0; i < 9000; ++i) {
      values.push_back(std::make_unique<int>(i));
      tree.insert(values.back().get());
    }
    for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(step)) {
      ASSERT_TRUE(tree.erase(values[i].get()));
      values[i].reset();  // the value is freed as soon as its key is erased
      const int probe = static_cast<int>(i);
      ASSERT_EQ(tree.find(&probe), nullptr);
    }
    for (int i = 0; i < 9000; i += step) {
      values[static_cast<std::size_t>(i)] = std::make_unique<int>(i);
      ASSERT_TRUE(tree.insert(values[static_cast<std::size_t>(i)].get()));
    }
    int next = 0;
    tree.visit_all([&](const int* key) { return *key == next++; });
    ASSERT_EQ(next, 9000);
  }
}

}  // namespace
}  // namespace resonate
