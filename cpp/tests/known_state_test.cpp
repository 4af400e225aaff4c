// What a storage keeps in memory of the stored state.
#include "storage/known_state.hpp"

#include <gtest/gtest.h>

namespace resonate {
namespace {

Counters at(Instant now) {
  Counters counters;
  counters.now = now;
  return counters;
}

// A later instant that no commit has stored.
void observe(KnownState& known, Instant now) {
  Changes changes;
  changes.counters = at(now);
  ASSERT_TRUE(known.keeps_instant(changes));
}

TEST(KnownState, AnInstantThatIsNotStoredStaysWhileOthersCommit) {
  KnownState known;
  known.renew(1, at(100), 0);
  observe(known, 105);
  known.renew(2, at(101), 0);
  EXPECT_EQ(known.present().now, 105);
}

TEST(KnownState, AnInstantThatIsNotStoredGoesWhenTheClockIsSetBack) {
  KnownState known;
  known.renew(1, at(100), 0);
  observe(known, 105);
  known.renew(2, at(50), 0);
  EXPECT_EQ(known.present().now, 50);
}

// A commit that began without a look was refused, or the connection was lost: nothing is known until the next look.
TEST(KnownState, ItIsKnownThatTheClockWasSetBackAlsoIfAllElseIsForgotten) {
  KnownState known;
  known.renew(1, at(100), 0);
  observe(known, 105);
  known.forget();
  known.renew(2, at(50), 0);
  EXPECT_EQ(known.present().now, 50);
}

}  // namespace
}  // namespace resonate
