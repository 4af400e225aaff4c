// KnownState: an instant that only this process knows, while other processes commit or set the clock back.
#include "storage/known_state.hpp"

#include <gtest/gtest.h>

namespace resonate {
namespace {

Counters at(Instant now) {
  Counters counters;
  counters.now = now;
  return counters;
}

// The stored instant is 100, and a later one, 105, is known that no commit has stored.
class KnownInstant : public testing::Test {
 protected:
  KnownInstant() {
    known.renew(1, at(100), 0);
    Changes changes;
    changes.counters = at(105);
    EXPECT_TRUE(known.keeps_instant(changes));
  }

  // The present instant after a look at a state that another process has committed at this one.
  Instant after(Instant stored) {
    known.renew(2, at(stored), 0);
    return known.present().now;
  }

  KnownState known;
};

TEST_F(KnownInstant, StaysWhileOthersCommit) { EXPECT_EQ(after(101), 105); }

TEST_F(KnownInstant, GoesWhenTheClockIsSetBack) { EXPECT_EQ(after(50), 50); }

// A commit that began without a look was refused, or the connection was lost: nothing else is known until the next look.
TEST_F(KnownInstant, GoesWhenTheClockIsSetBackAfterAllElseIsForgotten) {
  known.forget();
  EXPECT_EQ(after(50), 50);
}

}  // namespace
}  // namespace resonate
