// Schedules: requests, occurrences and how missed ones are made up (PROTOCOL 3.18, 4).
#include <gtest/gtest.h>

#include "fake_store.hpp"

namespace resonate {
namespace {

using namespace fake;

constexpr Instant kMinute = 60'000;

ScheduleCreate every_minute(const std::string& id = "s", Duration timeout = 10'000, StringMap its_tags = {}) {
  return {id, "* * * * *", "{{.id}}.{{.timestamp}}", timeout, {}, std::move(its_tags), {}};
}
Options catching_up(CatchUp catchup) {
  Options options = checked();
  options.catchup = catchup;
  return options;
}

TEST(ScheduleRequests, CreateGetDeleteSearch) {
  Store store(checked(), 5);
  EXPECT_EQ(store.run(ScheduleGet{"s"}).status, 404);
  EXPECT_EQ(store.run(ScheduleDelete{"s"}).status, 404);
  const Reply created = store.must(every_minute());
  EXPECT_EQ(created.schedule->created_at, 5);
  EXPECT_EQ(created.schedule->next_run_at, kMinute);
  EXPECT_FALSE(created.schedule->last_run_at);
  ScheduleCreate again = every_minute();
  again.cron = "0 0 1 1 *";
  EXPECT_EQ(store.must(again).schedule, created.schedule);
  EXPECT_EQ(store.must(ScheduleGet{"s"}).schedule, created.schedule);
  for (int i = 0; i < 12; ++i) store.must(every_minute("t" + std::to_string(100 + i)));
  const Reply page = store.must(ScheduleSearch{});
  EXPECT_EQ(page.schedules.size(), 10u);
  SearchQuery rest;
  rest.cursor = *page.cursor;
  EXPECT_EQ(store.must(ScheduleSearch{rest}).schedules.size(), 3u);
  EXPECT_FALSE(store.must(ScheduleSearch{rest}).cursor);
  store.must(ScheduleDelete{"s"});
  EXPECT_EQ(store.run(ScheduleGet{"s"}).status, 404);
  EXPECT_EQ(store.clock->advance_to(kMinute).size(), 12u);
}

TEST(ScheduleRequests, AreRefusedByShape) {
  Store store;
  for (const char* cron : {"", "* * * *", "61 * * * *", "0 0 31 2 *"}) {
    ScheduleCreate create = every_minute();
    create.cron = cron;
    EXPECT_EQ(store.run(create).status, 400) << cron;
  }
  EXPECT_EQ(store.run(every_minute("s", -1)).status, 400);
  EXPECT_EQ(store.run(every_minute("s", 1, tags({{"resonate:target", "x:y"}, {"resonate:delay", "1"}}))).status, 400);
  EXPECT_EQ(store.run(every_minute("s", 1, tags({{"resonate:target", ""}}))).status, 400);
}

TEST(Occurrence, IsAPromiseAsOfItsInstant) {
  Store store;
  ScheduleCreate create = every_minute("s", 10'000, target());
  create.promise_param = data("p");
  store.must(create);
  EXPECT_EQ(texts_of(store.clock->advance_to(kMinute + 20'000)),
            (Texts{"schedule s@60000 s.60000", "dispatch s.60000@60000 " + kTarget, "promise_timeout s.60000@70000"}));
  const RowRef row = store.row("s.60000");
  EXPECT_EQ(row->promise_spec->created_at, kMinute);
  EXPECT_EQ(row->promise_spec->timeout_at, kMinute + 10'000);
  EXPECT_EQ(row->promise_spec->param, data("p"));
  EXPECT_EQ(row->promise_spec->tags, tags({{"resonate:target", kTarget},
                                           {"resonate:schedule", "s"},
                                           {"resonate:origin", "s.60000"},
                                           {"resonate:branch", "s.60000"},
                                           {"resonate:parent", "s.60000"},
                                           {"resonate:prefix", "s.60000"}}));
  EXPECT_EQ(store.run(ScheduleGet{"s"}).schedule->last_run_at, kMinute);
}

TEST(Occurrence, KeepsGivenTagsAndStrictRulesAddNone) {
  for (const RulesId rules : {RulesId::compatible, RulesId::strict}) {
    Store store(checked(rules));
    store.must(every_minute("s", 1, tags({{"resonate:branch", "b"}, {"resonate:schedule", "x"}})));
    store.clock->advance_to(kMinute);
    const StringMap& made = store.row("s.60000")->promise_spec->tags;
    EXPECT_EQ(*made.find("resonate:branch"), "b");
    EXPECT_EQ(*made.find("resonate:schedule"), rules == RulesId::compatible ? "s" : "x");
    EXPECT_EQ(made.size(), rules == RulesId::compatible ? 5u : 2u);
  }
}

TEST(Occurrence, WhoseIdExistsIsNotCreatedTwice) {
  Store store;
  ScheduleCreate create = every_minute();
  create.promise_id = "fixed";
  store.must(create);
  store.create("fixed");
  const auto fired = store.clock->advance_to(kMinute);
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_FALSE(fired[0].created);
  EXPECT_EQ(fired[0].detail, "fixed");
  EXPECT_EQ(store.row("fixed")->promise_spec->created_at, 0);
  EXPECT_EQ(store.run(ScheduleGet{"s"}).schedule->next_run_at, 2 * kMinute);
}

TEST(Occurrence, WithZeroTimeoutIsCreatedSettled) {
  Store store;
  store.must(every_minute("s", 0, target()));
  EXPECT_EQ(store.clock->advance_to(kMinute).size(), 1u);
  EXPECT_EQ(store.row("s.60000")->state, PromiseState::rejected_timedout);
  EXPECT_EQ(store.row("s.60000")->task, TaskState::fulfilled);
}

TEST(Occurrence, SpeaksTheDialectOfItsSchedule) {
  Store store;
  store.must(every_minute("s", 10, tags({{"resonate:invoke", "poll://i"}})), kOld);
  store.clock->advance_to(kMinute);
  EXPECT_EQ(store.row("s.60000")->promise_spec->dialect, kOld);
  EXPECT_EQ(store.engine->messages_with_records()[0].first->dialect, kOld);
}

TEST(CatchUpAll, MakesEveryMissedOccurrence) {
  Store store(catching_up(CatchUp::all));
  store.must(every_minute("s", 10'000, target()));
  EXPECT_EQ(texts_of(store.engine->tick(3 * kMinute + 5)),
            (Texts{"schedule s@60000 s.60000", "promise_timeout s.60000@70000", "schedule s@120000 s.120000",
                   "promise_timeout s.120000@130000", "schedule s@180000 s.180000", "dispatch s.180000@180000 " + kTarget}));
  EXPECT_EQ(store.outbox(), Texts{"execute:s.180000"});  // no message is queued for the promises that timed out
}

TEST(CatchUpLatest, MakesTheLatestOnly) {
  Store store(catching_up(CatchUp::latest));
  store.must(every_minute());
  EXPECT_EQ(texts_of(store.engine->tick(100 * kMinute + 5)), Texts{"schedule s@60000 s.6000000"});
  const Reply reply = store.run(ScheduleGet{"s"});
  EXPECT_EQ(reply.schedule->last_run_at, 100 * kMinute);
  EXPECT_EQ(reply.schedule->next_run_at, 101 * kMinute);
}

TEST(CatchUpNone, SkipsWhatIsTooLate) {
  Store store(catching_up(CatchUp::none));
  ScheduleCreate create = every_minute();
  create.cron = "*/10 * * * *";
  store.must(create);
  EXPECT_EQ(texts_of(store.engine->tick(35 * kMinute)), Texts{"schedule s@600000"});
  EXPECT_FALSE(store.run(ScheduleGet{"s"}).schedule->last_run_at);
  EXPECT_EQ(store.run(ScheduleGet{"s"}).schedule->next_run_at, 40 * kMinute);
  EXPECT_EQ(texts_of(store.engine->tick(41 * kMinute)), Texts{"schedule s@2400000 s.2400000"});  // one minute late: still in time
  EXPECT_EQ(texts_of(store.engine->tick(51 * kMinute + 1)), Texts{"schedule s@3000000"});
}

TEST(Schedules, APausedOneDoesNotFireUntilItIsResumed) {
  for (const CatchUp catchup : {CatchUp::all, CatchUp::latest, CatchUp::none}) {
    Store store{Options{.catchup = catchup}};
    EXPECT_EQ(store.run(SchedulePause{"s"}).status, 404);
    EXPECT_EQ(store.run(ScheduleResume{"s"}).status, 404);
    store.must(every_minute("s"));
    EXPECT_EQ(store.must(ScheduleResume{"s"}).schedule->next_run_at, kMinute);
    store.clock->advance_to(kMinute);
    const Reply paused = store.must(SchedulePause{"s"});
    EXPECT_TRUE(paused.schedule->paused);
    EXPECT_EQ(store.must(SchedulePause{"s"}).schedule, paused.schedule);
    EXPECT_EQ(store.must(every_minute("s")).schedule, paused.schedule);
    EXPECT_TRUE(store.clock->advance_to(10 * kMinute + 1).empty());
    const Reply resumed = store.must(ScheduleResume{"s"});
    EXPECT_FALSE(resumed.schedule->paused);
    EXPECT_EQ(resumed.schedule->last_run_at, kMinute);
    EXPECT_EQ(resumed.schedule->next_run_at, 11 * kMinute);
    EXPECT_EQ(store.clock->advance_to(11 * kMinute).size(), 1u);
    EXPECT_TRUE(store.engine->check().empty());
  }
}

TEST(Schedules, ManyFireTogether) {
  Store store{Options{}};
  constexpr int kSchedules = 1500;
  std::vector<Request> batch;
  for (int i = 0; i < kSchedules; ++i) batch.push_back({kNew, every_minute("schedule number " + std::to_string(10'000 + i))});
  for (const Reply& reply : store.engine->apply(std::move(batch))) ASSERT_EQ(reply.status, 200);
  std::size_t fired = 0;
  for (int i = 1; i <= 3; ++i) fired += store.clock->advance_to(i * kMinute).size();
  EXPECT_EQ(fired, 3u * kSchedules);
  EXPECT_TRUE(store.engine->check().empty());
}

// Regression (see WorkingSetRegression): a batch replaced and deleted schedules while its instants advanced.
TEST(SchedulesRegression, ReplacedWithinOneBatch) {
  Store store{Options{}};
  const std::string name = "a schedule whose name is on the heap ";
  std::vector<Request> batch;
  std::vector<std::optional<Instant>> nows;
  for (int i = 0; i < 20; ++i) batch.push_back({kNew, every_minute(name + std::to_string(i), 5, target())});
  for (int minute = 1; minute < 5; ++minute) {
    nows.resize(batch.size());
    nows.emplace_back(minute * kMinute);
    batch.push_back({kNew, creation("p" + std::to_string(minute), kFar)});
    batch.push_back({kNew, ScheduleDelete{name + std::to_string(minute)}});
    batch.push_back({kNew, every_minute("b" + std::to_string(minute))});
  }
  for (const Reply& reply : store.engine->apply(std::move(batch), nows)) EXPECT_EQ(reply.status, 200) << reply.error;
  EXPECT_EQ(store.clock->now(), 4 * kMinute);
  EXPECT_TRUE(store.engine->check().empty());
}

}  // namespace
}  // namespace resonate
