// Jobs that leave their group before it is ready: which job leads next, and when the other jobs are ready.
#include <gtest/gtest.h>

#include <functional>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

class LeftGroups : public GroupsOnEveryBackend {};

// Each way to leave a group, for the leader and for another member.
struct Leaving {
  const char* name;
  std::function<Operation(const std::string&)> request;
  const char* left;  // the state of the job afterwards
};
const Leaving kLeavings[] = {
    {"cancel", [](const std::string& id) { return JobCancel{only(id)}; }, "cancelled"},
    {"run", [](const std::string& id) { return JobRun{only(id)}; }, "pending"},
    {"archive", [](const std::string& id) { return JobArchive{only(id)}; }, "archived"},
    {"delete", [](const std::string& id) { return JobDelete{only(id)}; }, "gone"},
    {"resolve", [](const std::string& id) { return settlement(id); }, "completed"},
    {"reject", [](const std::string& id) { return settlement(id, "rejected"); }, "failed"},
    {"deadline", nullptr, "failed"},
    {"good_until", nullptr, "expired"},
};

TEST_P(LeftGroups, AreLeftInEveryWay) {
  for (const Leaving& way : kLeavings)
    for (const std::string leaves : {"b", "c", "a"}) {
      SCOPED_TRACE(std::string(way.name) + " of " + leaves);
      JobStore store = gathering();
      Instant at = 0;
      for (const char* id : {"b", "c", "a"}) {
        JobOrder order = grouped(id);
        if (id == leaves && !way.request) (way.left[0] == 'f' ? order.deadline : order.good_until.emplace()) = 30;
        store.add_at(at, order);
        at += 10;
      }
      EXPECT_EQ(store.gathering("b"), "scheduled " + batch(1) + " gathers, leads 3 of 0..20 until 120");
      if (way.request) {
        EXPECT_EQ(store.run(way.request(leaves), kNew, 30).status, status::kOk);
      } else {
        EXPECT_EQ(store.tick(30).size(), 1u);
      }
      EXPECT_EQ(store.gathering(leaves), way.left);
      const std::string leader = leaves == "b" ? "a" : "b";
      EXPECT_EQ(store.gathering(leader), "scheduled " + batch(1) + " gathers, leads 2 of 0..20 until 120");
      EXPECT_EQ(store.tick(1000), Texts{"job_batch " + leader + "@120 " + batch(1)});
      for (const std::string id : {"b", "c", "a"}) EXPECT_EQ(store.gathering(id), id == leaves ? way.left : "pending " + batch(1));
      store.expect_no_violations();
    }
}

TEST_P(LeftGroups, EndWithTheLastToLeave) {
  for (const Leaving& way : kLeavings) {
    if (!way.request) continue;
    SCOPED_TRACE(way.name);
    JobStore store = gathering();
    store.add(grouped("a"));
    store.add(grouped("b"));
    store.must(way.request("a"));
    store.must(way.request("b"));
    EXPECT_EQ(store.tick(10), Texts{});
    store.add(grouped("c"));
    EXPECT_EQ(store.gathering("c"), "scheduled " + batch(2) + " gathers, leads 1 of 10..10 until 110");
    EXPECT_EQ(store.tick(1000), Texts{"job_batch c@110 " + batch(2)});
  }
}

// A job that was claimed alone does not gather again after a snooze or a retry.
TEST_P(LeftGroups, AreNotJoinedByJobsThatRan) {
  JobStore store = gathering();
  for (const char* id : {"a", "b"}) {
    store.add(grouped(id));
    store.must(JobRun{only(id)});
    EXPECT_EQ(store.claim(), Texts{id});
    store.must(JobStart{id, 1, {}});
  }
  store.add(grouped("c"));
  store.must(JobSnooze{"a", 1, 50});
  JobFail failed = failure("b", 1);
  failed.retry_after = 50;
  store.must(failed);
  EXPECT_EQ(store.tick(50), (Texts{"job_ready a@50", "job_ready b@50"}));
  for (const char* id : {"a", "b"}) EXPECT_EQ(store.gathering(id), "pending");
  EXPECT_EQ(store.gathering("c"), "scheduled " + batch(3) + " gathers, leads 1 of 0..0 until 100");
  EXPECT_EQ(store.claim(), Texts{"a"});
}

// At one instant, jobs end before their group is ready.
TEST_P(LeftGroups, JobsThatEndWhenTheirGroupIsDue) {
  JobStore store = gathering();
  store.add(with(grouped("a"), [](JobOrder& its) { its.deadline = 100; }));
  store.add(with(grouped("b"), [](JobOrder& its) { its.good_until = 100; }));
  store.add(grouped("c"));
  EXPECT_EQ(store.tick(100), (Texts{"promise_timeout a@100", "job_expiry b@100", "job_batch c@100 " + batch(1)}));
  EXPECT_EQ(store.gathering("a"), "failed");
  EXPECT_EQ(store.gathering("b"), "expired");
  EXPECT_EQ(store.gathering("c"), "pending " + batch(1));
}

// The deadline of a member has passed, but its step has not run: the group counts the member, and no claim returns it.
TEST_P(LeftGroups, FilledWhileAMemberHasEnded) {
  JobStore store = gathering({3, 100, {}});
  store.add(with(grouped("a"), [](JobOrder& its) { its.deadline = 50; }));
  store.add(grouped("b"));
  store.add_at(60, grouped("c"));
  EXPECT_EQ(store.gathering("b"), "pending " + batch(1));
  EXPECT_EQ(store.state("a"), "failed");
  EXPECT_EQ(store.claim(9), (Texts{"b", "c"}));
}

TEST_P(LeftGroups, ARefusedAtomicBatchKeepsTheGroup) {
  JobStore store = gathering({3, 100, {}});
  store.add(grouped("a"));
  store.add(grouped("b"));
  const std::string before = store.digest();
  const std::vector<Request> requests = {
      {kNew, JobCancel{only("a")}}, {kNew, enqueue(grouped("c"))}, {kNew, enqueue(grouped("d"))}, {kNew, JobGet{"none"}}};
  store.engine->apply(requests, {}, Atomicity::all_or_nothing);
  EXPECT_EQ(store.digest(), before);
  store.add(grouped("e"));
  for (const char* id : {"a", "b", "e"}) EXPECT_EQ(store.gathering(id), "pending " + batch(1));
}

INSTANTIATE_TEST_SUITE_P(Backends, LeftGroups, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
