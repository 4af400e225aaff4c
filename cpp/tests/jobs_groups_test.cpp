// Groups (decision 14): jobs gather until the group is full, no job has joined for the grace, or the maximum delay has passed.
// Jobs that leave their group earlier: jobs_groups_leaving_test.cpp. The claims of batches: jobs_batches_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

JobOrder after(JobOrder order, Duration process_in) {
  order.process_in = process_in;
  return order;
}

class Groups : public GroupsOnEveryBackend {};

TEST_P(Groups, GatherUntilNoneHasJoinedForAWhile) {
  JobStore store = gathering();
  const Reply first = store.add(grouped("a"));
  EXPECT_EQ(job_state_of(first), JobState::scheduled);
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1) + " gathers, leads 1 of 0..0 until 100");
  EXPECT_EQ(store.job("a")->process_at, kUnset);
  EXPECT_EQ(store.job("a")->enqueued_at, kUnset);
  EXPECT_EQ(store.engine->next_due(), 100);
  store.add_at(30, grouped("b"));
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1) + " gathers, leads 2 of 0..30 until 130");
  EXPECT_EQ(store.gathering("b"), "scheduled " + batch(1) + " gathers");
  EXPECT_EQ(store.count(JobState::scheduled), 2);
  EXPECT_EQ(store.claim(9), Texts{});
  EXPECT_EQ(store.tick(129), Texts{});
  EXPECT_EQ(store.tick(130), Texts{"job_batch a@130 " + batch(1)});
  for (const char* id : {"a", "b"}) {
    EXPECT_EQ(store.gathering(id), "pending " + batch(1));
    EXPECT_EQ(store.job(id)->enqueued_at, 130);
  }
  EXPECT_EQ(store.count(JobState::pending), 2);
  store.add(grouped("c"));  // a and b no longer gather
  EXPECT_EQ(store.gathering("c"), "scheduled " + batch(2) + " gathers, leads 1 of 130..130 until 230");
}

TEST_P(Groups, WaitNoLongerThanTheirDelay) {
  JobStore store = gathering({10, 100, 150});
  store.add(grouped("a"));
  store.add_at(90, grouped("b"));
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1) + " gathers, leads 2 of 0..90 until 150");
  store.add_at(140, grouped("c"));
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1) + " gathers, leads 3 of 0..140 until 150");
  EXPECT_EQ(store.tick(1000), Texts{"job_batch a@150 " + batch(1)});
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(store.job(id)->enqueued_at, 150);
}

TEST_P(Groups, AreReadyWhenTheyAreEnough) {
  JobStore store = gathering({3, 100, {}});
  store.add(grouped("b"));
  store.add_at(5, grouped("c"));
  const Reply last = store.add_at(7, grouped("a"));
  EXPECT_EQ(job_state_of(last), JobState::pending);
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_EQ(store.gathering(id), "pending " + batch(1));
    EXPECT_EQ(store.job(id)->enqueued_at, 7);
  }
  store.add_at(8, grouped("d"));
  EXPECT_EQ(store.gathering("d"), "scheduled " + batch(2) + " gathers, leads 1 of 8..8 until 108");
  EXPECT_EQ(store.tick(200), Texts{"job_batch d@108 " + batch(2)});
}

TEST_P(Groups, OfOneAreReadyAtOnceEachByItself) {
  JobStore store = gathering({1, 100, {}});
  store.add(grouped("a"));
  store.add(grouped("b"));
  EXPECT_EQ(store.gathering("a"), "pending " + batch(1));
  EXPECT_EQ(store.gathering("b"), "pending " + batch(2));
}

// A group without a grace is due at once: the next step or the next job of the group makes it ready.
TEST_P(Groups, WithoutAGraceAreReadyByTheNextStep) {
  JobStore store = gathering({10, 0, {}});
  const auto replies = store.together({enqueue(grouped("a")), enqueue(grouped("b"))});
  for (const Reply& reply : replies) EXPECT_EQ(job_state_of(reply), JobState::scheduled);
  EXPECT_EQ(store.gathering("a"), "pending " + batch(1));
  EXPECT_EQ(store.gathering("b"), "pending " + batch(2));
  JobEnqueueMany many;
  many.orders = {grouped("c"), grouped("d")};
  const Reply both = store.must(many);
  for (const JobReply::Item& item : both.jobs->items) EXPECT_EQ(item.row->job->state, JobState::scheduled);
  EXPECT_EQ(store.gathering("c"), "pending " + batch(3));
  EXPECT_EQ(store.gathering("d"), "pending " + batch(4));
}

TEST_P(Groups, AreOfOneQueueTypeAndName) {
  JobStore store = gathering();
  store.must(gathers({10, 100, {}}, "q"));
  const auto typed = [](JobOrder order, const std::string& type) {
    order.type = type;
    return order;
  };
  const std::vector<JobOrder> apart = {typed(grouped("1", "bc"), "a"), typed(grouped("2", "c"), "ab"),
                                       typed(grouped("3", "bc", "q"), "a"), typed(grouped("4", "\xc3\xa9\"\n"), "a"),
                                       typed(grouped("5", "2:abc"), "1:")};
  for (const JobOrder& order : apart) store.add(order);
  for (const JobOrder& order : apart) {
    EXPECT_EQ(store.gathering(*order.id), "scheduled " + batch(std::stoi(*order.id)) + " gathers, leads 1 of 0..0 until 100");
    JobOrder again = order;
    again.id = *order.id + "+";
    store.add(again);
    EXPECT_EQ(store.gathering(*again.id), "scheduled " + batch(std::stoi(*order.id)) + " gathers");
  }
  store.add(order("alone"));
  EXPECT_EQ(store.gathering("alone"), "pending");
  EXPECT_EQ(store.tick(100).size(), apart.size());
}

TEST_P(Groups, OfAQueueThatWasNeverSet) {
  JobStore store = make(Options{});
  std::vector<Operation> most;
  for (int i = 1; i < kMostGathered; ++i) most.emplace_back(enqueue(grouped("j" + std::to_string(10'000 + i))));
  store.together(most);
  EXPECT_EQ(store.gathering("j10001"), "scheduled " + batch(1) + " gathers, leads 999 of 0..0 until 60000");
  EXPECT_EQ(store.count(JobState::scheduled), 999);
  store.expect_no_violations();
  store.add(grouped("last"));
  EXPECT_EQ(store.count(JobState::pending), 1000);
  store.expect_no_violations();
  EXPECT_EQ(store.claim(1).size(), 1000u);
  store.expect_no_violations();
}

TEST_P(Groups, SettingsCountFromTheNextJoinOn) {
  JobStore store = gathering();
  store.add(grouped("a"));
  store.must(gathers({10, 500, {}}));
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1) + " gathers, leads 1 of 0..0 until 100");
  store.add_at(50, grouped("b"));
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1) + " gathers, leads 2 of 0..50 until 550");
  store.must(gathers({10, 500, 40}));
  store.add_at(60, grouped("c"));  // the new delay ended at 40, before c joined
  EXPECT_EQ(store.tick(60), Texts{});
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(store.job(id)->enqueued_at, 60);
  store.must(gathers({3, 500, {}}));
  store.add(grouped("d"));
  store.add(grouped("e"));
  store.must(gathers({2, 500, {}}));
  EXPECT_EQ(store.gathering("d"), "scheduled " + batch(2) + " gathers, leads 2 of 60..60 until 560");
  store.add(grouped("f"));
  EXPECT_EQ(store.gathering("f"), "pending " + batch(2));
  store.must(gathers({10, kNever, {}}));
  store.add(grouped("g"));  // the sum saturates at kNever
  EXPECT_EQ(store.gathering("g"), "scheduled " + batch(3) + " gathers, leads 1 of 60..60 until " + std::to_string(kNever));
  QueueSet unset;
  unset.queue = "default";
  unset.groups = {true, {}};
  EXPECT_EQ(store.must(unset).jobs->queues.at(0)->groups, std::nullopt);
  store.add(grouped("h"));
  EXPECT_EQ(store.gathering("g"), "scheduled " + batch(3) + " gathers, leads 2 of 60..60 until 60060");
}

TEST_P(Groups, AreJoinedWhenTheirInstantHasCome) {
  JobStore store = gathering();
  store.add(after(grouped("b"), 50));
  store.add(after(grouped("now"), 0));
  EXPECT_EQ(store.gathering("b"), "scheduled");
  EXPECT_EQ(store.gathering("now"), "scheduled " + batch(1) + " gathers, leads 1 of 0..0 until 100");
  EXPECT_EQ(store.job("now")->process_at, 0);
  EXPECT_EQ(store.tick(50), Texts{"job_ready b@50"});
  EXPECT_EQ(store.gathering("b"), "scheduled " + batch(1) + " gathers");
  EXPECT_EQ(store.gathering("now"), "scheduled " + batch(1) + " gathers, leads 2 of 0..50 until 150");
  EXPECT_EQ(store.job("b")->process_at, 50);
  EXPECT_EQ(store.job("b")->enqueued_at, kUnset);
  store.must(gathers({1, 0, {}}));
  store.add(after(grouped("c"), 20));
  EXPECT_EQ(store.tick(70), Texts{"job_ready c@70"});  // c joins, and the same step makes the whole group ready
  for (const char* id : {"b", "now", "c"}) EXPECT_EQ(store.gathering(id), "pending " + batch(1));
}

// A store reaches the same state whether its steps run on time or late.
TEST_P(Groups, LateStepsComeToTheSame) {
  JobStore timely = gathering({3, 100, 150});
  JobStore late = gathering({3, 100, 150});
  for (JobStore* store : {&timely, &late})
    for (int i = 0; i < 12; ++i) store->add(after(grouped("j" + std::to_string(i)), (i * i * 37) % 600));
  Texts steps;
  for (auto due = timely.engine->next_due(); due && *due <= 1000; due = timely.engine->next_due())
    for (std::string& text : timely.tick(*due)) steps.push_back(std::move(text));
  timely.tick(1000);
  EXPECT_EQ(late.tick(1000), steps);
  EXPECT_EQ(timely.digest(), late.digest());
  EXPECT_EQ(late.count(JobState::pending), 12);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(late.gathering("j" + std::to_string(i)), timely.gathering("j" + std::to_string(i)));
}

// A request runs before the steps that are due at its instant.
TEST_P(Groups, ThatAreDueAreJoinedNoMore) {
  JobStore store = gathering();
  store.add(grouped("a"));
  store.add(grouped("b"));
  store.add_at(250, grouped("c"));
  for (const char* id : {"a", "b"}) {
    EXPECT_EQ(store.gathering(id), "pending " + batch(1));
    EXPECT_EQ(store.job(id)->enqueued_at, 100);
  }
  EXPECT_EQ(store.gathering("c"), "scheduled " + batch(2) + " gathers, leads 1 of 250..250 until 350");
  store.add_at(350, grouped("d"));  // at the instant at which the group of c is due
  EXPECT_EQ(store.gathering("c"), "pending " + batch(2));
  EXPECT_EQ(store.gathering("d"), "scheduled " + batch(3) + " gathers, leads 1 of 350..350 until 450");
}

// No job is ready before it was sent.
TEST_P(Groups, FilledByALateOneAreReadyAsOfTheLast) {
  JobStore store = gathering({2, 5000, {}});
  store.add(after(grouped("late"), 100));
  store.add_at(2000, grouped("a"));  // then the step of "late" runs
  for (const char* id : {"late", "a"}) {
    EXPECT_EQ(store.gathering(id), "pending " + batch(1));
    EXPECT_EQ(store.job(id)->enqueued_at, 2000);
  }
  store.must(gathers({3, 5000, {}}));
  store.add(after(grouped("soon"), 100));
  store.add_at(2500, grouped("b"));
  EXPECT_EQ(store.gathering("b"), "scheduled " + batch(2) + " gathers, leads 2 of 2500..2500 until 7500");
}

TEST_P(Groups, AJobThatHasEndedAtCreationJoinsNoGroup) {
  JobStore store = make(checked(), 50);
  store.must(gathers({2, 100, {}}));
  store.add(with(grouped("stale"), [](JobOrder& its) { its.good_until = 50; }));
  store.add(with(grouped("dead"), [](JobOrder& its) { its.deadline = 50; }));
  store.add(grouped("a"));
  EXPECT_EQ(store.gathering("stale"), "expired");
  EXPECT_EQ(store.gathering("dead"), "failed");
  EXPECT_EQ(store.gathering("a"), "scheduled " + batch(1) + " gathers, leads 1 of 50..50 until 150");
}

TEST_P(Groups, NumbersOfBatchesAndIdsAreOneCount) {
  JobStore store = gathering({2, 100, {}});
  JobOrder unnamed = grouped("");
  unnamed.id.reset();
  const Reply first = store.add(unnamed);
  EXPECT_EQ(first.promise->id(), "job:0000000000000001");
  EXPECT_EQ(first.promise->job->batch->text, batch(2));
  EXPECT_EQ(store.add(unnamed).promise->id(), "job:0000000000000003");
  EXPECT_EQ(store.add(unnamed).promise->id(), "job:0000000000000004");
  EXPECT_EQ(store.gathering("job:0000000000000004"), "scheduled " + batch(5) + " gathers, leads 1 of 0..0 until 100");
}

TEST_P(Groups, HoldKeysAndMayBeAdopted) {
  JobStore store = gathering();
  store.create("awaited");
  store.add(grouped("awaited"));
  JobOrder held = grouped("held");
  held.unique_key = "K";
  store.add(held);
  EXPECT_EQ(store.gathering("awaited"), "scheduled " + batch(1) + " gathers, leads 2 of 0..0 until 100");
  EXPECT_EQ(store.run(enqueue(keyed("other", "K"))).status, status::kConflict);
  EXPECT_EQ(store.must(enqueue(grouped("held"))).status, status::kOk);  // a repeated enqueue of the same job joins no group
  EXPECT_EQ(store.gathering("awaited"), "scheduled " + batch(1) + " gathers, leads 2 of 0..0 until 100");
  store.must(QueuePause{"default"});
  EXPECT_EQ(store.tick(100), Texts{"job_batch awaited@100 " + batch(1)});  // a pause stops only claims
}

TEST_P(Groups, AreFoundByTheirName) {
  JobStore store = gathering();
  store.must(gathers({10, 100, {}}, "q"));
  for (const char* id : {"a", "b"}) store.add(grouped(id));
  store.add(grouped("other", "G"));
  store.add(grouped("elsewhere", "g", "q"));
  store.add(order("alone"));
  const auto of = [](const std::string& group, std::optional<std::string> state = {}, std::optional<std::string> queue = {}) {
    JobFilter filter;
    filter.group = group;
    filter.state = std::move(state);
    filter.queue = std::move(queue);
    return filter;
  };
  const auto found = [&](JobFilter filter) {
    JobSearch search;
    search.filter = std::move(filter);
    return ids_of(store.must(search));
  };
  EXPECT_EQ(found(of("g")), (Texts{"a", "b", "elsewhere"}));
  EXPECT_EQ(found(of("g", "scheduled", "default")), (Texts{"a", "b"}));
  EXPECT_EQ(found(of("G")), Texts{"other"});
  EXPECT_EQ(found(of("none")), Texts{});
  EXPECT_EQ(store.must(JobRun{of("g", "scheduled", "default")}).jobs->count, 2);  // like asynq's RunAllAggregatingTasks
  EXPECT_EQ(store.gathering("a"), "pending");
  EXPECT_EQ(store.gathering("b"), "pending");
  EXPECT_EQ(store.must(JobArchive{of("g", "scheduled")}).jobs->count, 1);
  EXPECT_EQ(store.must(JobDelete{of("g", "archived")}).jobs->count, 1);
  EXPECT_EQ(store.must(JobCancel{of("G")}).jobs->count, 1);
  EXPECT_EQ(store.tick(1000), Texts{});
  store.expect_no_violations();
}

TEST_P(Groups, WithinOneTransaction) {
  const std::vector<Operation> settings = {gathers({3, 100, {}}), gathers({3, 0, {}}, "q")};
  const auto join = [](const std::string& id, const std::string& queue = "default") { return enqueue(grouped(id, "g", queue)); };
  const auto all_ok = [](const Codes& codes) { return std::count(codes.begin(), codes.end(), 200) == std::ssize(codes); };
  EXPECT_TRUE(all_ok(statuses(settings, {join("c"), join("a"), JobCancel{only("c")}, join("b"), join("d"), join("e"), claim(),
                                         JobRelease{"b", 1}, join("f"), JobDelete{only("e")}, JobArchive{only("f")}, join("g")})));
  // The gathering group is stored; its leader is deleted and enqueued again, and then no longer leads.
  std::vector<Operation> stored = settings;
  stored.insert(stored.end(), {join("b"), join("c")});
  EXPECT_TRUE(all_ok(statuses(stored, {JobDelete{only("b")}, join("b"), JobGet{"c"}, join("a"), claim(), JobGet{"b"}})));
  EXPECT_TRUE(all_ok(statuses(stored, {JobDelete{only("b")}, JobDelete{only("c")}, join("c"), join("b", "q"), join("a")})));
  EXPECT_TRUE(all_ok(statuses(stored, {JobRun{only("c")}, JobRun{only("b")}, join("a"), claim({"default"}, 1), join("d")})));
  EXPECT_TRUE(all_ok(statuses(stored, {join("x", "q"), join("y", "q"), claim({"q"}), JobDelete{only("y")}, join("y"), claim()})));
}

TEST_P(Groups, RefuseWhatMakesNoSense) {
  JobStore store = make();
  JobFilter nameless;
  nameless.group = "";
  JobSearch search;
  search.filter = nameless;
  JobFilter both = only("a");
  both.group = "g";
  for (const Operation& request :
       {Operation(enqueue(grouped("a", ""))), Operation(gathers({0, 0, {}})), Operation(gathers({1001, 0, {}})),
        Operation(gathers({1, -1, {}})), Operation(gathers({1, 0, 0})), Operation(search), Operation(JobCancel{nameless}),
        Operation(JobCancel{both})})
    EXPECT_EQ(store.run(request).status, status::kInvalid);
  EXPECT_EQ(store.queue(), nullptr);
  JobEnqueueMany many;
  many.orders = {grouped("a", ""), grouped("b")};
  const Reply reply = store.must(many);
  EXPECT_EQ(reply.jobs->items[0].status, status::kInvalid);
  EXPECT_EQ(reply.jobs->items[1].status, status::kOk);
  for (const GroupLimits limits : {GroupLimits{1, 0, 1}, GroupLimits{1000, kNever, kNever}}) {
    const Reply set = store.must(gathers(limits));
    EXPECT_EQ(set.jobs->queues.at(0)->groups, limits);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Groups, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
