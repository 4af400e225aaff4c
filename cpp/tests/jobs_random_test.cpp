// Random requests on jobs give the same replies and state one by one, in batches, and in one transaction, in memory and in a
// file.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "fake_job_requests.hpp"

namespace resonate {
namespace {

using namespace fake;

struct Sent {
  Request request;
  Instant now;
};

struct Case {
  unsigned seed;
  Backend backend;
  bool check;  // without checks, a store in a file uses group commit
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  return std::string(info.param.backend == Backend::memory ? "Memory" : "Sqlite") + (info.param.check ? "Checked" : "Plain") +
         std::to_string(info.param.seed);
}

class RandomJobs : public ::testing::TestWithParam<Case> {
 protected:
  Options options(bool check) const {
    Options made;
    made.check = check;
    made.rules = GetParam().seed % 2 ? RulesId::compatible : RulesId::strict;
    made.unblock_retention = 150;
    return made;
  }
  static std::vector<std::string> send(JobStore& store, std::span<const Sent> sent) {
    std::vector<Request> requests;
    std::vector<std::optional<Instant>> nows;
    for (const Sent& one : sent) {
      requests.push_back(one.request);
      nows.emplace_back(one.now);
    }
    std::vector<std::string> texts;
    for (const Reply& reply : store.engine->apply(std::move(requests), nows)) texts.push_back(whole_text_of(reply));
    return texts;
  }
  static void expect_same(JobStore& one, JobStore& other) {
    ASSERT_EQ(one.digest(), other.digest()) << one.snapshot() << "\n" << other.snapshot();
    ASSERT_EQ(one.outbox(), other.outbox());
    ASSERT_EQ(one.engine->next_due(), other.engine->next_due());
    other.expect_no_violations();
  }
  Backends backends;
};

TEST_P(RandomJobs, OneByOneAndInBatches) {
  SCOPED_TRACE("seed " + std::to_string(GetParam().seed));
  RandomJobRequests random(GetParam().seed);
  JobStore single(options(true));
  JobStore batched(backends.storage(GetParam().backend), options(GetParam().check));
  std::vector<Sent> sent;
  std::vector<std::string> answers;
  Instant now = 0;
  for (int round = 0; round < 30; ++round) {
    const std::size_t from = sent.size();
    for (int i = 1 + random.below(40); i > 0; --i) {
      now = random.after(now);
      sent.push_back({random.next(single, now), now});
      answers.push_back(whole_text_of(single.engine->apply(sent.back().request, now)));
    }
    const auto replies = send(batched, std::span(sent).subspan(from));
    for (std::size_t i = from; i < sent.size(); ++i) ASSERT_EQ(answers[i], replies[i - from]) << "request " << i;
    ASSERT_NO_FATAL_FAILURE(expect_same(single, batched));
    single.expect_no_violations();
    ASSERT_FALSE(HasFailure());
    if (random.below(4) == 0) {
      now += random.below(200);
      ASSERT_EQ(texts_of(single.engine->tick(now)), texts_of(batched.engine->tick(now)));
      ASSERT_EQ(single.engine->take_messages().size(), batched.engine->take_messages().size());
      ASSERT_TRUE(single.engine->purge(now / 2) == batched.engine->purge(now / 2));
      ASSERT_NO_FATAL_FAILURE(expect_same(single, batched));
    }
  }
}

// All requests in one transaction.
TEST_P(RandomJobs, OneByOneAndAllTogether) {
  SCOPED_TRACE("seed " + std::to_string(GetParam().seed));
  RandomJobRequests random(GetParam().seed + 5000);
  JobStore single(options(true));
  std::vector<Sent> sent;
  std::vector<std::string> answers;
  Instant now = 0;
  for (int i = 0; i < 500; ++i) {
    now = random.after(now);
    sent.push_back({random.next(single, now), now});
    answers.push_back(whole_text_of(single.engine->apply(sent.back().request, now)));
  }
  JobStore whole(backends.storage(GetParam().backend), options(GetParam().check));
  const auto replies = send(whole, sent);
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(answers[i], replies[i]) << "request " << i;
  ASSERT_NO_FATAL_FAILURE(expect_same(single, whole));
  EXPECT_EQ(texts_of(single.engine->tick(now + 100)), texts_of(whole.engine->tick(now + 100)));
  expect_same(single, whole);
}

// A fork, and a store restored from a snapshot, continue like the original.
TEST_P(RandomJobs, CopiesBehaveLikeTheirOriginal) {
  SCOPED_TRACE("seed " + std::to_string(GetParam().seed));
  RandomJobRequests random(GetParam().seed + 9000);
  JobStore store(backends.storage(GetParam().backend), options(GetParam().check));
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 40; ++i) {
      const Instant now = store.clock->now() + random.below(6);
      store.engine->apply(random.next(store, now), now);
    }
    JobStore fork(options(true));
    fork.clock = std::make_shared<ManualClock>(store.clock->now());
    fork.engine = store.engine->fork(fork.clock);
    JobStore restored(backends.storage(GetParam().backend), options(true), store.clock->now());
    restored.engine->replace_storage(read_snapshot(store.snapshot()));
    std::vector<Sent> sent;
    for (int i = 0; i < 20; ++i) {
      const Instant now = fork.clock->now() + random.below(9);
      sent.push_back({random.next(fork, now), now});
      const std::string answer = whole_text_of(fork.engine->apply(sent.back().request, now));
      ASSERT_EQ(answer, whole_text_of(store.engine->apply(sent.back().request, now)));
      ASSERT_EQ(answer, whole_text_of(restored.engine->apply(sent.back().request, now)));
    }
    const Instant to = store.clock->now() + random.below(120);
    const auto fired = texts_of(store.clock->advance_to(to));
    ASSERT_EQ(fired, texts_of(fork.clock->advance_to(to)));
    ASSERT_EQ(fired, texts_of(restored.clock->advance_to(to)));
    ASSERT_NO_FATAL_FAILURE(expect_same(store, fork));
    ASSERT_NO_FATAL_FAILURE(expect_same(store, restored));
  }
}

// The random requests cover enough: each kind is granted at times, and the jobs reach every state and every outcome of an attempt.
TEST(RandomJobRequests, ReachEverything) {
  JobStore store(Options{});
  RandomJobRequests random(2);
  std::set<std::size_t> granted;
  std::set<std::size_t> refused;
  std::set<JobState> states;
  std::set<Outcome> outcomes;
  std::set<StepKind> steps;
  bool whole_batch = false;  // a claim returned more jobs than it asked for
  bool began_and_left = false;
  Texts occurrences;
  bool occurred = false;  // a schedule created a job
  bool held_back = false;
  const auto add = [&](const RowRef& row) {
    if (!row || !row->job) return;
    states.insert(row->job->state);
    for (const Attempt& one : row->job->attempts) outcomes.insert(one.outcome);
  };
  store.engine->start_trace([&](const TraceEvent& event) {
    if (event.fired) steps.insert(event.fired->kind);
    if (event.fired && event.fired->kind == StepKind::schedule) {
      if (event.fired->created) occurrences.push_back(event.fired->detail);
      held_back = held_back || !event.fired->created;
    }
    if (!event.request) return;
    const Reply& reply = *event.reply;
    if (const auto* claim = std::get_if<JobClaim>(&event.request->operation))
      whole_batch = whole_batch || std::ssize(reply.rows) > claim->count;
    if (const Job* job = reply.promise ? reply.promise->job.get() : nullptr)
      began_and_left = began_and_left || (std::holds_alternative<JobRun>(event.request->operation) && job->spec->group &&
                                          !job->batch && job->state == JobState::pending);
    (reply.ok() ? granted : refused).insert(event.request->operation.index());
    add(reply.promise);
    for (const RowRef& row : reply.rows) add(row);
    if (!reply.jobs) return;
    for (const JobReply::Item& item : reply.jobs->items) add(item.row);
  });
  Instant now = 0;
  for (int i = 0; i < 50'000; ++i) {
    now = random.after(now);
    store.engine->apply(random.next(store, now), now);
    for (const std::string& id : std::exchange(occurrences, {})) occurred = occurred || store.job(id);
  }
  store.engine->stop_trace();
  const std::size_t first_of_jobs = Operation(JobEnqueue{}).index();
  for (std::size_t kind = first_of_jobs; kind < std::variant_size_v<Operation>; ++kind)
    EXPECT_TRUE(granted.contains(kind)) << "kind " << kind << " is never granted";
  EXPECT_GE(std::distance(refused.lower_bound(first_of_jobs), refused.end()), 10);
  EXPECT_EQ(states.size(), kJobStates);
  EXPECT_EQ(outcomes.size(), 8u);
  for (const StepKind kind :
       {StepKind::job_ready, StepKind::job_expiry, StepKind::job_lease, StepKind::job_timeout, StepKind::job_retention,
        StepKind::promise_timeout, StepKind::listener_drain, StepKind::callback_drain, StepKind::job_batch, StepKind::schedule})
    EXPECT_TRUE(steps.contains(kind)) << name_of(kind) << " was never taken";
  EXPECT_TRUE(whole_batch) << "no batch was larger than a claim asked for";
  EXPECT_TRUE(began_and_left) << "no job was run out of its group";
  EXPECT_TRUE(occurred) << "no schedule made a job";
  EXPECT_TRUE(held_back) << "no schedule found its id or its key held";
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    all.push_back({seed, Backend::memory, seed % 2 == 0});
    all.push_back({seed + 100, Backend::sqlite, seed % 2 == 0});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomJobs, ::testing::ValuesIn(cases()), name_of_case);

}  // namespace
}  // namespace resonate
