// Properties of all jobs of a state together: the counts of queues, the holders of unique keys, the members of groups.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fake_job_rows.hpp"
#include "machine/job_invariants.hpp"

namespace resonate {
namespace {

using namespace fake;
using enum JobState;
using Names = std::set<std::string>;

Names broken(const std::vector<JobMaker>& jobs, Instant now = 10) {
  JobSetCheck census;
  std::map<std::string, std::map<JobState, std::int64_t>> counts;
  for (const JobMaker& job : jobs) {
    census.add(job.ref(), now);
    ++counts[job.spec.queue][job.job.state];
  }
  std::vector<QueueRef> queues;
  for (const auto& [name, its] : counts) {
    Shared<Queue> made(new Queue);
    made->name = name;
    for (const auto& [state, count] : its) made->counts[static_cast<std::size_t>(state)] = count;
    queues.emplace_back(std::move(made));
  }
  std::vector<Violation> found;
  census.check(queues, found);
  Names names;
  for (const Violation& violation : found) names.insert(violation.name);
  return names;
}

JobMaker with(JobMaker made, auto change) {
  change(made);
  return made;
}
JobMaker keyed(const std::string& id, JobState state = pending) {
  return with(JobMaker(state, id), [](JobMaker& its) { its.spec.unique_key = "K"; });
}
JobMaker in_queue(const std::string& queue, JobMaker made) {
  made.spec.queue = queue;
  return made;
}

TEST(CensusOfKeys, OneJobOfAQueueHoldsAKey) {
  const Names twice = {"job_unique_twice"};
  EXPECT_EQ(broken({}), Names{});
  EXPECT_EQ(broken({keyed("a")}), Names{});
  EXPECT_EQ(broken({keyed("a"), in_queue("other", keyed("b"))}), Names{});
  EXPECT_EQ(broken({keyed("a"), with(keyed("b"), [](JobMaker& its) { its.spec.unique_key = "L"; })}), Names{});
  for (const JobState state : {scheduled, pending, claimed, running, retry, archived})
    EXPECT_EQ(broken({keyed("a"), keyed("b", state)}), twice) << name_of(state);
  for (const JobState state : {completed, failed, cancelled, expired})
    EXPECT_EQ(broken({keyed("a"), keyed("b", state)}), Names{}) << name_of(state);
}

TEST(CensusOfKeys, AreHeldForAsLongAsWasAsked) {
  const JobMaker brief = with(keyed("a"), [](JobMaker& its) { its.spec.unique_for = 20; });  // sent at 1
  EXPECT_EQ(broken({brief, keyed("b")}, 20), Names{"job_unique_twice"});
  EXPECT_EQ(broken({brief, keyed("b")}, 21), Names{});
  const JobMaker stale = with(keyed("a"), [](JobMaker& its) { its.spec.good_until = 30; });  // counts as ended from 30 on
  EXPECT_EQ(broken({stale, keyed("b")}, 29), Names{"job_unique_twice"});
  EXPECT_EQ(broken({stale, keyed("b")}, 30), Names{});
}

TEST(SetCheckOfGroups, OneLeaderCountsTheMembers) {
  const Names wanted = {"job_flight_count"};
  const auto other = [](JobMaker made, auto change) { return with(std::move(made), change); };
  EXPECT_EQ(broken({leader("a", 1)}), Names{});
  EXPECT_EQ(broken({gatherer("a"), leader("b", 3), gatherer("c")}), Names{});
  EXPECT_EQ(broken({leader("a", 2)}), wanted);
  EXPECT_EQ(broken({leader("a", 1), gatherer("b")}), wanted);
  EXPECT_EQ(broken({gatherer("a")}), wanted);
  EXPECT_EQ(broken({leader("a", 2), leader("b", 2)}), wanted);
  EXPECT_EQ(broken({leader("a", 2), gatherer("b", "batch:2")}), wanted);
  EXPECT_EQ(broken({leader("a", 1), leader("b", 1, "batch:2")}), wanted);  // a group has at most one gathering batch
  // Another queue, type or name is another group.
  EXPECT_EQ(broken({leader("a", 1), in_queue("other", leader("b", 1, "batch:2"))}), Names{});
  EXPECT_EQ(broken({leader("a", 1), other(leader("b", 1), [](JobMaker& its) { its.spec.type = "rest"; })}), Names{});
  EXPECT_EQ(broken({leader("a", 1), other(leader("b", 1), [](JobMaker& its) { its.spec.group = shared("G"); })}), Names{});
  // Jobs that no longer gather do not count as members of the group.
  EXPECT_EQ(broken({leader("a", 1), gatherer("b", "batch:1", pending), gatherer("c", "batch:2", retry)}), Names{});
}

TEST(CensusOfQueues, CountTheirJobs) {
  JobSetCheck census;
  census.add(JobMaker(pending).ref(), 10);
  std::vector<Violation> found;
  census.check({queue("q", {{pending, 2}})}, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "queue_count_mismatch");
  EXPECT_EQ(found[0].detail, "2 pending counted, 1 found");
}

}  // namespace
}  // namespace resonate
