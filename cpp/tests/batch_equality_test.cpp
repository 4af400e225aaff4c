// A batch gives the same replies and the same state as its requests one by one (PROTOCOL 8), for any requests.
#include <gtest/gtest.h>

#include "fake_backends.hpp"
#include "fake_jobs.hpp"
#include "fake_requests.hpp"
#include "fake_storage.hpp"

namespace resonate {
namespace {

using fake::RandomRequests;
using fake::Store;
using fake::text_of;

struct Sent {
  Request request;
  std::optional<Instant> now;
};

struct Case {
  unsigned seed;
  RulesId rules;
  CatchUp catchup;
  bool cadence_by_ttl;
};

Options options_of(const Case& its, bool check) {
  Options options;
  options.rules = its.rules;
  options.catchup = its.catchup;
  options.unblock_retention = 400;
  options.check = check;
  if (its.cadence_by_ttl) {
    options.retry_timeout = std::nullopt;
  } else {
    options.retry_timeout = 30;
  }
  return options;
}

class BatchEquality : public ::testing::TestWithParam<Case> {};

std::vector<std::string> send_batch(Store& store, const std::vector<Sent>& sent, std::size_t from, std::size_t to) {
  std::vector<Request> requests;
  std::vector<std::optional<Instant>> nows;
  for (std::size_t i = from; i < to; ++i) {
    requests.push_back(sent[i].request);
    nows.push_back(sent[i].now);
  }
  std::vector<std::string> texts;
  for (const Reply& reply : store.engine->apply(std::move(requests), nows)) texts.push_back(text_of(reply));
  return texts;
}

TEST_P(BatchEquality, OneByOneAndInBatches) {
  SCOPED_TRACE("seed " + std::to_string(GetParam().seed));
  RandomRequests random(GetParam().seed);
  Store single(options_of(GetParam(), true));
  fake::Backends backends;  // in a file, a batch loads the rows that it names before it runs
  Store batched(backends.storage(GetParam().seed % 2 ? fake::Backend::sqlite : fake::Backend::memory),
                options_of(GetParam(), true));
  std::vector<Sent> sent;
  std::vector<std::string> answers;
  Instant now = 0;
  for (int round = 0; round < 40; ++round) {
    const std::size_t from = sent.size();
    const int size = 1 + random.below(25);
    for (int i = 0; i < size; ++i) {
      now += random.below(4) ? random.below(6) : random.below(120);
      if (random.below(60) == 0) now += 5000;
      Sent next{random.next(single, now), random.below(5) ? std::optional<Instant>(now) : std::nullopt};
      if (!next.now) now = single.clock->now();
      sent.push_back(next);
      answers.push_back(text_of(single.engine->apply(next.request, next.now)));
    }
    const auto replies = send_batch(batched, sent, from, sent.size());
    for (std::size_t i = from; i < sent.size(); ++i) ASSERT_EQ(answers[i], replies[i - from]) << "request " << i;
    ASSERT_EQ(single.digest(), batched.digest()) << single.snapshot() << "\n" << batched.snapshot();
    ASSERT_EQ(single.outbox(), batched.outbox());
    ASSERT_EQ(single.engine->next_due(), batched.engine->next_due());
    ASSERT_EQ(single.clock->now(), batched.clock->now());
    const auto violations = single.engine->check();
    ASSERT_TRUE(violations.empty()) << violations[0].name << " " << violations[0].id << " " << violations[0].detail;
  }
  Store whole(options_of(GetParam(), false));
  const auto replies = send_batch(whole, sent, 0, sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(answers[i], replies[i]) << "request " << i;
  EXPECT_EQ(single.digest(), whole.digest());
  const auto late = single.clock->now() + 4000;
  EXPECT_EQ(fake::texts_of(single.engine->tick(late)), fake::texts_of(whole.engine->tick(late)));
  EXPECT_EQ(single.digest(), whole.digest());
}

// An advance runs the steps of every instant. A fork that advances in the same way ends in the same state.
TEST_P(BatchEquality, AForkBehavesLikeItsOriginal) {
  SCOPED_TRACE("seed " + std::to_string(GetParam().seed));
  RandomRequests random(GetParam().seed + 1000);
  Store store(options_of(GetParam(), true));
  for (int round = 0; round < 12; ++round) {
    for (int i = 0; i < 15; ++i)
      store.run(random.next(store, store.clock->now()).operation, random.below(3) ? fake::kNew : fake::kOld);
    const auto clock = std::make_shared<ManualClock>(store.clock->now());
    const auto fork = store.engine->fork(clock);
    const Instant to = store.clock->now() + random.below(200);
    const auto fired = fake::texts_of(store.clock->advance_to(to));
    ASSERT_EQ(fired, fake::texts_of(clock->advance_to(to)));
    ASSERT_EQ(store.digest(), fork->with_storage([&](Storage& storage) { return digest(storage, fork->options()); }));
    ASSERT_TRUE(store.engine->check().empty());
    ASSERT_TRUE(fork->check().empty());
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (unsigned seed = 1; seed <= 12; ++seed)
    all.push_back({seed, seed % 2 ? RulesId::compatible : RulesId::strict, static_cast<CatchUp>(seed % 3), seed % 4 == 0});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Seeds, BatchEquality, ::testing::ValuesIn(cases()));

// Counts the records that are loaded from a file.
class CountingStorage final : public fake::FailingStorage {
 public:
  struct Loads {
    std::vector<std::string> single;  // keys that were loaded alone
    std::vector<std::string> many;    // keys that were loaded with others
  };
  CountingStorage(std::unique_ptr<Storage> inner, Loads& loads)
      : FailingStorage(std::make_shared<int>(-1), std::move(inner)), loads_(loads) {}
  void load_many(const Lookups& records) override {
    std::vector<std::string> keys;
    for (const Lookup<RowRef>& row : records.rows) keys.emplace_back(row.key);
    for (const Lookup<ScheduleRef>& schedule : records.schedules) keys.push_back("schedule " + std::string(schedule.key));
    for (const Lookup<QueueRef>& queue : records.queues) keys.push_back("queue " + std::string(queue.key));
    for (const EdgeLookup& edge : records.edges) keys.push_back("edge " + std::string(edge.owner) + " " + std::string(edge.other));
    std::vector<std::string>& into = keys.size() == 1 ? loads_.single : loads_.many;
    into.insert(into.end(), keys.begin(), keys.end());
    FailingStorage::load_many(records);
  }

 private:
  Loads& loads_;
};

TEST(BatchPlan, LoadsWhatTheRequestsNameOnce) {
  fake::Backends backends;
  CountingStorage::Loads loads;
  Options options;
  Store store(std::make_unique<CountingStorage>(backends.storage(fake::Backend::sqlite), loads), options);
  for (int i = 0; i < 40; ++i) store.create("p" + std::to_string(i));
  loads = {};
  std::vector<Request> requests;
  std::vector<std::string> named;
  for (int i = 20; i < 60; ++i) {  // half of them exist
    named.push_back("p" + std::to_string(i));
    requests.push_back({fake::kNew, fake::creation(named.back())});
    requests.push_back({fake::kNew, fake::settlement(named.back())});
    requests.push_back({fake::kNew, PromiseGet{named.back()}});
  }
  for (const Reply& reply : store.engine->apply(std::move(requests))) EXPECT_EQ(reply.status, status::kOk) << reply.error;
  EXPECT_TRUE(loads.single.empty());
  loads.many.erase(std::unique(loads.many.begin(), loads.many.end()), loads.many.end());
  EXPECT_EQ(loads.many, named);

  loads = {};
  store.settle("p0");  // a single request loads its row when it needs it
  EXPECT_EQ(loads.single, (std::vector<std::string>{"p0"}));
  EXPECT_TRUE(loads.many.empty());
}

TEST(BatchPlan, LoadsSchedulesQueuesAndEdgesWithTheRows) {
  fake::Backends backends;
  CountingStorage::Loads loads;
  Store store(std::make_unique<CountingStorage>(backends.storage(fake::Backend::sqlite), loads), Options());
  store.create("a");
  store.engine->apply({fake::kNew, fake::enqueue("j0")});
  loads = {};
  std::vector<Request> requests;
  requests.push_back({fake::kNew, RegisterListener{"a", "poll://any@x"}});
  requests.push_back({fake::kNew, fake::enqueue("j1")});
  requests.push_back({fake::kNew, fake::enqueue("j2")});
  requests.push_back({fake::kNew, ScheduleGet{"s"}});
  store.engine->apply(std::move(requests));
  EXPECT_EQ(loads.many, (std::vector<std::string>{"a", "j1", "j2", "schedule s", "queue default", "edge a poll://any@x"}));
  EXPECT_EQ(loads.single, std::vector<std::string>());
}

}  // namespace
}  // namespace resonate
