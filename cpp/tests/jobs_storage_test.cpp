// Stores keep jobs and queues in closed files, copies, forks, snapshots and after a restore; a reset removes them.
#include <gtest/gtest.h>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

// Adds a job in each state, an adopted job, an awaited job, jobs that gather or have gathered, a schedule of jobs, and queues with
// every setting.
void fill(JobStore& store) {
  QueueSet set;
  set.queue = "q";
  set.weight = 4;
  set.lifecycle = {true, "horsies"};
  set.concurrency = {true, 9};
  set.rate = {true, RateLimit{3, 1000, 20}};
  set.defaults = {true, JobDefaults{.max_retries = 2,
                                    .policy = fixed({30, 60}),
                                    .on_exhausted = OnExhausted::archived,
                                    .retention = kKept,
                                    .timeout = 5000,
                                    .priority = 7,
                                    .cancel_with_awaiters = true}};
  store.must(set);
  QueueSet empty;
  empty.queue = "empty";
  store.must(empty);
  store.must(QueuePause{"empty"});
  const auto start = [&](const std::string& id) {
    store.add(order(id, "q"));
    EXPECT_EQ(store.claim(1, {"q"}), Texts{id});
    store.must(JobStart{id, 1, {}});
  };
  for (const char* id : {"retry", "archived", "completed", "cancelled", "failed", "running"}) start(id);
  store.must(failure("retry", 1));
  JobFail last = failure("archived", 1, "Ä\"\\\n");
  last.error.message = "wörds\t\x01";
  last.error.data = "";
  last.retryable = false;
  store.must(last);
  store.must(JobComplete{"completed", 1, data("cg==")});
  store.must(JobCancel{only("cancelled")});
  store.must(settlement("failed", "rejected"));
  store.add(with(order("claimed", "q"), [](JobOrder& its) { its.priority = 1; }));
  JobClaim two = claim({"q"}, 1, 400);
  two.run_lease = 900;
  store.must(two);
  store.add(with(order("scheduled", "q"), [](JobOrder& its) { its.process_in = 77; }));
  store.add(with(order("expired"), [](JobOrder& its) { its.good_until = 0; }));
  store.add(with(keyed("pending", "key\"é"), [](JobOrder& its) {
    its.unique_for = 900;
    its.deadline = 80'000;
    its.timeout = 4;
    its.payload = Value{tags({{"h", "1"}}), "cGF5"};
    its.tags = tags({{"resonate:branch", "b"}});
    RetryPolicy policy;
    policy.kind = PolicyKind::exponential;
    policy.base = 10;
    policy.factor = 1.1;
    policy.cap = 999;
    policy.jitter = 0.3;
    policy.codes = std::vector<std::string>{"A", "B"};
    its.policy = policy;
  }));
  store.create("adopted");
  store.add(with(order("adopted"), [](JobOrder& its) { its.payload = data("eA=="); }));
  store.must(TaskCreate{"w", 100, creation("flow", kFar, target())});
  EXPECT_EQ(store.suspend("flow", 1, {"pending", "completed"}).status, 300);
  EXPECT_EQ(store.suspend("flow", 1, {"pending"}).status, 200);
  store.start(with(order("deleted"), [](JobOrder& its) { its.priority = 1; }));
  store.must(RegisterListener{"deleted", "http://a"});
  store.must(JobCancel{only("deleted")});
  store.must(JobDelete{only("deleted")});
  JobOrder unnamed = order("", "q");
  unnamed.id.reset();
  store.add(unnamed);
  store.must(gathers({2, 300, 500}, "groups"));
  for (const char* id : {"batch 1", "batch 2", "gathers 1"}) store.add(grouped(id, "g", "groups"));
  store.add(with(grouped("joins 1", "other", "groups"), [](JobOrder& its) { its.process_in = 200; }));
  ScheduleCreate schedule;
  schedule.id = "each second";
  schedule.cron = "* * * * * *";
  schedule.promise_id = "{{.id}} {{.timestamp}}";
  schedule.promise_timeout = 2500;
  schedule.promise_param = data("cGFy");
  schedule.job = with(grouped("", "g", "groups"), [](JobOrder& its) {
    its.id.reset();
    its.process_in = 100;
    its.good_for = 2000;
  });
  store.must(schedule);
}

// Advances a store with these jobs, sends further requests, and returns the fired steps, the replies and the digest.
Texts continue_and_record(JobStore& store) {
  Texts course = texts_of(store.clock->advance_to(150));
  JobOrder unnamed = order("");
  unnamed.id.reset();
  for (const Operation& request :
       {Operation(QueueList{}), Operation(JobStats{}), Operation(enqueue(keyed("other", "key\"é"))), Operation(enqueue(unnamed)),
        Operation(claim({"q", "default", "empty"}, 5)), Operation(claim({"groups"}, 1)),
        Operation(enqueue(grouped("gathers 2", "g", "groups"))), Operation(JobStart{"claimed", 1, {}}),
        Operation(JobComplete{"running", 1, {}}), Operation(JobRun{only("archived")}), Operation(JobSearch{}),
        Operation(JobCancel{only("pending")})})
    course.push_back(whole_text_of(store.run(request)));
  for (const std::string& step : texts_of(store.clock->advance_to(5000))) course.push_back(step);
  course.push_back(store.digest());
  return course;
}

class JobStorage : public JobsOnEveryBackend {};

TEST_P(JobStorage, SnapshotsHoldCompleteJobs) {
  JobStore store = make(checked(), 10);
  fill(store);
  store.expect_no_violations();
  const std::string snapshot = store.snapshot();
  const std::unique_ptr<Storage> read = read_snapshot(snapshot);
  EXPECT_EQ(digest(*read, {}), store.digest());
  EXPECT_EQ(write_snapshot(*read, SnapshotFormat::full, {}), snapshot);
}

TEST_P(JobStorage, CopiesDoAsTheirOriginal) {
  JobStore store = make(checked(), 10);
  fill(store);
  const std::string before = store.digest();

  JobStore fork;
  fork.clock = std::make_shared<ManualClock>(10);
  fork.engine = store.engine->fork(fork.clock);
  EXPECT_EQ(fork.digest(), before);

  JobStore restored = make(checked(), 5);
  restored.start(order("of before", "elsewhere"));
  restored.engine->replace_storage(read_snapshot(store.snapshot()));
  EXPECT_EQ(restored.digest(), before);
  EXPECT_EQ(restored.queue("elsewhere"), nullptr);

  std::unique_ptr<Storage> copy = make_memory_storage();
  store.engine->with_storage([&](Storage& storage) { copy_state(storage, *copy, 1000); });
  JobStore copied(std::move(copy), checked(), 10);
  EXPECT_EQ(copied.digest(), before);

  const Texts course = continue_and_record(store);
  for (JobStore* other : {&fork, &restored, &copied}) {
    EXPECT_EQ(continue_and_record(*other), course);
    other->expect_no_violations();
  }
  store.expect_no_violations();
}

// A fork shares its rows with its original, and neither sees the other's changes.
TEST_P(JobStorage, AForkIsOnItsOwn) {
  JobStore store = make(checked(), 10);
  fill(store);
  const std::string before = store.digest();
  JobStore fork;
  fork.clock = std::make_shared<ManualClock>(10);
  fork.engine = store.engine->fork(fork.clock);
  continue_and_record(fork);
  EXPECT_EQ(store.digest(), before);
  store.must(JobDelete{only("scheduled")});
  EXPECT_EQ(store.state("scheduled"), "gone");
  EXPECT_EQ(fork.state("scheduled"), "pending");
  fork.expect_no_violations();
  store.expect_no_violations();
}

TEST_P(JobStorage, AResetLeavesNothing) {
  JobStore store = make(checked(), 10);
  fill(store);
  store.engine->reset();
  EXPECT_EQ(store.must(QueueList{}).jobs->queues.size(), 0u);
  EXPECT_EQ(store.claim(9, {"q", "default"}), Texts{});
  JobOrder unnamed = keyed("", "key\"é");
  unnamed.id.reset();
  EXPECT_EQ(store.add(unnamed).promise->id(), "job:0000000000000001");
  store.expect_no_violations();
}

INSTANTIATE_TEST_SUITE_P(Backends, JobStorage, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

TEST(JobFiles, HoldJobsWhenTheyAreClosed) {
  Backends backends;
  JobStore known(checked(), 10);
  fill(known);
  const Texts course = continue_and_record(known);
  std::string digest;
  {
    JobStore store(backends.storage(Backend::sqlite), checked(), 10);
    fill(store);
    digest = store.digest();
  }
  EXPECT_TRUE(check_sqlite_file(backends.last_file()).empty());
  JobStore store(open_sqlite_storage(backends.last_file(), {}), checked(), 10);
  EXPECT_EQ(store.digest(), digest);
  store.expect_no_violations();
  EXPECT_EQ(continue_and_record(store), course);
  store.expect_no_violations();
}

TEST(JobFiles, AreSharedByTwoConnections) {
  Backends backends;
  JobStore one(backends.storage(Backend::sqlite), checked(), 10);
  JobStore other(open_sqlite_storage(backends.last_file(), {}), checked(), 10);
  for (const char* id : {"a", "b", "c", "d"}) one.add(order(id));
  EXPECT_EQ(one.claim(2), (Texts{"a", "b"}));
  EXPECT_EQ(other.claim(2), (Texts{"c", "d"}));
  other.must(JobRelease{"d", 1});
  other.must(QueuePause{"default"});
  EXPECT_EQ(one.claim(2), Texts{});
  one.must(QueueResume{"default"});
  one.must(JobDelete{only("d")});
  one.add(with(keyed("d", "K"), [](JobOrder& its) { its.priority = 3; }));
  EXPECT_EQ(other.run(enqueue(keyed("e", "K"))).status, status::kConflict);
  EXPECT_EQ(other.claim(2), Texts{"d"});
  EXPECT_EQ(one.job("d")->state, JobState::claimed);
  EXPECT_EQ(one.digest(), other.digest());
  one.expect_no_violations();
}

}  // namespace
}  // namespace resonate
