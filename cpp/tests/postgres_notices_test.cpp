// Which workers of a fleet a notice wakes, and how far apart.
#include "storage/postgres_notices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace resonate {
namespace {

using std::chrono::seconds;

std::vector<Duration> turns(std::size_t workers, std::size_t jobs, Duration between) {
  std::vector<Duration> all;
  for (std::size_t connection = 1; connection <= workers; ++connection)
    all.push_back(CommitNotice::turn(7, static_cast<int>(connection), workers, jobs, between));
  std::ranges::sort(all);
  return all;
}

TEST(PostgresNotices, AFewWorkersLookAtOnceAndTheOthersLater) {
  const std::vector<Duration> found = turns(1000, 4, 20);
  const auto at_once = std::ranges::count(found, 0);
  EXPECT_GE(at_once, 1);
  EXPECT_LE(at_once, 20);
  EXPECT_GT(found.back(), 18'000);
  EXPECT_LT(found.back(), 20'000);
  EXPECT_EQ(std::ranges::count(turns(5, 4, 20), 0), 5);
}

TEST(PostgresNotices, WorkersLookAtLongerIntervalsWhileTheLockTakesLong) {
  LockWaits waits;
  const std::chrono::steady_clock::time_point now{seconds(1000)};
  EXPECT_EQ(waits.between(now), 20);  // no wait yet
  waits.add(2, now);
  EXPECT_EQ(waits.between(now), 20);
  waits.add(100, now);
  EXPECT_EQ(waits.between(now), 300);
  EXPECT_EQ(waits.between(now + seconds(1)), 300);
  EXPECT_EQ(waits.between(now + seconds(2)), 150);
  EXPECT_EQ(waits.between(now + seconds(600)), 20);
  EXPECT_EQ(waits.between(now - seconds(1)), 300);
  waits.add(60'000, now);
  EXPECT_EQ(waits.between(now), 500);
  waits.add(1, now);  // the last wait counts
  EXPECT_EQ(waits.between(now), 20);
}

}  // namespace
}  // namespace resonate
