// Jobs that wait for other promises (JOBS 8): within one transaction, over several pages of edges, in copies of a store, many for
// one and one for many, and the invariants.
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_jobs.hpp"
#include "fake_violations.hpp"
#include "machine/machine.hpp"

namespace resonate {
namespace {

using namespace fake;

std::string numbered(const char* prefix, int i) { return prefix + std::to_string(1000 + i); }

JobOrder after(const std::string& id, const Texts& awaited, const char* failed = "cancel", const std::string& queue = "later") {
  return with(order(id, queue), [&](JobOrder& made) {
    made.after = awaited;
    made.after_failed = failed;
  });
}

class WaitingJobs : public JobsOnEveryBackend {};

TEST_P(WaitingJobs, InOneTransaction) {
  const JobComplete done{"a", 1, {}};
  const Operation start = JobStart{"a", 1, {}};
  // What is awaited, the job, and what wakes it: each stored before, or part of the transaction.
  const std::vector<Operation> all = {enqueue("a"), creation("p", kFar), enqueue(after("j", {"a", "p"})), claim(), start,
                                      done,         settlement("p")};
  for (std::size_t stored = 0; stored < all.size(); ++stored) {
    SCOPED_TRACE(stored);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(stored);
    EXPECT_EQ(statuses({all.begin(), middle}, {middle, all.end()}), Codes(all.size() - stored, 200));
  }
  // A job that suspends, is woken and claimed again; a settled job keeps the ids of those that waited for it.
  const std::vector<Operation> suspends = {
      enqueue("a"),         enqueue("b", "q"),       claim(), start, JobSuspend{"a", 1, {"b"}, "all"}, claim({"q"}),
      JobStart{"b", 1, {}}, JobComplete{"b", 1, {}}, claim()};
  for (std::size_t stored = 0; stored < suspends.size(); ++stored) {
    SCOPED_TRACE(stored);
    const auto middle = suspends.begin() + static_cast<std::ptrdiff_t>(stored);
    EXPECT_EQ(statuses({suspends.begin(), middle}, {middle, suspends.end()}), Codes(suspends.size() - stored, 200));
  }
  // An awaited promise becomes a job; a job that waits is deleted, and enqueued again.
  EXPECT_EQ(statuses({creation("p", kFar)}, {enqueue(after("j", {"p"})), enqueue("p"), JobDelete{only("j")},
                                             enqueue(after("j", {"p"})), JobCancel{only("p")}}),
            Codes(5, 200));
  EXPECT_EQ(statuses({}, {enqueue(after("j", {"p"})), creation("p", kFar), enqueue(after("j", {"p"}))}), (Codes{422, 200, 200}));
}

TEST_P(WaitingJobs, AllOrNone) {
  const auto together = [](std::vector<JobOrder> orders) { return JobEnqueueMany{std::move(orders), true}; };
  EXPECT_EQ(statuses({}, {together({order("a"), after("b", {"a"})}), together({order("c"), after("d", {"missing"})}),
                          together({order("a"), order("e")}), together({order("f"), order("f")}),
                          together({keyed("g", "k"), keyed("h", "k")})}),
            (Codes{200, 422, 200, 409, 409}));
  JobStore store = make();
  const Reply refused = store.run(together({order("c"), after("d", {"missing"})}));
  EXPECT_EQ(refused.error, "jobs[1]: awaited promise \"missing\" does not exist");
  EXPECT_EQ(store.state("c"), "gone");
}

TEST_P(WaitingJobs, ManyForOne) {
  constexpr int kJobs = 300;
  JobStore store = make(Options{});
  store.start(with(order("a"), [](JobOrder& made) { made.retention = 0; }));
  Texts ids;
  for (int i = 0; i < kJobs; ++i) store.add(after(ids.emplace_back(numbered("j", i)), {"a"}));
  EXPECT_EQ(store.count(JobState::waiting, "later"), kJobs);
  store.must(JobComplete{"a", 1, {}});
  EXPECT_EQ(store.count(JobState::pending, "later"), static_cast<std::int64_t>(kStepsPerRequest));
  store.expect_no_violations();
  JobStore restored(read_snapshot(store.snapshot()), Options{});
  EXPECT_EQ(restored.digest(), store.digest());
  const Texts steps = store.tick(5);
  EXPECT_EQ(restored.tick(5), steps);
  EXPECT_EQ(store.count(JobState::pending, "later"), kJobs);
  EXPECT_EQ(store.job("a")->keepers, kJobs);
  EXPECT_EQ(restored.digest(), store.digest());
  // The job is kept until the last of them is final.
  for (int i = 0; i < kJobs - 1; ++i) store.must(JobCancel{only(ids[static_cast<std::size_t>(i)])});
  store.tick(10'000'000);
  EXPECT_EQ(store.job("a")->keepers, 1);
  EXPECT_EQ(store.engine->purge(9'000'000).total(), static_cast<std::size_t>(kJobs - 1));
  store.must(JobCancel{only(ids.back())});
  store.tick(20'000'000);
  EXPECT_EQ(store.state("a"), "gone");
  store.expect_no_violations();
}

// The edges of a kind that a promise owns: who awaits it, or who keeps it.
Texts others(JobStore& store, EdgeKind kind, const std::string& owner) {
  Texts found;
  store.engine->with_snapshot([&](Storage& storage) {
    for (const EdgeRef& edge : storage.edges({.kind = kind, .of = owner})) found.push_back(edge->other);
  });
  return found;
}

TEST_P(WaitingJobs, KeepWhatTheyWaitedForByTheSameEdge) {
  JobStore store = make(Options{});
  store.start(with(order("a"), [](JobOrder& made) { made.retention = 0; }));
  for (const char* id : {"j1", "j2"}) store.add(after(id, {"a"}));
  store.add(after("cancelled", {"a"}, "run"));
  store.must(JobCancel{only("cancelled")});
  store.must(JobComplete{"a", 1, {}});
  EXPECT_EQ(others(store, EdgeKind::callback, "a"), (Texts{"j1", "j2"}));
  EXPECT_EQ(others(store, EdgeKind::keeper, "a"), Texts{});
  EXPECT_EQ(store.job("a")->keepers, 2);
  store.expect_no_violations();

  // The job j3 waits for "a" after it was settled: its keeper is an edge of the kind keeper. The job j1 keeps "a" already, so its
  // second wait adds no keeper.
  store.add(after("j3", {"a"}));
  EXPECT_EQ(others(store, EdgeKind::keeper, "a"), Texts{"j3"});
  EXPECT_EQ(store.claim(2, {"later"}), (Texts{"j1", "j2"}));
  store.must(JobStart{"j1", 1, {}});
  store.create("p", kFar);
  store.must(JobSuspend{"j1", 1, {"a", "p"}, "all"});
  EXPECT_EQ(store.job("a")->keepers, 3);
  EXPECT_EQ(store.state("j1"), "waiting");
  store.expect_no_violations();

  // A copy has them in the same order, and a store from a snapshot has them as keepers of the other kind.
  const std::unique_ptr<Storage> copy = store.engine->with_snapshot([](Storage& storage) { return storage.fork(); });
  EXPECT_EQ(check_state(*copy, RulesId::compatible).size(), 0u);
  EXPECT_EQ(copy->edges({.of = "a"}).size(), 2u);
  JobStore restored(read_snapshot(store.snapshot()), Options{});
  EXPECT_EQ(restored.digest(), store.digest());
  EXPECT_EQ(others(restored, EdgeKind::keeper, "a"), (Texts{"j1", "j2", "j3"}));

  for (JobStore* each : {&store, &restored}) {
    each->must(JobCancel{only("j1")});
    each->must(JobCancel{only("j3")});
    each->tick(10'000'000);
    EXPECT_EQ(each->job("a")->keepers, 2);  // j2 is the first that is not final
    each->expect_no_violations();
    each->must(JobCancel{only("j2")});
    each->tick(20'000'000);
    EXPECT_EQ(each->state("a"), "gone");
    for (const EdgeKind kind : {EdgeKind::callback, EdgeKind::keeper}) EXPECT_EQ(others(*each, kind, "a"), Texts{});
    each->expect_no_violations();
  }
  EXPECT_EQ(restored.digest(), store.digest());
}

// A callback that was drained is none to take back, and none of a job that is deleted and enqueued again.
TEST_P(WaitingJobs, TakeBackNoCallbackThatWasDrained) {
  JobStore store = make(Options{});
  store.start(order("a"));
  store.start(order("b"));
  store.create("p", kFar);
  store.add(after("j", {"a", "p"}));
  store.add(after("k", {"a", "b"}));
  store.must(JobComplete{"a", 1, {}});
  EXPECT_EQ(others(store, EdgeKind::callback, "a"), (Texts{"j", "k"}));
  store.must(JobCancel{only("j")});
  store.must(JobDelete{only("j")});
  store.expect_no_violations();
  store.add(after("j", {"a", "p"}));
  EXPECT_EQ(store.job("a")->keepers, 2);
  store.must(JobRun{only("k")});
  EXPECT_EQ(store.state("k"), "pending");
  EXPECT_EQ(store.row("b")->callbacks, 0u);
  store.settle("p");
  EXPECT_EQ(store.state("j"), "pending");
  store.expect_no_violations();
}

TEST_P(WaitingJobs, OneForMany) {
  constexpr int kPromises = 1000;
  JobStore store = make(Options{});
  Texts ids;
  for (int i = 0; i < kPromises; ++i) store.create(ids.emplace_back(numbered("p", i)), kFar);
  store.add(after("j", ids));
  for (const std::string& id : ids) {
    EXPECT_EQ(store.state("j"), "waiting");
    store.settle(id);
  }
  EXPECT_EQ(store.state("j"), "pending");
  store.expect_no_violations();
}

TEST_P(WaitingJobs, OfAFileThatIsOpenedAgain) {
  if (GetParam() == Backend::memory) GTEST_SKIP() << "a store in memory has no file";
  {
    JobStore store = make(Options{});
    store.start(order("a"));
    for (int i = 0; i < 100; ++i) store.add(after(numbered("j", i), {"a"}));
    store.must(JobComplete{"a", 1, {}});
  }
  JobStore store(open_sqlite_storage(backends.last_file(), {}), checked(), 10);
  store.expect_no_violations();
  EXPECT_EQ(store.tick(10).size(), 100 - kStepsPerRequest);
  EXPECT_EQ(store.claim(1000, {"later"}).size(), 100u);
}

INSTANTIATE_TEST_SUITE_P(Backends, WaitingJobs, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

TEST(WaitingJobsInvariants, NameWhatIsLost) {
  JobStore store;
  store.create("p", kFar);
  store.start(order("done"));
  store.must(JobComplete{"done", 1, {}});
  store.add(after("j", {"p", "done"}));
  const auto broken = [&](auto change) { return fake::broken_by(store, change); };
  EXPECT_EQ(broken([](Storage&, Changes&) {}), Texts{});
  EXPECT_EQ(broken([](Storage& storage, Changes& changes) {
              Shared<Row> row(new Row(*storage.load("p")));
              row->callbacks = 0;
              changes.rows.push_back({storage.load("p"), RowRef(std::move(row))});
              changes.edges_removed = storage.edges({.of = "p"});
            }),
            (Texts{"job_await_lost", "suspended_no_callback"}));
  EXPECT_EQ(broken([](Storage& storage, Changes& changes) {
              Shared<Row> row(new Row(*storage.load("j")));
              Shared<Job> job(new Job(*row->job));
              job->awaits.clear();
              row->job = std::move(job);
              changes.rows.push_back({storage.load("j"), RowRef(std::move(row))});
            }),
            Texts{"job_waits_for_nothing"});
  EXPECT_EQ(broken([](Storage& storage, Changes& changes) {
              changes.edges_removed = storage.edges({.kind = EdgeKind::keeper, .of = "done"});
            }),
            Texts{"keeper_count_mismatch"});
}

}  // namespace
}  // namespace resonate
