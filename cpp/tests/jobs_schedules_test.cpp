// Schedules whose occurrences are jobs (JOBS 5): why they are refused, the job of each occurrence, and occurrences without a job.
#include <gtest/gtest.h>

#include "fake_jobs.hpp"

namespace resonate {
namespace {

using namespace fake;

constexpr Instant kMinute = 60'000;

JobOrder report() {
  JobOrder made;
  made.queue = "reports";
  made.type = "report:build";
  return made;
}
ScheduleCreate every_minute(JobOrder job = report(), const std::string& id = "s") {
  return {.id = id,
          .cron = "* * * * *",
          .promise_id = "{{.id}}.{{.timestamp}}",
          .promise_timeout = 50'000,
          .promise_param = data("cA=="),
          .promise_tags = tags({{"tenant", "acme"}}),
          .job = std::move(job)};
}
ScheduleCreate every_minute_with(auto change) { return every_minute(with(report(), change)); }
std::vector<bool> created(const std::vector<Fired>& fired) {
  std::vector<bool> all;
  for (const Fired& one : fired)
    if (one.kind == StepKind::schedule) all.push_back(one.created);
  return all;
}

class JobSchedules : public JobsOnEveryBackend {
 protected:
  JobStore caught_up(CatchUp catchup) {
    Options options = checked();
    options.catchup = catchup;
    return make(options);
  }
};

TEST_P(JobSchedules, EnqueueAsOfTheirOccurrence) {
  JobStore store = make(checked(), 5);
  const Reply made = store.must(every_minute_with([](JobOrder& its) {
    its.priority = 7;
    its.max_retries = 3;
    its.policy = fixed({10});
    its.on_exhausted = "failed";
    its.timeout = 900;
    its.retention = 800;
    its.lifecycle = "asynq";
    its.good_for = 4000;
  }));
  EXPECT_EQ(made.schedule->job->order.type, "report:build");
  EXPECT_EQ(store.must(ScheduleGet{"s"}).schedule->job->order.good_for, 4000);
  const auto fired = store.engine->tick(kMinute + 300);
  EXPECT_EQ(texts_of(fired), Texts{"schedule s@60000 s.60000"});
  EXPECT_EQ(created(fired), std::vector<bool>{true});
  const RowRef row = store.row("s.60000");
  EXPECT_EQ(row->promise_spec->created_at, kMinute);
  EXPECT_EQ(row->promise_spec->timeout_at, kMinute + 50'000);
  EXPECT_EQ(row->payload(), data("cA=="));
  EXPECT_EQ(row->promise_spec->tags, tags({{"tenant", "acme"},
                                           {"resonate:schedule", "s"},
                                           {"resonate:origin", "s.60000"},
                                           {"resonate:branch", "s.60000"},
                                           {"resonate:parent", "s.60000"},
                                           {"resonate:prefix", "s.60000"}}));
  const Job& job = *row->job;
  EXPECT_EQ(job.state, JobState::pending);
  EXPECT_EQ(job.enqueued_at, kMinute);
  EXPECT_EQ(job.process_at, kUnset);
  const JobSpec& spec = *job.spec;
  EXPECT_EQ(spec.queue, "reports");
  EXPECT_EQ(spec.type, "report:build");
  EXPECT_EQ(spec.sent_at, kMinute);
  EXPECT_EQ(spec.good_until, kMinute + 4000);
  EXPECT_EQ(spec.priority, 7);
  EXPECT_EQ(spec.max_retries, 3);
  EXPECT_EQ(spec.policy, fixed({10}));
  EXPECT_EQ(spec.on_exhausted, OnExhausted::failed);
  EXPECT_EQ(spec.timeout, 900);
  EXPECT_EQ(spec.retention, 800);
  EXPECT_TRUE(spec.one_step);
  EXPECT_EQ(store.claim(9, {"reports"}), Texts{"s.60000"});
  EXPECT_EQ(store.tick(2 * kMinute).back(), "schedule s@120000 s.120000");
  EXPECT_EQ(store.state("s.120000"), "pending");
  store.expect_no_violations();
}

TEST_P(JobSchedules, MayHaveTheirJobsWait) {
  JobStore store = make();
  store.must(every_minute_with([](JobOrder& its) {
    its.process_in = 10'000;
    its.good_for = 4000;
  }));
  EXPECT_EQ(store.tick(kMinute), Texts{"schedule s@60000 s.60000"});
  EXPECT_EQ(store.state("s.60000"), "scheduled");
  EXPECT_EQ(store.job("s.60000")->process_at, 70'000);
  EXPECT_EQ(store.job("s.60000")->spec->good_until, 74'000);
  EXPECT_EQ(store.tick(70'000), Texts{"job_ready s.60000@70000"});
  EXPECT_EQ(store.job("s.60000")->enqueued_at, 70'000);
  EXPECT_EQ(store.tick(80'000), Texts{"job_expiry s.60000@74000"});
}

TEST_P(JobSchedules, TakeWhatTheQueueSaysWhenTheyFire) {
  JobStore store = make();
  store.must(every_minute());
  QueueSet set;
  set.queue = "reports";
  set.lifecycle = {true, "horsies"};
  set.defaults = {true, JobDefaults{.max_retries = 9,
                                    .policy = fixed({5}),
                                    .on_exhausted = {},
                                    .retention = 5,
                                    .timeout = {},
                                    .priority = 3,
                                    .cancel_with_awaiters = {}}};
  store.must(set);
  store.tick(kMinute);
  EXPECT_EQ(store.job("s.60000")->spec->max_retries, 9);
  EXPECT_EQ(store.job("s.60000")->spec->priority, 3);
  set.defaults = {true, {}};
  store.must(set);
  store.tick(2 * kMinute);
  EXPECT_EQ(store.job("s.120000")->spec->max_retries, 0);
  EXPECT_EQ(store.job("s.120000")->spec->priority, 50);
}

// A unique key prevents overlapping runs.
TEST_P(JobSchedules, MakeNothingWhileTheirKeyIsHeld) {
  JobStore store = make();
  store.must(every_minute_with([](JobOrder& its) {
    its.unique_key = "K";
    its.retention = 0;
  }));
  const auto fire = [&](Instant now) {
    const auto fired = store.engine->tick(now);
    EXPECT_EQ(fired.back().detail, "s." + std::to_string(now));
    return fired.back().created;
  };
  store.add(keyed("by hand", "K", "reports"));
  EXPECT_FALSE(fire(kMinute));
  EXPECT_EQ(store.state("s.60000"), "gone");
  EXPECT_EQ(store.must(ScheduleGet{"s"}).schedule->last_run_at, kMinute);
  store.must(JobCancel{only("by hand")});
  EXPECT_TRUE(fire(2 * kMinute));
  ASSERT_EQ(store.claim(1, {"reports"}), Texts{"s.120000"});
  store.must(JobStart{"s.120000", 1, 100'000});  // the lease lasts longer than a minute, but the promise times out before
  EXPECT_TRUE(fire(3 * kMinute));
  EXPECT_EQ(store.state("s.120000"), "failed");
  EXPECT_EQ(store.state("s.180000"), "pending");
  store.expect_no_violations();
}

TEST_P(JobSchedules, DoNotOverlapWithTheirKey) {
  JobStore store = make();
  ScheduleCreate create = every_minute_with([](JobOrder& its) { its.unique_key = "K"; });
  create.promise_timeout = 10 * kMinute;
  store.must(create);
  EXPECT_EQ(created(store.engine->tick(4 * kMinute)), (std::vector<bool>{true, false, false, false}));
  store.must(JobCancel{only("s.60000")});
  EXPECT_EQ(created(store.engine->tick(5 * kMinute)), std::vector<bool>{true});
  EXPECT_EQ(store.state("s.300000"), "pending");
  // Each occurrence holds its key for unique_for from its own instant.
  ScheduleCreate brief = every_minute_with([](JobOrder& its) {
    its.unique_key = "L";
    its.unique_for = kMinute + 1;
  });
  brief.id = "t";
  brief.promise_timeout = 10 * kMinute;
  store.must(ScheduleDelete{"s"});
  store.must(brief);
  EXPECT_EQ(created(store.engine->tick(9 * kMinute)), (std::vector<bool>{true, false, true, false}));
}

TEST_P(JobSchedules, MakeNothingOfAnIdThatExists) {
  JobStore store = make();
  ScheduleCreate create = every_minute();
  create.promise_id = "fixed";
  store.must(create);
  store.create("fixed");  // a client's enqueue could adopt it; a schedule does not
  auto fired = store.engine->tick(kMinute);
  EXPECT_EQ(created(fired), std::vector<bool>{false});
  EXPECT_EQ(fired[0].detail, "fixed");
  EXPECT_EQ(store.state("fixed"), "promise");
  EXPECT_EQ(store.queue("reports"), nullptr);
  create.id = "t";
  create.promise_id = "another";
  store.must(create);
  EXPECT_EQ(created(store.engine->tick(3 * kMinute)), (std::vector<bool>{false, true, false, false}));
  EXPECT_EQ(store.job("another")->spec->sent_at, 2 * kMinute);
}

TEST_P(JobSchedules, OfAnIdThatExistsStayAsTheyAre) {
  JobStore store = make();
  const Reply first = store.must(every_minute());
  JobOrder other = report();
  other.type = "other";
  const Reply again = store.must(every_minute(other));
  EXPECT_EQ(again.schedule->job->order.type, "report:build");
  ScheduleCreate plain = every_minute();
  plain.job = {};
  EXPECT_NE(store.must(plain).schedule->job, nullptr);
  EXPECT_EQ(store.must(ScheduleSearch{}).schedules.at(0)->job->order.queue, "reports");
  store.must(ScheduleDelete{"s"});
  EXPECT_EQ(store.must(plain).schedule->job, nullptr);
  store.tick(kMinute);
  EXPECT_EQ(store.state("s.60000"), "promise");
}

TEST_P(JobSchedules, CatchUpWithAll) {
  JobStore store = caught_up(CatchUp::all);
  store.must(every_minute_with([](JobOrder& its) { its.good_for = 10'000; }));
  EXPECT_EQ(store.tick(3 * kMinute + 5),
            (Texts{"schedule s@60000 s.60000", "job_expiry s.60000@70000", "schedule s@120000 s.120000",
                   "job_expiry s.120000@130000", "schedule s@180000 s.180000"}));
  EXPECT_EQ(store.claim(9, {"reports"}), Texts{"s.180000"});
  EXPECT_EQ(store.job("s.180000")->enqueued_at, 3 * kMinute);
}

TEST_P(JobSchedules, CatchUpWithTheLatest) {
  JobStore store = caught_up(CatchUp::latest);
  store.must(every_minute());
  EXPECT_EQ(store.tick(100 * kMinute + 5), Texts{"schedule s@60000 s.6000000"});
  EXPECT_EQ(store.job("s.6000000")->spec->sent_at, 100 * kMinute);
  EXPECT_EQ(store.job("s.6000000")->enqueued_at, 100 * kMinute);
  EXPECT_EQ(store.count(JobState::pending, "reports"), 1);
}

TEST_P(JobSchedules, SkipWhatIsTooLate) {
  JobStore store = caught_up(CatchUp::none);
  ScheduleCreate create = every_minute();
  create.cron = "*/10 * * * *";
  create.promise_timeout = 10 * kMinute;
  store.must(create);
  EXPECT_EQ(store.tick(35 * kMinute), Texts{"schedule s@600000"});
  EXPECT_EQ(store.queue("reports"), nullptr);
  EXPECT_EQ(store.tick(41 * kMinute), Texts{"schedule s@2400000 s.2400000"});
  EXPECT_EQ(store.state("s.2400000"), "pending");
}

TEST_P(JobSchedules, MayGather) {
  for (const bool late : {false, true}) {
    JobStore store = make();
    store.must(gathers({10, kMinute + 1, 2 * kMinute + 1}, "reports"));
    store.must(every_minute_with([](JobOrder& its) {
      its.group = "g";
      its.process_in = 0;
    }));
    ScheduleCreate other = every_minute_with([](JobOrder& its) { its.group = "g"; });
    other.id = "t";
    other.promise_timeout = 10 * kMinute;
    store.must(other);
    Texts fired;
    for (int minute = late ? 4 : 1; minute <= 4; ++minute)
      for (std::string& text : store.tick(minute * kMinute)) fired.push_back(std::move(text));
    EXPECT_EQ(fired, (Texts{"schedule s@60000 s.60000", "schedule t@60000 t.60000", "promise_timeout s.60000@110000",
                            "schedule s@120000 s.120000", "schedule t@120000 t.120000", "promise_timeout s.120000@170000",
                            "schedule s@180000 s.180000", "schedule t@180000 t.180000", "job_batch t.60000@180001 " + batch(1),
                            "promise_timeout s.180000@230000", "schedule s@240000 s.240000", "schedule t@240000 t.240000"}));
    EXPECT_EQ(store.claim(1, {"reports"}), (Texts{"t.120000", "t.180000", "t.60000"}));
    EXPECT_EQ(store.gathering("s.240000"), "scheduled " + batch(2) + " gathers, leads 2 of 240000..240000 until 300001");
    EXPECT_EQ(store.gathering("t.240000"), "scheduled " + batch(2) + " gathers");
  }
}

TEST_P(JobSchedules, WithZeroTimeoutIsCreatedSettled) {
  JobStore store = make();
  ScheduleCreate create = every_minute();
  create.promise_timeout = 0;
  store.must(create);
  EXPECT_EQ(created(store.engine->tick(kMinute)), std::vector<bool>{true});
  EXPECT_EQ(store.row("s.60000")->state, PromiseState::rejected_timedout);
  EXPECT_EQ(store.state("s.60000"), "failed");
  store.expect_no_violations();
}

TEST_P(JobSchedules, SpeakTheOlderDialectToo) {
  JobStore store = make(checked(RulesId::strict));
  store.must(every_minute(), kOld);
  store.tick(kMinute);
  EXPECT_EQ(store.row("s.60000")->promise_spec->dialect, kOld);
  EXPECT_EQ(store.row("s.60000")->promise_spec->tags, tags({{"tenant", "acme"}}));  // the strict rule of both dialects
  EXPECT_EQ(store.state("s.60000"), "pending");
}

TEST_P(JobSchedules, AreRefusedByMember) {
  JobStore store = make();
  const auto refused = [&](auto change) {
    const Reply reply = store.run(every_minute_with(change));
    EXPECT_EQ(reply.status, status::kInvalid);
    return reply.error;
  };
  const auto names = [](const std::string& error, const std::string& name) { return error.find(name) != std::string::npos; };
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.id = "x"; }), " id");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.payload = data("eA=="); }), "payload");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.tags = tags({{"a", "b"}}); }), "tags");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.deadline = 5; }), "deadline");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.process_at = 5; }), "processAt");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.good_until = 5; }), "goodUntil");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.sent_at = 5; }), "sentAt");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.type = ""; }), "type");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.queue = ""; }), "queue");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.group = ""; }), "group");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.priority = 101; }), "priority");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.process_in = -1; }), "processIn");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.good_for = 0; }), "goodFor");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.timeout = 0; }), "timeout");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.max_retries = -1; }), "maxRetries");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.policy = fixed({}); }), "intervals");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.on_exhausted = "kept"; }), "onExhausted");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.lifecycle = "cron"; }), "lifecycle");
  EXPECT_PRED2(names, refused([](JobOrder& its) { its.unique_for = 5; }), "uniqueKey");
  for (const StringMap& its_tags : {timer(), tags({{"resonate:delay", "x"}, {"resonate:target", "x:y"}})}) {
    ScheduleCreate create = every_minute();
    create.promise_tags = its_tags;
    EXPECT_EQ(store.run(create).status, status::kInvalid);
  }
  EXPECT_EQ(store.run(ScheduleGet{"s"}).status, status::kNotFound);
}

// In every order, goodFor counts from the instant at which the job can first run.
TEST_P(JobSchedules, GoodForIsOfEveryOrder) {
  JobStore store = make(checked(), 100);
  const auto good_until = [&](const std::string& id, auto change) {
    JobOrder made = order(id);
    made.good_for = 40;
    change(made);
    return store.add(made).promise->job->spec->good_until;
  };
  EXPECT_EQ(good_until("a", [](JobOrder&) {}), 140);
  EXPECT_EQ(good_until("b", [](JobOrder& its) { its.process_in = 30; }), 170);
  EXPECT_EQ(good_until("c", [](JobOrder& its) { its.process_at = 130; }), 170);
  EXPECT_EQ(good_until("d", [](JobOrder& its) { its.process_at = 30; }), 140);
  EXPECT_EQ(good_until("e", [](JobOrder& its) { its.good_for = kNever; }), kNever);
  EXPECT_EQ(store
                .run(enqueue(with(order("f"),
                                  [](JobOrder& its) {
                                    its.good_for = 40;
                                    its.good_until = 140;
                                  })))
                .status,
            status::kInvalid);
  EXPECT_EQ(store.run(enqueue(with(order("f"), [](JobOrder& its) { its.good_for = 0; }))).status, status::kInvalid);
  EXPECT_EQ(store.tick(140), (Texts{"job_ready b@130", "job_ready c@130", "job_expiry a@140", "job_expiry d@140"}));
}

INSTANTIATE_TEST_SUITE_P(Backends, JobSchedules, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

}  // namespace
}  // namespace resonate
