// Jobs that are cancelled with the workflows that await them (decision 28): within one transaction, over several pages of
// callbacks, in copies of a store, and the invariants.
#include <gtest/gtest.h>

#include <algorithm>

#include "fake_jobs.hpp"
#include "fake_violations.hpp"
#include "machine/machine.hpp"

namespace resonate {
namespace {

using namespace fake;

std::string numbered(const char* prefix, int i) { return prefix + std::to_string(1000 + i); }

class CancelledWorkflows : public JobsOnEveryBackend {
 protected:
  // A task that is suspended on the promises.
  static void await(JobStore& store, const std::string& workflow, const Texts& awaited) {
    store.Store::claim(workflow);
    EXPECT_EQ(store.suspend(workflow, 1, awaited).status, status::kOk);
  }
  static Texts in_state(JobStore& store, const char* state) {
    JobSearch search;
    search.filter.state = state;
    search.limit = 1000;
    return ids_of(store.must(search));
  }
};

TEST_P(CancelledWorkflows, InOneTransaction) {
  const auto workflow = [](const std::string& id) { return TaskCreate{"p", 1000, creation(id, kFar, target())}; };
  const Operation cancel = settlement("w", "rejected_canceled");
  // The job, its awaiter and the end of the awaiter: each stored before, or part of the transaction.
  const std::vector<Operation> all = {enqueue("b"), enqueue("a"), workflow("w"), suspension("w", 1, {"b", "a"}), cancel};
  for (std::size_t stored = 0; stored < all.size(); ++stored) {
    SCOPED_TRACE(stored);
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(stored);
    EXPECT_EQ(statuses({all.begin(), middle}, {middle, all.end()}), Codes(all.size() - stored, 200));
  }
  // A promise that is awaited and then becomes a job.
  EXPECT_EQ(statuses({}, {creation("j", kFar, tags({{"resonate:external", "true"}})), workflow("w"), suspension("w", 1, {"j"}),
                          enqueue("j"), cancel}),
            Codes(5, 200));
  EXPECT_EQ(statuses({creation("j", kFar, tags({{"resonate:external", "true"}})), workflow("w"), suspension("w", 1, {"j"})},
                     {cancel, enqueue("j"), JobCancel{only("j")}}),
            Codes(3, 200));
  // A job that ends in the same transaction, before and after its workflow.
  EXPECT_EQ(statuses({enqueue("j"), workflow("w"), suspension("w", 1, {"j"})}, {JobCancel{only("j")}, cancel}), Codes(2, 200));
  EXPECT_EQ(statuses({enqueue("j"), workflow("w"), suspension("w", 1, {"j"})}, {cancel, JobCancel{only("j")}}), (Codes{200, 409}));
}

TEST_P(CancelledWorkflows, LeaveTheirJobsOneByOne) {
  constexpr int kJobs = 300;
  JobStore store = make(Options{});
  Texts ids;
  for (int i = 0; i < kJobs; ++i) store.add(order(ids.emplace_back(numbered("j", kJobs - i))));
  await(store, "w", ids);
  std::ranges::sort(ids);
  store.settle("w", "rejected_canceled");
  EXPECT_TRUE(store.row("w")->cancels_jobs);
  EXPECT_EQ(store.engine->next_due(), 0);
  EXPECT_EQ(in_state(store, "cancelled"), Texts(ids.begin(), ids.begin() + kStepsPerRequest));
  store.expect_no_violations();
  const std::string digest = store.digest();
  JobStore restored(read_snapshot(store.snapshot()), Options{});
  EXPECT_EQ(restored.digest(), digest);
  restored.expect_no_violations();
  const Texts steps = store.tick(5);
  ASSERT_EQ(steps.size(), ids.size() - kStepsPerRequest);
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], "cancel_drain w@0 " + ids[kStepsPerRequest + i]);
  EXPECT_EQ(restored.tick(5), steps);
  EXPECT_EQ(restored.digest(), store.digest());
  EXPECT_EQ(in_state(store, "cancelled"), ids);
  EXPECT_FALSE(store.row("w")->cancels_jobs);
  EXPECT_EQ(store.engine->next_due(), std::nullopt);
  store.expect_no_violations();
}

// The remaining awaiters are read in pages, and the cancelled one can be anywhere among them.
TEST_P(CancelledWorkflows, AreLookedForAmongManyAwaiters) {
  constexpr int kAwaiters = 200;
  JobStore store = make();
  store.add(order("j"));
  for (int i = 0; i < kAwaiters; ++i) await(store, numbered("w", i), {"j"});
  for (const int i : {100, 0, 199}) store.settle(numbered("w", i), "rejected_canceled");
  EXPECT_EQ(store.row("j")->callbacks, kAwaiters - 3u);
  for (int i = 0; i < kAwaiters; ++i)
    if (i != 100 && i != 0 && i != 199 && i != 150) store.settle(numbered("w", i));
  EXPECT_EQ(store.state("j"), "pending");
  store.settle(numbered("w", 150), "rejected_canceled");
  EXPECT_EQ(store.state("j"), "cancelled");
  store.tick(0);  // the drains that the request has left
  EXPECT_EQ(store.row("j")->callbacks, 0u);
  store.expect_no_violations();
}

TEST_P(CancelledWorkflows, OfAFileThatIsOpenedAgain) {
  if (GetParam() == Backend::memory) GTEST_SKIP() << "a store in memory has no file";
  {
    JobStore store = make(Options{});
    for (int i = 0; i < 100; ++i) store.add(order(numbered("j", i)));
    Texts ids = in_state(store, "pending");
    await(store, "w", ids);
    store.settle("w", "rejected_canceled");
  }
  JobStore store(open_sqlite_storage(backends.last_file(), {}), checked(), 10);
  store.expect_no_violations();
  EXPECT_EQ(store.tick(10).size(), 100 - kStepsPerRequest);
  EXPECT_EQ(in_state(store, "cancelled").size(), 100u);
}

TEST_P(CancelledWorkflows, ThatWereCancelledAreForgottenByTheJobThatAdoptsThePromise) {
  JobStore store = make();
  store.create("j", kFar, tags({{"resonate:external", "true"}}));
  for (const char* id : {"w1", "w2", "w3"}) await(store, id, {"j"});
  store.settle("w2", "rejected_canceled");
  EXPECT_FALSE(store.row("w2")->cancels_jobs);
  store.add(order("j"));
  EXPECT_EQ(store.row("j")->callbacks, 2u);
  store.settle("w3", "rejected_canceled");
  EXPECT_EQ(store.state("j"), "pending");
  store.settle("w1", "rejected_canceled");
  EXPECT_EQ(store.state("j"), "cancelled");
  EXPECT_EQ(store.job("j")->error->message, "the awaiter \"w1\" was cancelled");
  store.expect_no_violations();
}

TEST_P(CancelledWorkflows, StayUntilTheirJobsAreHandled) {
  JobStore store = make(Options{});
  Texts ids;
  for (int i = 0; i < 100; ++i) store.add(order(ids.emplace_back(numbered("j", i))));
  await(store, "w", ids);
  store.settle("w", "rejected_canceled");
  store.clock->advance_to(100);  // runs the other steps
  EXPECT_EQ(store.engine->purge(50).total(), 101u);
  store.expect_no_violations();
}

INSTANTIATE_TEST_SUITE_P(Backends, CancelledWorkflows, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

TEST(CancelledWorkflowsInvariants, NameAWrongMark) {
  JobStore store;
  store.add(order("j"));
  store.Store::claim("w");
  EXPECT_EQ(store.suspend("w", 1, {"j"}).status, status::kOk);
  const auto broken = [&](auto change) { return fake::broken_by(store, change); };
  EXPECT_EQ(broken([](Storage&, Changes&) {}), Texts{});
  EXPECT_EQ(broken([](Storage& storage, Changes& changes) {
              changes.edges_removed = storage.edges({.of = "j"});
              Shared<Edge> edge(new Edge(*changes.edges_removed.front()));
              edge->cancels = false;
              changes.edges_added.emplace_back(std::move(edge));
            }),
            Texts{"callback_cancel_mismatch"});
  EXPECT_EQ(broken([](Storage& storage, Changes& changes) {
              Shared<Row> row(new Row(*storage.load("w")));
              row->cancels_jobs = true;
              changes.rows.push_back({storage.load("w"), RowRef(std::move(row))});
            }),
            Texts{"cancel_drain_mismatch"});
  EXPECT_EQ(broken([](Storage& storage, Changes& changes) {
              Shared<Row> row(new Row(*storage.load("w")));
              row->state = PromiseState::rejected_canceled;
              row->settled_at = 0;
              row->task = TaskState::fulfilled;
              row->due = {};
              changes.rows.push_back({storage.load("w"), RowRef(std::move(row))});
            }),
            Texts{"cancel_drain_lost"});
}

}  // namespace
}  // namespace resonate
