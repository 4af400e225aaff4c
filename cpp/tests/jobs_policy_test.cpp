// The delays of retry policies, in milliseconds. Another program, in another language, computed the numbers from JOBS 3.
#include "machine/job_policy.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

constexpr Duration kLongest = std::numeric_limits<Duration>::max();
const std::string kGenerated = "job:0000000000000001";

RetryPolicy exponential(Duration base, double factor, Duration cap, double jitter) {
  RetryPolicy made;
  made.kind = PolicyKind::exponential;
  made.base = base;
  made.factor = factor;
  made.cap = cap;
  made.jitter = jitter;
  return made;
}
std::vector<Duration> delays(const RetryPolicy& policy, const std::string& id, std::int64_t count) {
  std::vector<Duration> all;
  for (std::int64_t n = 0; n < count; ++n) all.push_back(retry_delay(policy, id, n));
  return all;
}
using Delays = std::vector<Duration>;

TEST(RetryHash, IsTheOneOfTheContract) {
  EXPECT_EQ(retry_hash("", 0), 0xc3817c016ba4ff30U);
  EXPECT_EQ(retry_hash("", 24), 0x679ba5175a37ac9dU);
  EXPECT_EQ(retry_hash("a", 0), 0x5f29c2aadd9b8527U);
  EXPECT_EQ(retry_hash("a", 1), 0xff84f1bdb6d3884fU);
  EXPECT_EQ(retry_hash("a", 1'000'000'000), 0xd0d1bbec29273373U);
  EXPECT_EQ(retry_hash(kGenerated, 0), 0x96e4613e3baef7f1U);
  EXPECT_EQ(retry_hash(kGenerated, 24), 0x6c2774473cfb6d8aU);
  EXPECT_EQ(retry_hash("ä/€", 0), 0xbb635787f7ab85acU);  // bytes above 127
  EXPECT_EQ(retry_hash("ä/€", 1), 0x6715aa4ab4639719U);
  EXPECT_EQ(retry_hash(std::string(300, 'x'), 1), 0x7630c165d28e46d3U);
}

TEST(RetryDelay, FixedIntervalsRepeatTheirLast) {
  EXPECT_EQ(delays(fixed({0, 5, 7}), "a", 5), (Delays{0, 5, 7, 7, 7}));
  EXPECT_EQ(delays(fixed({9}), "a", 2), (Delays{9, 9}));
  EXPECT_EQ(retry_delay(fixed({1, 2}), "a", kLongest), 2);
  EXPECT_EQ(retry_delay(fixed({kLongest}), "a", 0), kLongest);
}

TEST(RetryDelay, ExponentialUpToItsCap) {
  EXPECT_EQ(delays(exponential(1000, 2, 86'400'000, 0), "a", 18),
            (Delays{1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000, 256000, 512000, 1024000, 2048000, 4096000, 8192000,
                    16384000, 32768000, 65536000, 86400000}));
  EXPECT_EQ(delays(exponential(333, 1.5, 1'000'000, 0), "b", 9), (Delays{333, 499, 749, 1123, 1685, 2528, 3793, 5689, 8534}));
  EXPECT_EQ(retry_delay(exponential(1000, 2, 5000, 0), "a", kLongest), 5000);
  EXPECT_EQ(retry_delay(exponential(1000, 1, 5000, 0), "a", kLongest), 1000);  // returns at once
}

TEST(RetryDelay, JitterIsAHashOfTheJobAndTheAttempt) {
  EXPECT_EQ(delays(exponential(1000, 2, 60'000, 0.5), "a", 9), (Delays{871, 2996, 5968, 9487, 15586, 16671, 60000, 60000, 60000}));
  EXPECT_EQ(delays(exponential(1000, 1, 1000, 1), "b", 6), (Delays{679, 711, 1000, 371, 1000, 1000}));
}

TEST(RetryDelay, ExponentialSaturates) {
  EXPECT_EQ(retry_delay(exponential(1, 1000, kLongest, 0), "a", 6), 1'000'000'000'000'000'000);
  EXPECT_EQ(retry_delay(exponential(1, 1000, kLongest, 0), "a", 7), kLongest);
  EXPECT_EQ(retry_delay(exponential(kLongest, 1, kLongest, 0), "a", 0), kLongest);
  EXPECT_EQ(retry_delay(exponential(kLongest, 2, kLongest, 1), "a", 1), kLongest);
  EXPECT_EQ(retry_delay(exponential(kLongest - 1, 2, kLongest - 1, 0), "a", 3), kLongest - 1);
}

TEST(RetryDelay, AsynqsOwn) {
  RetryPolicy asynq;
  EXPECT_EQ(delays(asynq, "a", 3), (Delays{28000, 46000, 67000}));
  EXPECT_EQ(retry_delay(asynq, "a", 10), 10'125'000);
  EXPECT_EQ(retry_delay(asynq, "a", 24), 332'041'000);
  EXPECT_EQ(delays(asynq, kGenerated, 3), (Delays{28000, 68000, 34000}));
  EXPECT_EQ(retry_delay(asynq, kGenerated, 24), 332'341'000);
}

TEST(RetryDelay, AsynqsOwnSaturatesAtWhatADoubleHolds) {
  RetryPolicy asynq;
  constexpr Duration kMost = 9'007'199'254'740'992;  // 2^53
  EXPECT_EQ(retry_delay(asynq, "a", 1731), 8'978'179'285'636'000);
  EXPECT_EQ(retry_delay(asynq, "a", 1732), 8'998'944'076'049'000);
  for (const std::int64_t n : {std::int64_t{1733}, std::int64_t{1799}, std::int64_t{1800}, kLongest})
    EXPECT_EQ(retry_delay(asynq, "a", n), kMost) << n;
}

TEST(RetryCodes, SayWhichErrorsRetry) {
  RetryPolicy policy;
  EXPECT_TRUE(retries_after(policy, "Any"));
  policy.codes = std::vector<std::string>{};
  EXPECT_FALSE(retries_after(policy, "Any"));
  policy.codes = std::vector<std::string>{"A", "B"};
  EXPECT_TRUE(retries_after(policy, "B"));
  EXPECT_FALSE(retries_after(policy, "b"));
}

// After a failed attempt, a job waits for the delay that the policy gives for its number of retries.
TEST(RetryDelay, IsWhatAJobWaits) {
  for (const RetryPolicy& policy : {RetryPolicy{}, fixed({3, 0, 20}), exponential(1000, 2, 60'000, 0.5)}) {
    JobStore store;
    store.add(with(order("a"), [&](JobOrder& its) {
      its.policy = policy;
      its.max_retries = 4;
    }));
    for (std::int64_t n = 0; n < 4; ++n) {
      EXPECT_EQ(store.claim(), Texts{"a"});
      store.must(JobStart{"a", n + 1, {}});
      const Instant now = store.clock->now();
      EXPECT_EQ(store.must(failure("a", n + 1)).promise->job->next_retry_at, now + retry_delay(policy, "a", n));
      EXPECT_EQ(store.row("a")->job->retry_count, n + 1);
      store.clock->advance_to(now + retry_delay(policy, "a", n));
      EXPECT_EQ(store.job("a")->enqueued_at, now + retry_delay(policy, "a", n));
    }
    EXPECT_EQ(store.claim(), Texts{"a"});
    store.must(JobStart{"a", 5, {}});
    EXPECT_EQ(job_state_of(store.must(failure("a", 5))), JobState::archived);
  }
}

// The longest delays saturate at kNever; they do not overflow into the past.
TEST(RetryDelay, AJobMayWaitForEver) {
  for (const RetryPolicy& policy : {fixed({kLongest}), exponential(kLongest, 2, kLongest, 0)}) {
    JobStore store(checked(), 1000);
    store.start(with(order("a"), [&](JobOrder& its) { its.policy = policy; }));
    EXPECT_EQ(store.must(failure("a", 1)).promise->job->next_retry_at, kNever);
    EXPECT_EQ(store.state("a"), "retry");
    store.expect_no_violations();
  }
}

}  // namespace
}  // namespace resonate
