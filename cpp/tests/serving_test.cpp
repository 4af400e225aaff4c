// Functions of the core for a server: the ids in a request, its size, its scope, and the notification of new work.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include "fake_jobs.hpp"
#include "protocol/admission.hpp"
#include "protocol/envelope_handler.hpp"

namespace resonate {
namespace {

using namespace fake;

std::vector<std::string> ids_of(const Operation& operation) {
  std::string buffer;
  std::vector<std::string> ids;
  for (const std::string_view id : named_by(operation, buffer).ids) ids.emplace_back(id);
  return ids;
}

using Ids = std::vector<std::string>;

TEST(Admission, EveryIdIsFoundAlsoInInnerActions) {
  EXPECT_EQ(ids_of(PromiseGet{"a"}), Ids{"a"});
  EXPECT_EQ(ids_of(creation("a")), Ids{"a"});
  EXPECT_EQ(ids_of(settlement("a")), Ids{"a"});
  EXPECT_EQ(ids_of(RegisterCallback{"awaited", "awaiter"}), (Ids{"awaited", "awaiter"}));
  EXPECT_EQ(ids_of(RegisterListener{"awaited", "http://x"}), Ids{"awaited"});
  EXPECT_EQ(ids_of(TaskCreate{"pid", 1, creation("a")}), Ids{"a"});
  EXPECT_EQ(ids_of(TaskAcquire{"a", 0, "pid", 1}), Ids{"a"});
  EXPECT_EQ(ids_of(TaskSuspend{"a", 1, {{"b", "a"}, {"c", "d"}}}), (Ids{"a", "b", "a", "c", "d"}));
  EXPECT_EQ(ids_of(TaskFulfill{"a", 1, settlement("b")}), (Ids{"a", "b"}));
  EXPECT_EQ(ids_of(TaskFence{"a", 1, creation("b")}), (Ids{"a", "b"}));
  EXPECT_EQ(ids_of(TaskFence{"a", 1, settlement("c")}), (Ids{"a", "c"}));
  EXPECT_EQ(ids_of(TaskHeartbeat{"pid", {{"a", 1}, {"b", 2}}}), (Ids{"a", "b"}));
  EXPECT_EQ(ids_of(TaskHalt{"a"}), Ids{"a"});
  EXPECT_EQ(ids_of(ScheduleDelete{"a"}), Ids{"a"});
  EXPECT_EQ(ids_of(PromiseSearch{}), Ids{});
}

TEST(Admission, AScheduleTouchesTheBeginningOfItsPromises) {
  const auto schedule = [](const std::string& promise_id) {
    ScheduleCreate create;
    create.id = "s";
    create.promise_id = promise_id;
    return ids_of(create);
  };
  EXPECT_EQ(schedule("{{.id}}.{{.timestamp}}"), (Ids{"s", "s."}));
  EXPECT_EQ(schedule("mine.{{.timestamp}}.{{.id}}"), (Ids{"s", "mine."}));
  EXPECT_EQ(schedule("{{.timestamp}}"), (Ids{"s", ""}));
  EXPECT_EQ(schedule("fixed"), (Ids{"s", "fixed"}));
}

TEST(Admission, WhatIsTooLargeIsNamed) {
  const RequestLimits limits{.id_bytes = 8, .tags = 2, .list_length = 2};
  EXPECT_EQ(exceeded_limit(creation("12345678"), limits), std::nullopt);
  const auto long_id = exceeded_limit(creation("123456789"), limits);
  ASSERT_TRUE(long_id.has_value());
  EXPECT_NE(long_id->find("12345678"), std::string::npos) << *long_id;
  EXPECT_NE(long_id->find("at most 8 bytes, got 9"), std::string::npos) << *long_id;
  EXPECT_TRUE(exceeded_limit(creation("a", kFar, tags({{"1", ""}, {"2", ""}, {"3", ""}})), limits).has_value());
  EXPECT_TRUE(exceeded_limit(creation("a", kFar, tags({{"a long name of a tag", ""}})), limits).has_value());
  EXPECT_TRUE(exceeded_limit(creation("a", kFar, target("poll://any@a-long-group")), {.id_bytes = 16}).has_value());
  EXPECT_FALSE(exceeded_limit(creation("a", kFar, tags({{"tag", "a value may be as long as it likes"}})), limits).has_value());
  EXPECT_TRUE(exceeded_limit(TaskHeartbeat{"pid", {{"a", 1}, {"b", 1}, {"c", 1}}}, limits).has_value());
  EXPECT_TRUE(exceeded_limit(TaskSuspend{"a", 1, {{"b", "a"}, {"c", "a"}, {"d", "a"}}}, limits).has_value());
  EXPECT_TRUE(exceeded_limit(TaskFence{"a", 1, creation("a long id of an action")}, limits).has_value());
  EXPECT_TRUE(exceeded_limit(RegisterListener{"a", "http://long.address"}, limits).has_value());
}

TEST(Admission, AnIdIsNotCutWithinACharacter) {
  std::string id;
  for (int i = 0; i < 60; ++i) id += "ä";
  const auto problem = exceeded_limit(PromiseGet{"x" + id}, {.id_bytes = 8});
  ASSERT_TRUE(problem.has_value());
  const std::size_t dots = problem->find("...");
  ASSERT_NE(dots, std::string::npos);
  EXPECT_EQ(static_cast<unsigned char>((*problem)[dots - 1]), 0xA4) << *problem;  // the last byte of ä
}

TEST(Admission, BracketsCountOutsideOfTextsOnly) {
  EXPECT_FALSE(nests_deeper(R"({"a":[1,{"b":2}]})", 3));
  EXPECT_TRUE(nests_deeper(R"({"a":[1,{"b":2}]})", 2));
  EXPECT_FALSE(nests_deeper(R"({"a":"[[[[[[\"[[[["})", 1));
  EXPECT_FALSE(nests_deeper("]]]]{", 1));
  EXPECT_TRUE(nests_deeper(std::string(100'000, '['), 64));
  EXPECT_FALSE(nests_deeper("\"\\", 1));
}

// --- Request::scope -------------------------------------------------------------------------------------------------------------

Reply run_in(Store& store, const std::string& scope, Operation operation) {
  return store.engine->apply(Request{kNew, std::move(operation), scope});
}

Ids ids_of(const std::vector<RowRef>& rows) {
  Ids ids;
  for (const RowRef& row : rows) ids.push_back(row->id());
  return ids;
}

TEST(Scope, ASearchFindsWhatIsInIt) {
  Store store;
  for (const char* id : {"mine.1", "mine.2", "other.1", "min"}) store.create(id, kFar, target());
  EXPECT_EQ(ids_of(run_in(store, "mine.", PromiseSearch{}).rows), (Ids{"mine.1", "mine.2"}));
  EXPECT_EQ(ids_of(run_in(store, "mine.", TaskSearch{}).rows), (Ids{"mine.1", "mine.2"}));
  EXPECT_EQ(run_in(store, "", PromiseSearch{}).rows.size(), 4u);
  PromiseSearch first{{.filter = {}, .limit = 1, .cursor = {}}};
  const Reply page = run_in(store, "mine.", first);
  EXPECT_EQ(page.cursor, "mine.1");
  first.query.cursor = *page.cursor;
  EXPECT_EQ(run_in(store, "mine.", first).cursor, std::nullopt);  // the cursor gives no hint of ids outside the scope
}

TEST(Scope, SchedulesAreSearchedInIt) {
  Store store;
  for (const char* id : {"mine", "other"}) {
    ScheduleCreate create{.id = id,
                          .cron = "* * * * *",
                          .promise_id = "{{.id}}.{{.timestamp}}",
                          .promise_timeout = 1,
                          .promise_param = {},
                          .promise_tags = {},
                          .job = {}};
    store.must(std::move(create));
  }
  const Reply found = run_in(store, "mine", ScheduleSearch{});
  ASSERT_EQ(found.schedules.size(), 1u);
  EXPECT_EQ(found.schedules.front()->id, "mine");
}

TEST(Scope, PreloadHoldsWhatIsInIt) {
  Store store;
  auto branch = target();
  branch.set("resonate:branch", "b");
  store.create("mine.1", kFar, branch);
  store.create("mine.2", kFar, branch);
  store.create("other", kFar, branch);
  EXPECT_EQ(ids_of(run_in(store, "mine.", TaskAcquire{"mine.1", 0, "pid", 10}).preload), Ids{"mine.2"});
}

TEST(Scope, AHeartbeatForEverythingRenewsWhatIsInIt) {
  Store store;
  store.claim("mine", kFar, 100, "pid");
  store.claim("other", kFar, 100, "pid");
  store.clock->set(50);
  EXPECT_EQ(run_in(store, "mine", TaskHeartbeat{"pid", {}}).status, 200);
  EXPECT_EQ(store.row("mine")->expires_at, 150);
  EXPECT_EQ(store.row("other")->expires_at, 100);
}

// --- Messages -------------------------------------------------------------------------------------------------------------------

TEST(Acknowledge, TakesEachMessageOnce) {
  Store store;
  store.create("a", kFar, target());
  store.create("b", kFar, target());
  const auto waiting = store.engine->messages_with_records();
  ASSERT_EQ(waiting.size(), 2u);
  const std::int64_t first = waiting[0].first->seq;
  const std::vector<std::int64_t> twice{first, first, -3, 0, 999};
  EXPECT_EQ(store.engine->acknowledge(twice), std::vector<std::int64_t>{first});
  EXPECT_EQ(store.engine->acknowledge(twice), std::vector<std::int64_t>{});
  ASSERT_EQ(store.engine->messages_with_records().size(), 1u);
  EXPECT_EQ(store.engine->messages_with_records().front().first->id, "b");
}

TEST(Messages, AreReadFromANumberOn) {
  Store store;
  for (const char* id : {"a", "b", "c"}) store.create(id, kFar, target(id));
  const auto all = store.engine->messages_with_records();
  const auto any = [](const OutboxMessage&) { return true; };
  const auto later = store.engine->messages_with_records_if(any, all[0].first->seq, 10);
  ASSERT_EQ(later.size(), 2u);
  EXPECT_EQ(later[0].first->id, "b");
  const auto to_c = [](const OutboxMessage& message) { return message.address == "c"; };
  EXPECT_EQ(store.engine->messages_with_records_if(to_c, 0, 10).size(), 1u);
}

// --- Watch ----------------------------------------------------------------------------------------------------------------------

class NotificationPipe {
 public:
  explicit NotificationPipe(Store& store) {
    EXPECT_EQ(::pipe2(ends_, O_NONBLOCK), 0);
    watch = store.engine->watch(ends_[1]);
  }
  ~NotificationPipe() {
    watch->close();
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  // The number of notifications since the last call.
  int notifications() {
    char bytes[16];
    const auto read = ::read(ends_[0], bytes, sizeof bytes);
    return read < 0 ? 0 : static_cast<int>(read);
  }
  std::shared_ptr<Watch> watch;

 private:
  int ends_[2];
};

TEST(Watch, NotifiesOnceAtAMessageUntilItIsRearmed) {
  Store store;
  NotificationPipe pipe(store);
  store.create("a", kFar, target());
  store.create("b", kFar, target());
  EXPECT_EQ(pipe.notifications(), 1);
  store.create("c", kFar, target());
  EXPECT_EQ(pipe.notifications(), 0);
  pipe.watch->rearm(kNever);
  store.create("d", kFar, target());
  EXPECT_EQ(pipe.notifications(), 1);
}

TEST(Watch, NotifiesWhenSomethingBecomesDueSooner) {
  Store store;
  NotificationPipe pipe(store);
  pipe.watch->rearm(500);
  store.create("later", 600, tags({{"resonate:external", "true"}}));
  EXPECT_EQ(pipe.notifications(), 0);
  store.create("sooner", 400, tags({{"resonate:external", "true"}}));
  EXPECT_EQ(pipe.notifications(), 1);
  pipe.watch->rearm(300);
  store.create("internal", 100);  // an internal promise has no timer
  EXPECT_EQ(pipe.notifications(), 0);
}

TEST(Watch, NotifiesForSchedulesAReplacedStateAndAnEndOfPause) {
  Store store;
  NotificationPipe pipe(store);
  store.must(ScheduleCreate{
      .id = "s", .cron = "* * * * *", .promise_id = "p", .promise_timeout = 1, .promise_param = {}, .promise_tags = {}, .job = {}});
  EXPECT_EQ(pipe.notifications(), 1);
  pipe.watch->rearm(kNever);
  store.engine->reset();
  EXPECT_EQ(pipe.notifications(), 1);
  pipe.watch->rearm(kNever);
  store.engine->set_paused(true);
  EXPECT_EQ(pipe.notifications(), 1);
}

TEST(Watch, AReadDoesNotRingAndAClosedOneIsSilent) {
  Store store;
  NotificationPipe pipe(store);
  store.run(PromiseGet{"a"});
  EXPECT_EQ(pipe.notifications(), 0);
  pipe.watch->close();
  EXPECT_TRUE(pipe.watch->closed());
  store.create("a", kFar, target());
  EXPECT_EQ(pipe.notifications(), 0);
}

TEST(Watch, CountsEachCommitFromItsCreationToItsEnd) {
  JobStore store;
  const std::shared_ptr<Watch> first = store.engine->watch(-1);
  store.add(order("a"));
  {
    const std::shared_ptr<Watch> second = store.engine->watch(-1);
    store.add(order("b"));
    EXPECT_EQ(second->queue_counts(1).queues.at(0).second.sums.enqueued, 1);
  }
  store.add(order("c"));
  EXPECT_EQ(first->queue_counts(1).queues.at(0).second.sums.enqueued, 3);
  EXPECT_EQ(first->counts().entered[static_cast<std::size_t>(JobState::pending)], 3);
}

TEST(Watch, AFullPipeDoesNotBlockACommit) {
  Store store;
  NotificationPipe pipe(store);
  for (int i = 0; i < 100'000; ++i) pipe.watch->rearm(kNever), pipe.watch->notify();
  store.create("a", kFar, target());
  EXPECT_GT(pipe.notifications(), 0);
}

}  // namespace
}  // namespace resonate
