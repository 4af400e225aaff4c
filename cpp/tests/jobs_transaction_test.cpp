// Many requests on jobs in one transaction: each sees the changes of the earlier ones, both to stored rows and to rows that are not
// stored yet, also if an id is deleted and used again.
#include <gtest/gtest.h>

#include "fake_jobs.hpp"
#include "fake_storage.hpp"

namespace resonate {
namespace {

using namespace fake;

JobOrder brief(const std::string& id, const std::string& queue = "default") {
  return with(order(id, queue), [](JobOrder& its) { its.lifecycle = "asynq"; });  // one step, deleted when it completes
}

class JobTransactions : public JobsOnEveryBackend {};

TEST_P(JobTransactions, ACompleteLifecycle) {
  EXPECT_EQ(statuses({}, {enqueue("a"), claim(), JobStart{"a", 1, {}}, JobComplete{"a", 1, data("cg==")}, JobDelete{only("a")},
                          JobGet{"a"}, enqueue("a"), claim(), JobComplete{"a", 1, {}}, JobStart{"a", 1, {}}}),
            (Codes{200, 200, 200, 200, 200, 404, 200, 200, 409, 200}));
}

TEST_P(JobTransactions, AnIdIsTakenAgainAndAgain) {
  for (const bool is_stored : {false, true}) {
    std::vector<Operation> operations;
    for (int life = 0; life < 4; ++life) {
      const std::string queue = life % 2 ? "q" : "default";
      operations.insert(operations.end(),
                        {enqueue(brief("a", queue)), claim({"default", "q"}), JobComplete{"a", 1, {}}, JobGet{"a"}});
    }
    operations.emplace_back(enqueue(brief("a", "q")));
    const Codes found = statuses(is_stored ? std::vector<Operation>{enqueue("other"), enqueue("a"), JobDelete{only("a")}}
                                           : std::vector<Operation>{enqueue("z", "q")},
                                 operations);
    EXPECT_EQ(found.back(), 200);
  }
}

TEST_P(JobTransactions, AStoredIdIsTakenAgain) {
  const auto tagged = [](const std::string& id, const std::string& branch) {
    return enqueue(with(order(id), [&](JobOrder& its) {
      its.tags = tags({{"resonate:branch", branch}});
      its.deadline = 5000;
    }));
  };
  JobOrder later = order("a", "q");
  later.process_at = 300;
  EXPECT_EQ(statuses({tagged("a", "x"), tagged("b", "x")},
                     {JobDelete{only("a")}, enqueue(later), claim({"default", "q"}, 5), JobGet{"a"}, JobRun{only("a")},
                      claim({"default", "q"}, 5), JobCancel{only("a")}, JobDelete{only("a")}, tagged("a", "y")}),
            (Codes{200, 200, 200, 200, 200, 200, 200, 200, 200}));
  // The id is used again for a promise without a job, and then for a job.
  EXPECT_EQ(
      statuses({enqueue("a"), enqueue("b")}, {JobDelete{only("a")}, creation("a"), JobGet{"a"}, enqueue("a", "q"), JobGet{"a"}}),
      (Codes{200, 200, 404, 200, 200}));
}

TEST_P(JobTransactions, AStoredIdIsDeletedAndUsedAgain) {
  EXPECT_EQ(statuses({enqueue("a")}, {JobDelete{only("a")}, enqueue("a"), JobDelete{only("a")}, JobGet{"a"}}),
            (Codes{200, 200, 200, 404}));
  EXPECT_EQ(statuses({}, {enqueue("a"), JobDelete{only("a")}, JobGet{"a"}, JobDelete{only("a")}}), (Codes{200, 200, 404, 404}));
}

TEST_P(JobTransactions, ClaimedReleasedAndClaimed) {
  EXPECT_EQ(statuses({enqueue("a"), enqueue("b"), enqueue("c")},
                     {claim({"default"}, 2), JobRelease{"a", 1}, claim({"default"}, 1), JobRelease{"b", 1}, JobRelease{"a", 2},
                      JobArchive{only("a")}, claim({"default"}, 9), JobRun{only("a")}, claim({"default"}, 9)}),
            (Codes{200, 200, 200, 200, 200, 200, 200, 200, 200}));
}

TEST_P(JobTransactions, UniqueKeysOfOneTransaction) {
  const Codes taken = {200, 409, 200, 200, 409};
  EXPECT_EQ(statuses({}, {enqueue(keyed("a", "K")), enqueue(keyed("b", "K")), enqueue(keyed("c", "K", "q")),
                          enqueue(keyed("d", "L")), enqueue(keyed("e", "L"))}),
            taken);
  EXPECT_EQ(statuses({enqueue(keyed("a", "K"))}, {enqueue(keyed("b", "K")), JobCancel{only("a")}, enqueue(keyed("b", "K")),
                                                  enqueue(keyed("c", "K")), JobDelete{only("b")}, enqueue(keyed("c", "K"))}),
            (Codes{409, 200, 200, 409, 200, 200}));
  // An archived job holds its unique key; a completed job does not.
  EXPECT_EQ(statuses({}, {enqueue(keyed("a", "K")), JobArchive{only("a")}, enqueue(keyed("b", "K")), JobRun{only("a")}, claim(),
                          JobStart{"a", 1, {}}, JobComplete{"a", 1, {}}, enqueue(keyed("b", "K"))}),
            (Codes{200, 200, 409, 200, 200, 200, 200, 200}));
}

// If an id is used again, its new job holds only its own unique key.
TEST_P(JobTransactions, UniqueKeysOfIdsThatAreTakenAgain) {
  const std::vector<Operation> first = {enqueue(keyed("a", "K"))};
  const std::vector<std::vector<Operation>> next = {
      {enqueue(keyed("a", "L")), enqueue(keyed("b", "K")), enqueue(keyed("c", "L"))},
      {enqueue(keyed("a", "K", "q")), enqueue(keyed("b", "K")), enqueue(keyed("c", "K", "q"))},
      {creation("a"), enqueue(keyed("b", "K")), enqueue(keyed("c", "K"))},
      {enqueue("a"), enqueue(keyed("b", "K")), enqueue(keyed("c", "K"))}};
  for (const bool is_stored : {false, true})
    for (const std::vector<Operation>& then : next) {
      std::vector<Operation> operations = is_stored ? std::vector<Operation>{} : first;
      operations.emplace_back(JobDelete{only("a")});
      operations.insert(operations.end(), then.begin(), then.end());
      const Codes found = statuses(is_stored ? first : std::vector<Operation>{}, operations);
      EXPECT_EQ((Codes{found.end() - 3, found.end()}), (Codes{200, 200, 409}));
    }
}

TEST_P(JobTransactions, AKeyIsHeldForAsLongAsWasAsked) {
  JobStore store = make(checked(), 10);
  JobOrder held = keyed("a", "K");
  held.unique_for = 50;
  held.sent_at = 5;
  store.add(held);
  EXPECT_EQ(store.run(enqueue(keyed("b", "K")), kNew, 54).status, status::kConflict);
  EXPECT_EQ(store.run(enqueue(keyed("b", "K")), kNew, 55).status, status::kOk);
  EXPECT_EQ(store.run(enqueue(keyed("c", "K")), kNew, 60).status, status::kConflict);
  JobOrder dying = keyed("d", "D");
  dying.deadline = 100;
  store.add(dying);
  EXPECT_EQ(store.run(enqueue(keyed("e", "D")), kNew, 100).status, status::kOk);  // the job that held the key ends at this instant
}

TEST_P(JobTransactions, ManyAtOnce) {
  JobEnqueueMany many;
  many.orders = {order("a"), order("a"), keyed("b", "K"), keyed("c", "K"), order("d")};
  many.orders[4].priority = 101;
  JobCompleteMany complete;
  complete.jobs = {{"a", 1, {}}, {"a", 1, {}}, {"b", 2, {}}, {"none", 1, {}}};
  JobStartMany start;
  start.jobs = {{"a", 1}, {"b", 1}, {"c", 1}, {"a", 1}};
  JobStore store = make();
  const auto replies = store.together({many, claim({"default"}, 9), start, complete});
  const auto codes = [](const Reply& reply) {
    Codes found;
    for (const JobReply::Item& item : reply.jobs->items) found.push_back(item.status);
    return found;
  };
  EXPECT_EQ(codes(replies[0]), (Codes{200, 200, 200, 409, 400}));
  EXPECT_EQ(codes(replies[2]), (Codes{200, 200, 404, 409}));
  EXPECT_EQ(codes(replies[3]), (Codes{200, 409, 409, 404}));
  EXPECT_EQ(statuses({}, {many, claim({"default"}, 9), start, complete}), (Codes{200, 200, 200, 200}));
}

TEST_P(JobTransactions, GeneratedIdsSkipThoseThatExist) {
  JobOrder unnamed = order("");
  unnamed.id.reset();
  JobStore store = make();
  store.add(order("job:0000000000000002"));
  const auto replies = store.together({enqueue(unnamed), enqueue(unnamed), enqueue(unnamed)});
  EXPECT_EQ(replies[0].promise->id(), "job:0000000000000001");
  EXPECT_EQ(replies[1].promise->id(), "job:0000000000000003");
  EXPECT_EQ(replies[2].promise->id(), "job:0000000000000004");
  EXPECT_EQ(store.add(unnamed).promise->id(), "job:0000000000000005");
  EXPECT_EQ(statuses({enqueue(unnamed), creation("job:0000000000000003")}, {enqueue(unnamed), enqueue(unnamed), enqueue(unnamed)}),
            (Codes{200, 200, 200}));
}

TEST_P(JobTransactions, QueuesAndTheirCounts) {
  QueueSet set;
  set.queue = "q";
  set.defaults = {true, JobDefaults{.max_retries = 1,
                                    .policy = fixed({5}),
                                    .on_exhausted = {},
                                    .retention = 0,
                                    .timeout = {},
                                    .priority = 7,
                                    .cancel_with_awaiters = {}}};
  set.lifecycle = {true, "horsies"};
  JobFilter of_queue;
  of_queue.queue = "q";
  EXPECT_EQ(statuses({enqueue("z")},
                     {set, enqueue("a", "q"), enqueue("b", "q"), JobStats{"q"}, QueuePause{"q"}, claim({"q"}), QueueResume{"q"},
                      claim({"q"}), QueueGet{"q"}, QueueList{}, JobCancel{of_queue}, JobStats{{}}, QueueGet{"none"}}),
            (Codes{200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 404}));
}

// The instant since which the oldest pending job waits: of any priority, stored or not, except a job that has ended.
TEST_P(JobTransactions, TheOldestThatWaits) {
  JobStore store = make(checked(), 10);
  const auto since = [](const Reply& reply) { return reply.jobs->statistics.at(0).oldest_pending_at; };
  store.add(with(order("dying"), [](JobOrder& its) { its.deadline = 40; }));
  store.engine->tick(20);
  store.add(with(order("low"), [](JobOrder& its) { its.priority = 90; }));
  store.engine->tick(30);
  store.add(with(order("high"), [](JobOrder& its) { its.priority = 2; }));
  EXPECT_EQ(since(store.must(JobStats{"default"})), 10);
  EXPECT_EQ(since(store.run(JobStats{"default"}, kNew, 40)), 20);  // a read runs no steps
  const auto replies = store.together({JobDelete{only("low")}, JobStats{"default"}, claim(), JobStats{"default"}, enqueue("new"),
                                       JobStats{"default"}, JobRelease{"high", 1}, JobStats{"default"}});
  EXPECT_EQ(since(replies[1]), 30);
  EXPECT_EQ(since(replies[3]), kUnset);
  EXPECT_EQ(since(replies[5]), 40);
  EXPECT_EQ(since(replies[7]), 30);
}

TEST_P(JobTransactions, AllOrNothingLeavesNothing) {
  JobStore store = make();
  store.start(keyed("a", "K"));
  store.add(order("b"));
  const std::string before = store.digest();
  const std::vector<Request> batch = {{kNew, JobComplete{"a", 1, {}}},
                                      {kNew, enqueue(keyed("c", "K", "fresh"))},
                                      {kNew, JobDelete{only("b")}},
                                      {kNew, enqueue("b", "fresh")},
                                      {kNew, JobGet{"none"}}};
  const auto replies = store.engine->apply(batch, {}, Atomicity::all_or_nothing);
  EXPECT_EQ(replies[4].status, status::kNotFound);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(replies[i].status, status::kConflict);
  EXPECT_EQ(store.digest(), before);
  EXPECT_EQ(store.queue("fresh"), nullptr);
  EXPECT_EQ(store.run(enqueue(keyed("c", "K"))).status, status::kConflict);
  store.expect_no_violations();
}

TEST(JobFaults, ACommitThatFailsHasNotHappened) {
  const auto writes_left = std::make_shared<int>(-1);
  JobStore store(std::make_unique<FailingStorage>(writes_left));
  store.add(order("a"));
  const std::string before = store.digest();
  *writes_left = 0;
  EXPECT_THROW(store.run(claim()), Error);
  EXPECT_THROW(store.together({JobDelete{only("a")}, enqueue("a", "q")}), Error);
  *writes_left = -1;
  EXPECT_EQ(store.digest(), before);
  EXPECT_EQ(store.claim(), Texts{"a"});
  EXPECT_EQ(store.row("a")->acquisitions, 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, JobTransactions, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
