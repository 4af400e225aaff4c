// job.claim (JOBS 3): the order of claims, the limits of queues, the scope of a claim, and the instant of the next possible claim.
#include <gtest/gtest.h>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

JobClaim weighted(std::vector<QueueChoice> queues, std::int64_t count = 1) {
  JobClaim made = claim({}, count);
  made.queues = std::move(queues);
  return made;
}
QueueSet settings(const std::string& queue) {
  QueueSet set;
  set.queue = queue;
  return set;
}
QueueSet limited(const std::string& queue, RateLimit rate) {
  QueueSet set = settings(queue);
  set.rate = {true, rate};
  return set;
}
JobOrder prior(const std::string& id, int priority) {
  return with(order(id), [&](JobOrder& its) { its.priority = priority; });
}

class Claims : public JobsOnEveryBackend {
 protected:
  // "a0", "a1"... of queue "a", and so on.
  static void fill(JobStore& store, const std::vector<std::string>& queues, int each) {
    for (int i = 0; i < each; ++i)
      for (const std::string& queue : queues) store.add(order(queue + std::to_string(i), queue));
  }
};

TEST_P(Claims, GoByPriorityThenTimeThenId) {
  JobStore store = make();
  store.add(prior("z", 50));
  store.add(prior("m", 100));
  store.add(prior("c", 50));
  store.engine->tick(10);
  store.add(prior("a", 50));
  store.add(prior("y", 1));
  EXPECT_EQ(store.claim(3), (Texts{"y", "c", "z"}));
  EXPECT_EQ(store.claim(10), (Texts{"a", "m"}));
  EXPECT_EQ(store.claim(10), Texts{});
}

// Stored jobs and jobs that the same transaction enqueued are claimed in one common order.
TEST_P(Claims, SeeTheirOwnTransaction) {
  JobStore store = make();
  for (const char* id : {"b", "d", "f"}) store.add(order(id));
  store.add(prior("last", 90));
  const auto replies = store.together({claim({"default"}, 1), enqueue("a"), enqueue("e"), enqueue(prior("first", 10)), enqueue("g"),
                                       claim({"default"}, 4), JobRelease{"d", 1}, JobDelete{only("f")}, claim({"default"}, 9)});
  EXPECT_EQ(ids_of(replies[0]), Texts{"b"});
  EXPECT_EQ(ids_of(replies[5]), (Texts{"first", "a", "d", "e"}));
  EXPECT_EQ(ids_of(replies[8]), (Texts{"d", "g", "last"}));
  EXPECT_EQ(store.row("d")->acquisitions, 2);
  store.expect_no_violations();
}

TEST_P(Claims, GiveNoJobTwice) {
  JobStore store = make();
  for (int i = 0; i < 40; ++i) store.add(order("j" + std::to_string(100 + i)));
  Texts given;
  std::vector<Operation> claims;
  for (const int count : {1, 7, 16, 3, 20}) claims.emplace_back(claim({"default"}, count));
  for (const Reply& reply : store.together(claims))
    for (const std::string& id : ids_of(reply)) given.push_back(id);
  ASSERT_EQ(given.size(), 40u);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(given[static_cast<std::size_t>(i)], "j" + std::to_string(100 + i));
  EXPECT_EQ(store.count(JobState::claimed), 40);
}

// The example of nginx for its smooth weighted round robin: weights 5, 1 and 1.
TEST_P(Claims, TakeTurnsByWeight) {
  const Texts wanted = {"a0", "a1", "b0", "a2", "c0", "a3", "a4"};
  const std::vector<QueueChoice> queues = {{"a", 5}, {"b", {}}, {"c", {}}};
  JobStore one = make();
  fill(one, {"a", "b", "c"}, 8);
  EXPECT_EQ(ids_of(one.must(weighted(queues, 7))), wanted);
  JobStore many = make();
  fill(many, {"a", "b", "c"}, 8);
  Texts given;
  for (int i = 0; i < 7; ++i) given.push_back(ids_of(many.must(weighted(queues)))[0]);
  EXPECT_EQ(given, wanted);
  EXPECT_EQ(one.digest(), many.digest());  // the position in the round is stored
  for (const char* queue : {"a", "b", "c"}) EXPECT_EQ(one.queue(queue)->current, 0);
}

TEST_P(Claims, AWeightMayBeTheQueuesOwn) {
  JobStore store = make();
  fill(store, {"a", "b"}, 8);
  QueueSet heavy = settings("b");
  heavy.weight = 3;
  store.must(heavy);
  EXPECT_EQ(store.claim(4, {"a", "b"}), (Texts{"b0", "a0", "b1", "b2"}));
  EXPECT_EQ(ids_of(store.must(weighted({{"a", {}}, {"b", 1}}, 2))), (Texts{"a1", "b3"}));  // on a tie, the given order decides
}

TEST_P(Claims, AnEmptyQueueHasNoTurn) {
  JobStore store = make();
  fill(store, {"a"}, 3);
  store.add(order("b0", "b"));
  store.must(QueuePause{"b"});
  EXPECT_EQ(store.claim(9, {"unknown", "b", "a"}), (Texts{"a0", "a1", "a2"}));
  EXPECT_EQ(store.queue("a")->current, 0);
  EXPECT_EQ(store.queue("unknown"), nullptr);
  store.must(QueueResume{"b"});
  EXPECT_EQ(store.claim(9, {"b"}), Texts{"b0"});
}

TEST_P(Claims, StrictOrderServesTheFirstFirst) {
  JobStore store = make();
  fill(store, {"a", "b"}, 3);
  JobClaim strict = claim({"b", "a"}, 4);
  strict.strict = true;
  EXPECT_EQ(ids_of(store.must(strict)), (Texts{"b0", "b1", "b2", "a0"}));
  store.add(order("b9", "b"));
  EXPECT_EQ(ids_of(store.must(strict)), (Texts{"b9", "a1", "a2"}));
}

TEST_P(Claims, ConcurrencyCountsWhatIsHeld) {
  JobStore store = make();
  fill(store, {"a"}, 6);
  QueueSet narrow = settings("a");
  narrow.concurrency = {true, 2};
  store.must(narrow);
  EXPECT_EQ(store.claim(9, {"a"}), (Texts{"a0", "a1"}));
  EXPECT_EQ(store.claim(9, {"a"}), Texts{});
  store.must(JobStart{"a0", 1, {}});
  EXPECT_EQ(store.claim(9, {"a"}), Texts{});
  store.must(JobComplete{"a0", 1, {}});
  store.must(JobRelease{"a1", 1});
  EXPECT_EQ(store.claim(9, {"a"}), (Texts{"a1", "a2"}));
  const auto replies = store.together({JobCancel{only("a1")}, claim({"a"}, 9), JobCancel{only("a2")}, claim({"a"}, 9)});
  EXPECT_EQ(ids_of(replies[1]), Texts{"a3"});
  EXPECT_EQ(ids_of(replies[3]), Texts{"a4"});
  QueueSet wide = settings("a");
  wide.concurrency = {true, {}};
  store.must(wide);
  EXPECT_EQ(store.claim(9, {"a"}), Texts{"a5"});
}

// The rate is two claims per second, with a burst of three: no second holds more than three.
TEST_P(Claims, ARateIsABucketThatRefills) {
  JobStore store = make();
  fill(store, {"a"}, 20);
  store.must(limited("a", {2, 1000, 3}));
  const auto next_at = [](const Reply& reply) { return reply.jobs->next_at; };
  EXPECT_EQ(next_at(store.must(claim({"a"}, 3))), kUnset);  // the claim got all jobs that it asked for
  Reply none = store.must(claim({"a"}, 3));
  EXPECT_EQ(none.rows.size(), 0u);
  EXPECT_EQ(next_at(none), 1000);
  store.engine->tick(999);
  EXPECT_EQ(next_at(store.must(claim({"a"}))), 1000);
  store.engine->tick(1200);
  Reply one = store.must(claim({"a"}, 3));
  EXPECT_EQ(one.rows.size(), 2u);
  EXPECT_EQ(next_at(one), 1500);  // the 200 ms after 1000 count for the next token
  store.engine->tick(1'000'000);
  one = store.must(claim({"a"}, 9));
  EXPECT_EQ(one.rows.size(), 3u);  // at most the burst
  EXPECT_EQ(next_at(one), 1'001'000);
  store.must(limited("a", {2, 1000, 3}));  // the same rate leaves the bucket as it is
  EXPECT_EQ(store.must(claim({"a"}, 9)).rows.size(), 0u);
  store.must(limited("a", {1, 3, 1}));  // another rate fills the bucket
  EXPECT_EQ(store.must(claim({"a"}, 9)).rows.size(), 1u);
  QueueSet unlimited = settings("a");
  unlimited.rate = {true, {}};
  store.must(unlimited);
  EXPECT_EQ(store.must(claim({"a"}, 99)).rows.size(), 16u);
  EXPECT_TRUE(store.queue("a")->claims.empty());
  store.expect_no_violations();
}

TEST_P(Claims, TheRecordOfARateStaysShort) {
  JobStore store = make();
  fill(store, {"a"}, 3000);
  store.must(limited("a", {1000, 6000, 1000}));
  std::size_t claimed = 0;
  for (Instant now = 0; claimed < 3000; now += 7) {
    store.engine->tick(now);
    claimed += store.must(claim({"a"}, 5)).rows.size();
    ASSERT_LE(store.queue("a")->claims.size(), 62u);
  }
  store.expect_no_violations();
}

TEST_P(Claims, ARateThatDoesNotDivideRoundsUp) {
  JobStore store = make();
  fill(store, {"a"}, 5);
  store.must(limited("a", {3, 1000, 1}));
  EXPECT_EQ(store.must(claim({"a"})).rows.size(), 1u);
  EXPECT_EQ(store.must(claim({"a"})).jobs->next_at, 334);
  store.engine->tick(333);
  EXPECT_EQ(store.must(claim({"a"})).rows.size(), 0u);
  store.engine->tick(334);
  EXPECT_EQ(store.must(claim({"a"})).rows.size(), 1u);
}

TEST_P(Claims, NextAtIsOfQueuesThatLackNothingElse) {
  JobStore store = make();
  fill(store, {"a", "b", "c"}, 4);
  for (const char* queue : {"a", "b", "c"}) store.must(limited(queue, {1, queue[0] == 'a' ? 1000 : 100, 1}));
  EXPECT_EQ(store.must(claim({"a", "b", "c"}, 3)).rows.size(), 3u);
  EXPECT_EQ(store.must(claim({"a", "b", "c"})).jobs->next_at, 100);
  store.must(QueuePause{"b"});
  QueueSet narrow = settings("c");
  narrow.concurrency = {true, 1};
  store.must(narrow);
  EXPECT_EQ(store.must(claim({"a", "b", "c"})).jobs->next_at, 1000);
  EXPECT_EQ(store.must(claim({"b", "c", "none"})).jobs->next_at, kUnset);
}

TEST_P(Claims, LongestRatesDoNotOverflow) {
  JobStore store = make();
  fill(store, {"a"}, 3);
  store.must(limited("a", {1'000'000, 366LL * 86'400'000, 1'000'000}));
  EXPECT_EQ(store.must(claim({"a"}, 2)).rows.size(), 2u);
  store.engine->tick(kNever - 1);
  EXPECT_EQ(store.must(claim({"a"}, 2)).rows.size(), 2u);  // the leases have expired long ago
  EXPECT_EQ(store.queue("a")->level, (1'000'000 - 2) * 366LL * 86'400'000);
}

TEST_P(Claims, TakeTheStepsThatAreDueFirst) {
  JobStore store = make();
  store.add(with(order("late"), [](JobOrder& its) { its.good_until = 10; }));
  store.add(with(order("soon"), [](JobOrder& its) { its.process_at = 10; }));
  store.start(with(order("slow"), [](JobOrder& its) {
    its.timeout = 10;
    its.policy = fixed({0});
    its.priority = 1;
  }));
  EXPECT_EQ(ids_of(store.run(claim({"default"}, 9), kNew, 10)), (Texts{"slow", "soon"}));
  EXPECT_EQ(store.state("late"), "expired");
  EXPECT_EQ(store.job("slow")->retry_count, 1);
}

// A job of one step gets the lease of a run when it is claimed; a job of two steps gets it when it starts.
TEST_P(Claims, LeasesOfOneStepAndOfTwo) {
  JobStore store = make();
  store.add(with(order("one"), [](JobOrder& its) { its.lifecycle = "asynq"; }));
  store.add(order("two"));
  JobClaim both = claim({"default"}, 2, 10);
  both.run_lease = 70;
  store.must(both);
  EXPECT_EQ(store.state("one"), "running");
  EXPECT_EQ(store.row("one")->expires_at, 70);
  EXPECT_EQ(store.job("one")->attempts.size(), 1u);
  EXPECT_EQ(store.state("two"), "claimed");
  EXPECT_EQ(store.row("two")->expires_at, 10);
  EXPECT_EQ(store.run(JobStart{"two", 1, {}}, kNew, 5).status, status::kOk);
  EXPECT_EQ(store.row("two")->expires_at, 75);
}

// A claim with a scope skips the jobs whose ids do not begin with the scope.
TEST_P(Claims, StayInTheirScope) {
  JobStore store = make();
  for (const char* id : {"a.1", "b.1", "a.2", "b.2"}) store.add(order(id));
  const Reply reply = store.engine->apply(Request{kNew, claim({"default"}, 9), "b."});
  EXPECT_EQ(ids_of(reply), (Texts{"b.1", "b.2"}));
  EXPECT_EQ(store.claim(9), (Texts{"a.1", "a.2"}));
}

TEST_P(Claims, RefuseWhatMakesNoSense) {
  JobStore store = make();
  JobClaim nobody = claim();
  nobody.worker = "";
  JobClaim soon = claim();
  soon.run_lease = 0;
  for (const Operation& request :
       {Operation(claim({})), Operation(claim({"a", "a"})), Operation(claim({"a"}, 0)), Operation(claim({"a"}, 10'001)),
        Operation(claim({"a"}, 1, 0)), Operation(nobody), Operation(soon), Operation(weighted({{"a", 0}})),
        Operation(weighted({{"a", 1001}})), Operation(claim({""}))})
    EXPECT_EQ(store.run(request).status, status::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(Backends, Claims, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
