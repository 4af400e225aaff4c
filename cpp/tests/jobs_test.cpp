// The lifecycle of jobs (JOBS 3) through the engine: each request on a job in each state, compared with one table.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <sstream>

#include "fake_jobs.hpp"
#include "machine/job_transitions.hpp"

namespace resonate {
namespace {

using namespace fake;

// The states of the columns of the table. In the last two, the job ends at the request's own instant, and no step has stored the
// end yet.
constexpr std::array<const char*, 12> kColumns = {"scheduled", "pending", "claimed",   "running", "retry", "archived",
                                                  "completed", "failed",  "cancelled", "expired", "late",  "overdue"};
constexpr Instant kThen = 20;  // the instant of the request

// Brings job "j" of queue "q" to the state.
void bring(JobStore& store, const std::string& column) {
  const auto plain = with(order("j", "q"), [](JobOrder& its) { its.policy = fixed({30}); });
  const auto changed = [&](auto change) { return with(plain, change); };
  const auto claimed = [&](JobOrder its) {
    store.add(std::move(its));
    EXPECT_EQ(store.claim(1, {"q"}), Texts{"j"});
  };
  if (column == "scheduled") store.add(changed([](JobOrder& its) { its.process_at = 90; }));
  if (column == "pending") store.add(plain);
  if (column == "late") store.add(changed([](JobOrder& its) { its.good_until = kThen; }));
  if (column == "claimed") claimed(plain);
  if (column == "overdue") store.start(changed([](JobOrder& its) { its.deadline = kThen; }));
  for (const char* started : {"running", "retry", "archived", "completed", "cancelled"})
    if (column == started) store.start(plain);
  if (column == "retry") store.must(failure("j", 1));
  if (column == "archived") {
    JobFail fail = failure("j", 1);
    fail.retryable = false;
    store.must(fail);
  }
  if (column == "completed") store.must(JobComplete{"j", 1, data("cmVzdWx0")});
  if (column == "cancelled") store.must(JobCancel{only("j")});
  if (column == "failed") {
    store.start(changed([](JobOrder& its) {
      its.on_exhausted = "failed";
      its.max_retries = 0;
    }));
    store.must(failure("j", 1));
  }
  if (column == "expired") {
    store.add(changed([](JobOrder& its) { its.good_until = 15; }));
    store.engine->tick(15);
  }
}

struct Line {
  const char* name;
  Operation request;
  const char* outcomes;  // for each column: the state afterwards, or the status of the refusal
};

JobFail last_failure() {
  JobFail fail = failure("j", 1);
  fail.retryable = false;
  return fail;
}

std::vector<Line> table() {
  constexpr std::int64_t kVersion = 1;
  return {
      // clang-format off
      //                                           scheduled pending claimed running retry archived completed failed cancelled expired late overdue
      {"claim",    claim({"q"}),                  "scheduled claimed claimed running retry archived completed failed cancelled expired expired failed"},
      {"start",    JobStart{"j", kVersion, {}},   "409       409     running 409     409   409      409       409    409       409     409     409"},
      {"release",  JobRelease{"j", kVersion},     "409       409     pending 409     409   409      409       409    409       409     409     409"},
      {"complete", JobComplete{"j", kVersion, {}},"409       409     409     completed 409 409      409       409    409       409     409     409"},
      {"fail",     failure("j", kVersion),        "409       409     409     retry   409   409      409       409    409       409     409     409"},
      {"fail",     last_failure(),                "409       409     409     archived 409  409      409       409    409       409     409     409"},
      {"snooze",   JobSnooze{"j", kVersion, 5},   "409       409     409     scheduled 409 409      409       409    409       409     409     409"},
      {"report",   JobReport{"j", kVersion, 0.5, {}},"409    409     409     running 409   409      409       409    409       409     409     409"},
      {"cancel",   JobCancel{only("j")},          "cancelled cancelled cancelled cancelled cancelled cancelled 409 409 409     409     409     409"},
      {"run",      JobRun{only("j")},             "pending   409     409     409     pending pending 409      409    409       409     409     409"},
      {"archive",  JobArchive{only("j")},         "archived  archived 409    409     archived 409   409       409    409       409     409     409"},
      {"delete",   JobDelete{only("j")},          "gone      gone    409     409     gone  gone     gone      gone   gone      gone    gone    gone"},
      {"again",    JobEnqueue{},                  "scheduled pending claimed running retry archived completed failed cancelled expired expired failed"},
      {"resolve",  settlement("j"),               "completed completed completed completed completed completed completed failed cancelled expired expired failed"},
      {"reject",   settlement("j", "rejected"),   "failed    failed  failed  failed  failed failed  completed failed cancelled expired expired failed"},
      {"abandon",  settlement("j", "rejected_canceled"),
                                                  "cancelled cancelled cancelled cancelled cancelled cancelled completed failed cancelled expired expired failed"},
      {"acquire",  TaskAcquire{"j", kVersion, "w", 5}, "409  409     409     409     409   409      409       409    409       409     409     409"},
      {"let go",   TaskRelease{"j", kVersion},    "409       409     409     409     409   409      409       409    409       409     409     409"},
      {"halt",     TaskHalt{"j"},                 "409       409     409     409     409   409      409       409    409       409     409     409"},
      {"continue", TaskContinue{"j"},             "409       409     409     409     409   409      409       409    409       409     409     409"},
      {"fulfill",  TaskFulfill{"j", kVersion, settlement("j")},
                                                  "409       409     completed completed 409 409    409       409    409       409     409     409"},
      // clang-format on
  };
}

class JobTable : public JobsOnEveryBackend {};

TEST_P(JobTable, EachRequestInEachState) {
  for (const Line& line : table()) {
    std::istringstream outcomes(line.outcomes);
    for (const std::string column : kColumns) {
      SCOPED_TRACE(std::string(line.name) + " of a job that is " + column);
      std::string wanted;
      outcomes >> wanted;
      JobStore store = make(checked(), 10);
      bring(store, column);
      const Operation request = std::holds_alternative<JobEnqueue>(line.request) ? Operation(enqueue("j", "q")) : line.request;
      const std::string digest = store.digest();
      const Reply reply = store.run(request, kNew, kThen);
      if (wanted == "409") {
        EXPECT_EQ(reply.status, status::kConflict) << reply.error;
        EXPECT_NE(reply.error.find("\"j\""), std::string::npos) << reply.error;
        const bool steps_came_after = column == "late" || column == "overdue";
        EXPECT_TRUE(steps_came_after || store.digest() == digest);
      } else {
        EXPECT_EQ(reply.status, status::kOk) << reply.error;
        EXPECT_EQ(store.state("j"), wanted);
      }
      store.expect_no_violations();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, JobTable, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

// The same table shows in which states the events of the machine apply.
TEST(JobEvents, ApplyWhereTheTableGrants) {
  const std::map<std::string, JobEvent> events = {{"start", JobEvent::start},       {"release", JobEvent::release},
                                                  {"complete", JobEvent::complete}, {"fail", JobEvent::retry},
                                                  {"snooze", JobEvent::snooze},     {"cancel", JobEvent::cancel},
                                                  {"run", JobEvent::run},           {"archive", JobEvent::archive}};
  for (const Line& line : table()) {
    const auto event = events.find(line.name);
    if (event == events.end()) continue;
    std::istringstream outcomes(line.outcomes);
    for (const std::string column : kColumns) {
      std::string wanted;
      outcomes >> wanted;
      const std::optional<JobState> state = job_state_named(column);  // the other columns are of a job past its end
      if (!state) continue;
      EXPECT_EQ(applies(event->second, *state), wanted != "409") << line.name << " " << column;
    }
  }
}

class Jobs : public JobsOnEveryBackend {};

TEST_P(Jobs, AnotherVersionHasNoSay) {
  JobStore store = make();
  store.start(order("a"));
  store.add(order("b"));
  EXPECT_EQ(store.claim(), Texts{"b"});
  const std::string before = store.digest();
  for (const std::int64_t version : {0, 2}) {
    for (const Operation& request :
         {Operation(JobComplete{"a", version, {}}), Operation(failure("a", version)), Operation(JobSnooze{"a", version, 1}),
          Operation(JobReport{"a", version, 1, {}}), Operation(JobStart{"b", version, {}}), Operation(JobRelease{"b", version}),
          Operation(TaskFulfill{"a", version, settlement("a")})})
      EXPECT_EQ(store.run(request).status, status::kConflict);
    EXPECT_EQ(store.must(JobHeartbeat{"worker", {{"a", version}}}).jobs->lost, Texts{"a"});
  }
  EXPECT_EQ(store.digest(), before);
}

TEST_P(Jobs, WhatDoesNotExist) {
  JobStore store = make();
  store.create("p");
  for (const char* id : {"none", "p"})
    for (const Operation& request : {Operation(JobGet{id}), Operation(JobStart{id, 1, {}}), Operation(JobComplete{id, 1, {}}),
                                     Operation(failure(id, 1)), Operation(JobRelease{id, 1}), Operation(JobSnooze{id, 1, 0}),
                                     Operation(JobReport{id, 1, 1, {}}), Operation(JobCancel{only(id)}),
                                     Operation(JobRun{only(id)}), Operation(JobArchive{only(id)}), Operation(JobDelete{only(id)})})
      EXPECT_EQ(store.run(request).status, status::kNotFound);
  for (const Operation& request : {Operation(QueueGet{"none"}), Operation(JobStats{"none"})})
    EXPECT_EQ(store.run(request).status, status::kNotFound);
}

TEST_P(Jobs, HeartbeatsKeepWhatIsHeldAndTellOfTheRest) {
  JobStore store = make();
  for (const char* id : {"a", "b", "c", "d"}) store.add(order(id));
  EXPECT_EQ(store.claim(3), (Texts{"a", "b", "c"}));
  store.must(JobStart{"a", 1, 50});
  store.must(JobCancel{only("b")});
  store.engine->tick(40);
  const Reply reply = store.must(JobHeartbeat{"worker", {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 0}, {"none", 1}}});
  EXPECT_EQ(reply.jobs->cancelled, Texts{"b"});
  EXPECT_EQ(reply.jobs->lost, (Texts{"d", "none"}));
  EXPECT_EQ(store.row("a")->expires_at, 90);    // the lease of its start
  EXPECT_EQ(store.row("c")->expires_at, 1040);  // the lease of its claim
  EXPECT_EQ(store.must(JobHeartbeat{"another", {{"a", 1}}}).jobs->lost, Texts{"a"});
}

// The internal steps run in order, with the instants at which they were due.
TEST_P(Jobs, StepsComeByThemselves) {
  JobStore store = make();
  store.start(with(order("crash"), [](JobOrder& its) { its.policy = fixed({10}); }));
  store.start(with(order("slow"), [](JobOrder& its) {
    its.timeout = 700;
    its.max_retries = 0;
  }));
  store.start(with(order("timed"), [](JobOrder& its) { its.deadline = 800; }));
  store.add(with(order("late"), [](JobOrder& its) { its.good_until = 600; }));
  store.add(with(order("soon"), [](JobOrder& its) { its.process_at = 500; }));
  EXPECT_EQ(texts_of(store.clock->advance_to(1010)),
            (Texts{"job_ready soon@500", "job_expiry late@600", "job_timeout slow@700", "promise_timeout timed@800",
                   "job_lease crash@1000", "job_ready crash@1010"}));
  EXPECT_EQ(store.state("slow"), "archived");
  EXPECT_EQ(store.state("timed"), "failed");
  EXPECT_EQ(store.claim(2), (Texts{"soon", "crash"}));
  EXPECT_EQ(texts_of(store.clock->advance_to(2010)), (Texts{"job_lease crash@2010", "job_lease soon@2010"}));
  EXPECT_EQ(store.job("crash")->enqueued_at, 1010);  // it keeps its place in the queue
  const QueueRef queue = store.queue();
  ASSERT_EQ(queue->days.size(), 1u);
  EXPECT_EQ(queue->days[0].processed, 3);
  EXPECT_EQ(queue->days[0].failed, 3);
  store.expect_no_violations();
}

// If lease and timeout end at one instant, the attempt times out. If a late tick finds both ended, the earlier one counts.
TEST_P(Jobs, AnAttemptEndsByWhatComesFirst) {
  JobStore store = make();
  store.start(with(order("both"), [](JobOrder& its) { its.timeout = 1000; }));
  store.start(with(order("lease"), [](JobOrder& its) { its.timeout = 1001; }));
  EXPECT_EQ(texts_of(store.engine->tick(5000)), (Texts{"job_timeout both@1000", "job_lease lease@1000"}));
  EXPECT_EQ(store.job("both")->attempts.back().outcome, Outcome::timed_out);
  EXPECT_EQ(store.job("lease")->attempts.back().outcome, Outcome::crashed);
  EXPECT_EQ(store.job("both")->attempts.back().finished_at, 5000);
}

TEST_P(Jobs, TheNewestAttemptsAreKept) {
  JobStore store = make();
  store.add(order("a"));
  constexpr std::int64_t kRuns = 105;
  for (std::int64_t run = 1; run <= kRuns; ++run) {
    EXPECT_EQ(store.claim(), Texts{"a"});
    store.must(JobStart{"a", run, {}});
    store.must(JobSnooze{"a", run, 0});
  }
  EXPECT_EQ(store.job("a")->attempt_count, kRuns);
  ASSERT_EQ(store.job("a")->attempts.size(), kAttemptsKept);
  EXPECT_EQ(store.job("a")->attempts.front().number, 6);
  EXPECT_EQ(store.job("a")->retry_count, 0);
  store.expect_no_violations();
}

// A new attempt begins without progress, and keeps the lines of those before it.
TEST_P(Jobs, AttemptsReport) {
  JobStore store = make(checked(), 10);
  store.start(with(order("a"), [](JobOrder& its) { its.policy = fixed({0}); }));
  EXPECT_FALSE(store.job("a")->report);
  store.must(JobReport{"a", 1, 0.25, {"first", "second"}});
  store.engine->tick(20);
  store.must(JobReport{"a", 1, {}, {"third"}});
  EXPECT_EQ(store.job("a")->report->progress, 0.25);
  EXPECT_EQ(store.row("a")->expires_at, 1010);  // the lease is that of the start
  store.must(failure("a", 1));
  EXPECT_EQ(store.job("a")->report->progress, 0.25);
  EXPECT_EQ(store.claim(), Texts{"a"});
  store.must(JobStart{"a", 2, {}});
  EXPECT_FALSE(store.job("a")->report->progress);
  store.must(JobReport{"a", 2, {}, {"again"}});
  const Shared<const WorkReport> report = store.job("a")->report;
  EXPECT_EQ(report->at, 20);
  std::string shown;
  for (const ReportLine& line : report->lines)
    shown += std::to_string(line.attempt) + "@" + std::to_string(line.at) + " " + line.text + "; ";
  EXPECT_EQ(shown, "1@10 first; 1@10 second; 1@20 third; 2@20 again; ");
  store.expect_no_violations();
}

TEST_P(Jobs, TheNewestLinesAreKept) {
  JobStore store = make();
  store.start(order("a"));
  for (int i = 0; i < 60; ++i) store.must(JobReport{"a", 1, {}, {"even " + std::to_string(i), "odd " + std::to_string(i)}});
  const auto& lines = store.job("a")->report->lines;
  ASSERT_EQ(lines.size(), kLinesKept);
  EXPECT_EQ(lines.front().text, "even 10");
  EXPECT_EQ(lines.back().text, "odd 59");
  for (const JobReport& refused :
       {JobReport{"a", 1, {}, {}}, JobReport{"a", 1, 1.5, {}}, JobReport{"a", 1, -0.1, {}}, JobReport{"a", 1, {}, {""}},
        JobReport{"a", 1, {}, {std::string(kLineBytes + 1, 'x')}}, JobReport{"a", 1, {}, std::vector<std::string>(101, "x")}})
    EXPECT_EQ(store.run(refused).status, status::kInvalid);
  EXPECT_EQ(store.job("a")->report->lines.back().text, "odd 59");
}

// An operator runs an archived job again. The job keeps failed_at meanwhile, and each end of the second attempt is valid.
TEST_P(Jobs, ARunOfAnArchivedJobMayEndInAnyWay) {
  for (const Operation& end : {Operation(JobCancel{only("a")}), Operation(JobComplete{"a", 2, {}}), Operation(failure("a", 2)),
                               Operation(settlement("a", "rejected")), Operation(JobSnooze{"a", 2, 5})}) {
    JobStore store = make(checked(), 10);
    store.start(with(order("a"), [](JobOrder& its) { its.max_retries = 0; }));
    store.must(failure("a", 1));
    EXPECT_EQ(store.job("a")->failed_at, 10);
    store.engine->tick(20);
    store.must(JobRun{only("a")});
    EXPECT_EQ(store.job("a")->enqueued_at, 20);
    store.engine->tick(30);
    EXPECT_EQ(store.claim(), Texts{"a"});
    store.must(JobStart{"a", 2, {}});
    store.must(end);
    store.expect_no_violations();
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Jobs, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
