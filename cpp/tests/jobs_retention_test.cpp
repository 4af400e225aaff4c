// Retention, deletion and purge keep a job while an awaiter may still read it or a message about it is undelivered.
#include <gtest/gtest.h>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

JobOrder kept_for(const std::string& id, Duration retention) {
  return with(order(id), [=](JobOrder& its) { its.retention = retention; });
}

class Retention : public JobsOnEveryBackend {
 protected:
  // Completes the job at the store's instant.
  static void complete(JobStore& store, const std::string& id) { store.must(JobComplete{id, 1, data("cg==")}); }
};

TEST_P(Retention, OfACompletedJob) {
  JobStore store = make(checked(), 100);
  for (const auto& [id, retention] : std::vector<std::pair<std::string, Duration>>{{"gone", 0}, {"soon", 50}, {"kept", kKept}}) {
    store.start(kept_for(id, retention));
    complete(store, id);
  }
  EXPECT_EQ(store.state("gone"), "gone");
  EXPECT_EQ(store.count(JobState::completed), 2);
  EXPECT_EQ(store.engine->next_due(), 150);
  EXPECT_EQ(texts_of(store.clock->advance_to(1'000'000'000)), Texts{"job_retention soon@150"});
  EXPECT_EQ(store.count(JobState::completed), 1);
  EXPECT_EQ(store.state("kept"), "completed");
  EXPECT_EQ(job_state_of(store.add(kept_for("soon", 50))), JobState::pending);  // the id can be used again
  store.expect_no_violations();
}

TEST_P(Retention, IsOfSuccessAlone) {
  JobStore store = make();
  store.start(kept_for("a", 0));
  store.must(JobCancel{only("a")});
  store.start(with(kept_for("b", 0), [](JobOrder& its) {
    its.max_retries = 0;
    its.on_exhausted = "failed";
  }));
  store.must(failure("b", 1));
  EXPECT_EQ(texts_of(store.clock->advance_to(1'000'000'000)), Texts{});
  EXPECT_EQ(store.state("a"), "cancelled");
  EXPECT_EQ(store.state("b"), "failed");
}

// A task that awaited the job may read it again in its next run, so the job is kept until the task has ended.
TEST_P(Retention, WaitsForItsAwaiters) {
  JobStore store = make();
  store.start(kept_for("job", 0));
  for (const char* id : {"flow", "other"}) store.must(TaskCreate{"w", 100'000, creation(id, kFar * 100, target())});
  store.must(RegisterCallback{"job", "other"});
  EXPECT_EQ(store.suspend("flow", 1, {"job"}).status, 200);
  complete(store, "job");
  EXPECT_EQ(store.state("job"), "completed");
  EXPECT_EQ(store.task("flow"), TaskState::pending);
  EXPECT_EQ(store.job("job")->awaiters, (Texts{"other", "flow"}));
  EXPECT_EQ(store.job("job")->reclaim_at, 1000);
  store.settle("flow");
  store.clock->advance_to(1000);
  EXPECT_EQ(store.state("job"), "completed");  // the task "other" has not ended
  EXPECT_EQ(store.job("job")->reclaim_at, 2000);
  store.clock->advance_to(2000);
  EXPECT_EQ(store.job("job")->reclaim_at, 4000);  // the delay grows with the time since the end of the job
  store.settle("other");
  EXPECT_EQ(store.state("job"), "completed");
  EXPECT_EQ(texts_of(store.clock->advance_to(4000)), Texts{"job_retention job@4000"});
  EXPECT_EQ(store.count(JobState::completed), 0);
  store.expect_no_violations();
}

TEST_P(Retention, WaitsForUndeliveredMessages) {
  JobStore store = make();
  store.start(kept_for("job", 0));
  store.must(RegisterListener{"job", "http://a"});
  store.must(RegisterListener{"job", "http://b"});
  complete(store, "job");
  EXPECT_EQ(store.outbox(), (Texts{"unblock:job:http://a", "unblock:job:http://b"}));
  store.clock->advance_to(1000);
  EXPECT_EQ(store.engine->take_messages(1).size(), 1u);
  store.clock->advance_to(2000);
  EXPECT_EQ(store.state("job"), "completed");
  EXPECT_EQ(store.engine->take_messages().size(), 1u);
  EXPECT_EQ(texts_of(store.clock->advance_to(4000)), Texts{"job_retention job@4000"});
  store.expect_no_violations();
}

// The retention checks are at most an hour apart, however old the job is.
TEST_P(Retention, LooksAgainOnceAnHour) {
  JobStore store = make();
  store.start(kept_for("job", 0));
  store.must(TaskCreate{"w", kFar * 1000, creation("flow", kFar * 1000, target())});
  EXPECT_EQ(store.suspend("flow", 1, {"job"}).status, 200);
  complete(store, "job");
  store.must(TaskAcquire{"flow", 1, "w", kFar * 1000});
  store.clock->advance_to(100'000'000);
  const Instant next = store.job("job")->reclaim_at;
  EXPECT_GT(next, 100'000'000);
  EXPECT_LE(next, 100'000'000 + 3'600'000);
}

TEST_P(Retention, AMessageOfThisVeryTransactionCounts) {
  JobStore store = make();
  store.start(kept_for("job", 0));
  store.together({RegisterListener{"job", "http://a"}, JobComplete{"job", 1, {}}});
  EXPECT_EQ(store.state("job"), "completed");
  EXPECT_EQ(store.outbox(), Texts{"unblock:job:http://a"});
  store.expect_no_violations();
}

TEST_P(Retention, DeletingKeepsJobsThatAreAwaited) {
  JobStore store = make();
  store.add(order("awaited"));
  store.must(RegisterListener{"awaited", "http://a"});
  EXPECT_EQ(store.run(JobDelete{only("awaited")}).status, status::kConflict);
  JobFilter pending;
  pending.state = "pending";
  EXPECT_EQ(store.must(JobDelete{pending}).jobs->count, 0);
  store.must(JobCancel{only("awaited")});
  store.must(JobDelete{only("awaited")});
  EXPECT_EQ(store.state("awaited"), "cancelled");  // its message is undelivered
  EXPECT_TRUE(store.job("awaited")->deleted);
  JobFilter cancelled;
  cancelled.state = "cancelled";
  EXPECT_EQ(store.must(JobDelete{cancelled}).jobs->count, 0);  // it is already marked as deleted
  store.must(JobDelete{only("awaited")});
  EXPECT_EQ(store.engine->take_messages().size(), 1u);
  EXPECT_EQ(texts_of(store.clock->advance_to(5000)), Texts{"job_retention awaited@1000"});
  EXPECT_EQ(store.state("awaited"), "gone");
  store.expect_no_violations();
}

// One request with a filter deletes at most 1000 jobs.
TEST_P(Retention, ManyAreDeletedAThousandAtATime) {
  JobStore store = make(Options{});
  JobEnqueueMany many;
  for (int i = 0; i < 1003; ++i) many.orders.push_back(order("j" + std::to_string(10000 + i)));
  store.must(many);
  JobFilter pending;
  pending.state = "pending";
  const auto replies = store.together({JobDelete{pending}, JobDelete{pending}, JobDelete{pending}});
  EXPECT_EQ(replies[0].jobs->count, 1000);
  EXPECT_TRUE(replies[0].jobs->more);
  EXPECT_EQ(replies[1].jobs->count, 3);
  EXPECT_FALSE(replies[1].jobs->more);
  EXPECT_EQ(replies[2].jobs->count, 0);
  EXPECT_EQ(store.count(JobState::pending), 0);
  EXPECT_EQ(store.engine->promise_count(), 0u);
  store.expect_no_violations();
}

TEST_P(Retention, PurgeKeepsTheCountsOfQueues) {
  JobStore store = make();
  for (const char* queue : {"q", "r"})
    for (int i = 0; i < 3; ++i) {
      const std::string id = queue + std::to_string(i);
      store.start(order(id, queue));
      if (i > 0) complete(store, id);
    }
  store.must(JobCancel{only("q0")});
  store.start(order("awaited", "q"));
  store.must(TaskCreate{"w", kFar, creation("flow", kFar, target())});
  EXPECT_EQ(store.suspend("flow", 1, {"awaited"}).status, 200);
  complete(store, "awaited");
  store.must(TaskAcquire{"flow", 1, "w", kFar});
  store.clock->advance_to(100);
  (void)store.engine->take_messages();
  const Purged purged = store.engine->purge(100);
  EXPECT_EQ(purged.promises, 0u);
  EXPECT_EQ(purged.jobs[static_cast<std::size_t>(JobState::completed)], 4u);
  EXPECT_EQ(purged.jobs[static_cast<std::size_t>(JobState::cancelled)], 1u);
  EXPECT_EQ(purged.total(), 5u);
  EXPECT_EQ(store.state("r0"), "running");
  EXPECT_EQ(store.state("awaited"), "completed");  // the task "flow" may read it again
  EXPECT_EQ(store.count(JobState::completed, "q"), 1);
  EXPECT_EQ(store.count(JobState::cancelled, "q"), 0);
  EXPECT_EQ(store.count(JobState::running, "r"), 1);
  EXPECT_EQ(store.count(JobState::completed, "r"), 0);
  store.expect_no_violations();
  store.settle("flow");
  store.clock->advance_to(200);
  (void)store.engine->take_messages();
  EXPECT_EQ(store.engine->purge(200).total(), 2u);
  EXPECT_EQ(store.count(JobState::completed, "q"), 0);
  store.expect_no_violations();
}

// A job wakes its awaiters, but no promise wakes a job.
TEST_P(Retention, AJobIsNoAwaiter) {
  JobStore store = make();
  store.create("dep");
  store.create("a");
  store.must(RegisterCallback{"dep", "a"}, kOld);
  store.add(order("a"));
  EXPECT_EQ(store.run(RegisterCallback{"dep", "a"}).status, status::kUnprocessable);
  store.settle("dep");
  EXPECT_EQ(store.resumes("a"), Texts{});
  EXPECT_EQ(store.claim(), Texts{"a"});
  store.expect_no_violations();
}

INSTANTIATE_TEST_SUITE_P(Backends, Retention, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
