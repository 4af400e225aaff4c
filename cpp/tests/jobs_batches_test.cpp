// Batches: the jobs of a batch are claimed together and retried together. A claim may start the jobs that it returns.
#include <gtest/gtest.h>

#include "fake_jobs.hpp"
#include "machine/job_policy.hpp"

namespace resonate {
namespace {

using namespace fake;

JobClaim starting(std::int64_t start, std::int64_t count = 9) {
  JobClaim made = claim({"default"}, count, 10);
  made.start = start;
  made.run_lease = 70;
  return made;
}

class Batches : public JobsOnEveryBackend {
 protected:
  // Adds a batch of these jobs, ready to be claimed.
  static void add(JobStore& store, const std::vector<JobOrder>& orders) {
    store.must(gathers({std::ssize(orders), 100, {}}, orders.front().queue));
    for (const JobOrder& order : orders) store.add(order);
    EXPECT_EQ(store.job(*orders.front().id)->state, JobState::pending);
  }
  static void ready(JobStore& store, const Texts& ids, const std::string& queue = "default") {
    std::vector<JobOrder> orders;
    for (const std::string& id : ids) orders.push_back(grouped(id, "g", queue));
    add(store, orders);
  }
};

TEST_P(Batches, AreClaimedCompletely) {
  JobStore store = make();
  add(store, {grouped("d"), grouped("a"), with(grouped("c"), [](JobOrder& its) { its.priority = 7; }), grouped("b")});
  store.add(order("e"));
  ready(store, {"f", "g"});
  EXPECT_EQ(store.claim(1), (Texts{"c", "a", "b", "d"}));  // the first job in the order of claims, then the others by id
  for (const char* id : {"a", "b", "c", "d"}) EXPECT_EQ(store.gathering(id), "claimed " + batch(1));
  EXPECT_EQ(store.claim(2), (Texts{"e", "f", "g"}));
  EXPECT_EQ(store.claim(9), Texts{});
}

TEST_P(Batches, AreFewerThanWasAskedFor) {
  JobStore store = make();
  ready(store, {"a", "c"});
  store.add(order("b"));
  store.add(order("d"));
  store.add(order("e"));
  EXPECT_EQ(store.claim(4), (Texts{"a", "c", "b", "d"}));
  EXPECT_EQ(store.claim(4), Texts{"e"});
}

// The jobs of three batches alternate in the order of claims, and in the pages that storage returns.
TEST_P(Batches, ThatLieBetweenOneAnother) {
  JobStore store = make(Options{});
  store.must(gathers({50, 100, {}}));
  Texts wanted[3];
  for (int i = 0; i < 150; ++i) {
    const std::string id = "j" + std::to_string(100 + i);
    store.add(grouped(id, "g" + std::to_string(i % 3)));
    wanted[i % 3].push_back(id);
  }
  EXPECT_EQ(store.count(JobState::pending), 150);
  const auto replies = store.together({claim({"default"}, 4), claim({"default"}, 60)});
  EXPECT_EQ(ids_of(replies[0]), wanted[0]);
  Texts rest = wanted[1];
  rest.insert(rest.end(), wanted[2].begin(), wanted[2].end());
  EXPECT_EQ(ids_of(replies[1]), rest);
  EXPECT_EQ(store.claim(9), Texts{});
  store.expect_no_violations();
}

TEST_P(Batches, HoldClaimableJobsOnly) {
  JobStore store = make();
  ready(store, {"a", "b", "c", "d"});
  store.must(JobArchive{only("b")});
  store.must(JobCancel{only("c")});
  EXPECT_EQ(store.claim(), (Texts{"a", "d"}));
  store.must(JobRun{only("b")});
  EXPECT_EQ(store.gathering("b"), "pending " + batch(1));
  store.must(JobRelease{"d", 1});
  EXPECT_EQ(store.claim(), (Texts{"b", "d"}));
}

TEST_P(Batches, ThatWereReleasedComeTogetherAgain) {
  JobStore store = make();
  ready(store, {"a", "b", "c"});
  store.add(order("d"));
  EXPECT_EQ(store.claim(), (Texts{"a", "b", "c"}));
  store.must(JobRelease{"c", 1});
  store.must(JobRelease{"a", 1});
  EXPECT_EQ(store.claim(), (Texts{"a", "c"}));
  store.must(JobStart{"a", 2, {}});
  store.must(JobSnooze{"a", 2, 50});
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1));  // it no longer gathers
  store.must(JobRelease{"c", 2});
  EXPECT_EQ(store.tick(50), Texts{"job_ready a@50"});
  EXPECT_EQ(store.gathering("a"), "pending " + batch(1));
  EXPECT_EQ(store.claim(), (Texts{"c", "a"}));
  EXPECT_EQ(store.tick(1050).size(), 3u);  // leases
  EXPECT_EQ(store.claim(), (Texts{"b", "a", "c"}));
}

TEST_P(Batches, AreOneTurnOfTheirQueue) {
  JobStore store = make();
  ready(store, {"a0", "a1", "a2"}, "a");
  for (const char* id : {"a3", "a4"}) store.add(order(id, "a"));
  for (const char* id : {"b0", "b1", "b2"}) store.add(order(id, "b"));
  EXPECT_EQ(store.claim(5, {"a", "b"}), (Texts{"a0", "a1", "a2", "b0", "a3"}));
  EXPECT_EQ(store.claim(2, {"a", "b"}), (Texts{"b1", "a4"}));
}

TEST_P(Batches, AreOneTokenOfTheirRate) {
  JobStore store = make();
  QueueSet set = gathers({});
  set.rate = {true, RateLimit{1, 1000, 2}};
  store.must(set);
  ready(store, {"a", "b", "c"});
  ready(store, {"d", "e"});
  store.add(order("f"));
  const Reply reply = store.must(claim({"default"}, 9));
  EXPECT_EQ(ids_of(reply), (Texts{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(reply.jobs->next_at, 1000);
  EXPECT_EQ(store.queue()->level, 0);
  store.engine->tick(1000);
  EXPECT_EQ(ids_of(store.must(claim({"default"}, 9))).size(), 3u);  // the leases have expired, and the rate allows one batch
}

TEST_P(Batches, NeedRoomForOne) {
  JobStore store = make();
  ready(store, {"a", "b", "c"});
  ready(store, {"d", "e"});
  QueueSet narrow;
  narrow.queue = "default";
  narrow.concurrency = {true, 2};
  store.must(narrow);
  EXPECT_EQ(store.claim(9), (Texts{"a", "b", "c"}));
  EXPECT_EQ(store.queue()->active(), 3);
  for (const char* id : {"a", "b"}) {
    EXPECT_EQ(store.claim(9), Texts{});
    store.must(JobStart{id, 1, {}});
    store.must(JobComplete{id, 1, {}});
  }
  EXPECT_EQ(store.claim(9), (Texts{"d", "e"}));
}

TEST_P(Batches, StayInTheirScope) {
  JobStore store = make();
  ready(store, {"a.1", "b.1", "a.2", "b.2"});
  const Reply reply = store.engine->apply(Request{kNew, claim(), "b."});
  EXPECT_EQ(ids_of(reply), (Texts{"b.1", "b.2"}));
  EXPECT_EQ(store.claim(), (Texts{"a.1", "a.2"}));
}

TEST_P(Batches, OfOtherQueuesAreTheirOwn) {
  JobStore store = make();
  ready(store, {"a", "b"}, "q");
  ready(store, {"c", "d"});
  EXPECT_EQ(store.claim(1, {"default", "q"}), (Texts{"c", "d"}));
  store.must(QueuePause{"q"});
  EXPECT_EQ(store.claim(1, {"default", "q"}), Texts{});
}

// The jitter is computed for the batch, not for each job: jobs that fail at one instant retry at one instant.
TEST_P(Batches, RetryTogether) {
  RetryPolicy jitter;
  jitter.kind = PolicyKind::exponential;
  jitter.base = 1000;
  jitter.cap = 100'000;
  jitter.jitter = 1;
  RetryPolicy asynq;
  asynq.kind = PolicyKind::asynq;
  for (const RetryPolicy& policy : {jitter, asynq}) {
    const auto retrying = [&](JobOrder its) {
      its.policy = policy;
      its.max_retries = 5;
      return its;
    };
    JobStore store = make();
    add(store, {retrying(grouped("a")), retrying(grouped("b")), retrying(grouped("c"))});
    store.must(gathers({10, 100, {}}));
    store.add(retrying(grouped("z")));
    store.must(JobRun{only("z")});
    Instant now = 0;
    for (int retries = 0; retries < 3; ++retries) {
      const Duration delay = retry_delay(policy, batch(1), retries);
      EXPECT_NE(delay, retry_delay(policy, "a", retries));
      EXPECT_EQ(store.claim(1), (Texts{"a", "b", "c"}));
      for (const char* id : {"a", "b", "c"}) {
        store.must(JobStart{id, retries + 1, {}});
        store.must(failure(id, retries + 1));
        EXPECT_EQ(store.job(id)->next_retry_at, now + delay);
      }
      if (retries == 0) {
        EXPECT_EQ(store.claim(1), Texts{"z"});  // a job that left its group is claimed alone
        store.must(JobStart{"z", 1, {}});
        store.must(failure("z", 1));
        EXPECT_EQ(store.job("z")->next_retry_at, retry_delay(policy, "z", 0));
        store.must(JobCancel{only("z")});
      }
      now += delay;
      EXPECT_EQ(store.tick(now).size(), 3u);
    }
    // Jobs that crash at one instant also retry at one instant.
    store.must(starting(3));
    EXPECT_EQ(store.tick(now + 70).size(), 3u);
    for (const char* id : {"a", "b", "c"}) EXPECT_EQ(store.job(id)->next_retry_at, now + 70 + retry_delay(policy, batch(1), 3));
  }
}

TEST_P(Batches, WithinOneTransaction) {
  const auto join = [](const std::string& id, const std::string& queue = "default") { return enqueue(grouped(id, "g", queue)); };
  const std::vector<Operation> stored = {gathers({3, 100, {}}), join("b"), join("d"), join("f"), join("g")};
  EXPECT_EQ(statuses(stored, {claim(), JobRelease{"d", 1}, JobRelease{"b", 1}, claim(), join("a"), join("c"), claim(),
                              JobRelease{"c", 1}, JobDelete{only("c")}, join("c"), claim({"default"}, 1), JobRelease{"a", 1}}),
            (Codes{200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200}));
  // Jobs of the batch are deleted, archived or enqueued again before a claim.
  EXPECT_EQ(statuses(stored, {JobDelete{only("b")}, enqueue("b"), JobArchive{only("f")}, claim({"default"}, 1), JobRun{only("f")},
                              claim({"default"}, 1), JobGet{"f"}}),
            (Codes{200, 200, 200, 200, 200, 200, 200}));
  EXPECT_EQ(statuses(stored, {JobDelete{only("b")}, join("b", "q"), claim(), JobComplete{"d", 1, {}}, starting(1),
                              JobCancel{only("f")}, JobRelease{"d", 1}, claim()}),
            (Codes{200, 200, 200, 409, 200, 200, 200, 200}));
}

TEST_P(Batches, StartAsClaimsSay) {
  JobStore store = make();
  for (const char* id : {"d", "e"}) store.add(order(id));
  ready(store, {"a", "b", "c"});
  EXPECT_EQ(ids_of(store.must(starting(2, 1))), (Texts{"a", "b", "c"}));
  const auto states = [&] {
    Texts all;
    for (const char* id : {"a", "b", "c", "d", "e"}) all.push_back(store.state(id));
    return all;
  };
  EXPECT_EQ(states(), (Texts{"running", "running", "claimed", "pending", "pending"}));
  EXPECT_EQ(store.job("b")->attempts.size(), 1u);
  EXPECT_EQ(store.job("c")->attempts.size(), 0u);
  EXPECT_EQ(store.row("b")->expires_at, 70);
  EXPECT_EQ(store.row("c")->expires_at, 10);
  EXPECT_EQ(store.run(JobStart{"c", 1, {}}, kNew, 5).status, status::kOk);
  EXPECT_EQ(store.row("c")->expires_at, 75);
  EXPECT_EQ(store.run(JobStart{"a", 1, {}}).status, status::kConflict);
  EXPECT_EQ(ids_of(store.must(starting(100))), (Texts{"d", "e"}));  // more than there are jobs
  EXPECT_EQ(states(), Texts(5, "running"));
  for (const char* id : {"a", "b", "c", "d", "e"}) store.must(JobComplete{id, 1, {}});
  store.expect_no_violations();
}

TEST_P(Batches, OfOneStepStartWhateverIsSaid) {
  JobStore store = make();
  store.add(with(order("a"), [](JobOrder& its) { its.lifecycle = "horsies"; }));
  store.add(with(order("b"), [](JobOrder& its) { its.lifecycle = "asynq"; }));
  store.add(order("c"));
  store.add(order("d"));
  store.must(starting(1));
  EXPECT_EQ(store.state("a"), "running");
  EXPECT_EQ(store.state("b"), "running");
  EXPECT_EQ(store.state("c"), "claimed");
  EXPECT_EQ(store.state("d"), "claimed");
  EXPECT_EQ(store.run(starting(-1)).status, status::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(Backends, Batches, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
