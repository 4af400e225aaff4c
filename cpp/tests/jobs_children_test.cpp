// Children, messages and runs of jobs (JOBS 9): within one transaction, in copies of a store, in a file that is opened again, the
// removal of a large family, and the invariants.
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_jobs.hpp"
#include "fake_violations.hpp"
#include "machine/machine.hpp"

namespace resonate {
namespace {

using namespace fake;

JobStep step(const std::string& id, std::optional<std::string> state = {}) {
  return {.id = id, .state = std::move(state), .value = {}, .param = {}, .tags = {}, .timeout_in = {}};
}

JobRecordSteps records(const std::string& job, std::vector<JobStep> steps, std::int64_t version = 1) {
  return {job, version, std::move(steps)};
}

JobSend message(const std::string& job, const std::string& topic, std::optional<std::string> key = {}) {
  return {.id = job, .topic = topic, .value = data("bQ=="), .key = std::move(key)};
}

JobReceive receive(const std::string& job, const std::string& id, const std::string& topic) {
  return {.id = job, .version = 1, .step = id, .topic = topic, .timeout_in = {}};
}

JobOrder child(const std::string& id, const std::string& parent) {
  return with(order(id, "later"), [&](JobOrder& made) { made.parent = JobParent{parent, 1}; });
}

class ChildrenOfJobs : public JobsOnEveryBackend {};

TEST_P(ChildrenOfJobs, InOneTransaction) {
  const std::vector<Operation> all = {enqueue("w"),
                                      claim(),
                                      JobStart{"w", 1, {}},
                                      records("w", {step("w:1", "resolved"), step("w:2")}),
                                      records("w", {step("w:2", "rejected_canceled")}),
                                      message("w", "t"),
                                      receive("w", "w:3", "t"),
                                      receive("w", "w:4", "t"),
                                      message("w", "t", "k"),
                                      enqueue(child("c", "w")),
                                      JobHistory{.id = "w", .limit = {}, .cursor = {}},
                                      JobFork{"w", "w:4", "f"},
                                      JobCancel{only("c")},
                                      JobStartOver{"w", 1, data("YQ==")},
                                      message("w", "t", "k"),
                                      JobCancel{only("w")},
                                      JobDelete{only("w")}};
  for (std::size_t stored = 0; stored < all.size(); ++stored) {
    SCOPED_TRACE(stored);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(stored);
    EXPECT_EQ(statuses({all.begin(), middle}, {middle, all.end()}), Codes(all.size() - stored, 200));
  }
}

TEST_P(ChildrenOfJobs, GoOneByOneBeforeTheirJob) {
  JobStore store = make();
  store.start(order("w"));
  std::vector<JobStep> steps;
  for (int i = 0; i < 500; ++i) steps.push_back(step("w:" + std::to_string(1000 + i), "resolved"));
  store.must(records("w", steps));
  store.add(child("c", "w"));
  store.must(JobCancel{only("w")});
  EXPECT_EQ(store.state("c"), "cancelled");
  store.clock->advance_to(store.clock->now() + 5);
  store.must(JobDelete{only("w")});
  EXPECT_EQ(store.row("w")->job->steps, 501 - static_cast<std::int64_t>(kStepsPerRequest));
  EXPECT_EQ(store.tick(store.clock->now()).size(), 502 - kStepsPerRequest);
  EXPECT_FALSE(store.row("w") || store.row("c") || store.row("w:1499"));
  store.expect_no_violations();
}

TEST_P(ChildrenOfJobs, OfAFileThatIsOpenedAgain) {
  if (GetParam() == Backend::memory) GTEST_SKIP() << "a store in memory has no file";
  {
    JobStore store = make(Options{});
    store.start(order("w"));
    store.must(records("w", {step("w:1", "resolved"), step("w:2")}));
    store.must(message("w", "t"));
    store.must(receive("w", "w:3", "other"));
    store.add(child("c", "w"));
  }
  JobStore store(open_sqlite_storage(backends.last_file(), {}), checked(), 10);
  store.expect_no_violations();
  EXPECT_EQ(store.must(receive("w", "w:4", "t")).promise->state, PromiseState::resolved);
  store.must(message("w", "other"));
  EXPECT_EQ(store.row("w:3")->state, PromiseState::resolved);
  EXPECT_EQ(store.row("w")->job->unread, 0);
  store.must(JobCancel{only("w")});
  EXPECT_EQ(store.state("c"), "cancelled");
  store.expect_no_violations();
}

INSTANTIATE_TEST_SUITE_P(Backends, ChildrenOfJobs, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

TEST(NestedJobs, HaveAThousandLevels) {
  JobStore store{Options{}};
  store.add(order("n0"));
  std::string last = "n0";
  for (int level = 1; level <= 1000; ++level) {
    store.must(claim({level == 1 ? "default" : "later"}));
    store.must(JobStart{last, 1, {}});
    const std::string next = "n" + std::to_string(level);
    store.add(child(next, last));
    last = next;
  }
  store.must(claim({"later"}));
  store.must(JobStart{last, 1, {}});
  EXPECT_EQ(store.run(enqueue(child("deeper", last))).status, 422);
  store.must(JobCancel{only("n0")});
  for (int i = 0; i < 20; ++i) store.tick(store.clock->now());
  EXPECT_EQ(store.state(last), "cancelled");
  store.clock->advance_to(store.clock->now() + 5);
  store.must(JobDelete{only("n0")});
  for (int i = 0; i < 20; ++i) store.tick(store.clock->now());
  EXPECT_FALSE(store.row("n0") || store.row(last));
}

TEST(ChildrenOfJobsInvariants, NameWhatIsLost) {
  JobStore store;
  store.start(order("w"));
  store.must(records("w", {step("w:1", "resolved")}));
  store.must(message("w", "t"));
  store.must(receive("w", "w:2", "other"));
  const auto broken = [&](const std::string& id, auto change) {
    return fake::broken_by(store, [&](Storage& storage, Changes& changes) {
      const RowRef before = storage.load(id);
      Shared<Row> row(new Row(*before));
      change(*row);
      changes.rows.push_back({before, RowRef(std::move(row))});
    });
  };
  const auto change_job = [](auto change) {
    return [change](Row& row) {
      Shared<Job> job(new Job(*row.job));
      change(*job);
      row.job = std::move(job);
    };
  };
  // Another mark needs another specification, which points into its tags.
  const auto marked = [](std::string parent, ChildKind kind, std::string group) {
    return [=](Row& row) {
      Shared<PromiseSpec> made(new PromiseSpec);
      made->id = row.promise_spec->id;
      made->timeout_at = row.promise_spec->timeout_at;
      made->created_at = row.promise_spec->created_at;
      Shared<ChildMark> mark(new ChildMark);
      mark->parent = parent;
      mark->kind = kind;
      mark->group = group;
      made->child = std::move(mark);
      row.promise_spec = std::move(made);
    };
  };
  EXPECT_EQ(broken("w", [](Row&) {}), Texts{});
  EXPECT_EQ(broken("w", change_job([](Job& job) { job.steps = 3; })), Texts{"step_count_mismatch"});
  EXPECT_EQ(broken("w", change_job([](Job& job) { job.unread = 0; })), Texts{"unread_count_mismatch"});
  EXPECT_EQ(broken("w:1", marked("nobody", ChildKind::record, {})), (Texts{"step_count_mismatch", "child_without_parent"}));
  const std::string mailbox = store.row("w:@t:#1")->promise_spec->child->group;
  EXPECT_EQ(broken("w:2", marked("w", ChildKind::receive, mailbox)), Texts{"message_not_delivered"});
}

}  // namespace
}  // namespace resonate
