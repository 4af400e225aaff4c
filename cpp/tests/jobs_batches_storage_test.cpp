// Storage finds the leaders and members of batches. It reads groups, batches and schedules of jobs as written, or refuses them.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include <SQLiteCpp/SQLiteCpp.h>

#include "fake_job_rows.hpp"
#include "fake_jobs.hpp"
#include "machine/derive.hpp"
#include "resonate/errors.hpp"

namespace resonate {
namespace {

using namespace fake;
using nlohmann::json;
using enum JobState;

JobMaker in_queue(JobMaker made, const std::string& queue) {
  made.spec.queue = queue;
  return made;
}

class BatchJobs : public JobsOnEveryBackend {
 protected:
  void write(RowChange change) {
    const StorageTransaction transaction(*storage, Access::write);
    Changes changes;
    changes.rows.push_back(std::move(change));
    fake::write(*storage, std::move(changes));
  }
  void put(const JobMaker& made) { write({nullptr, made.ref()}); }
  void remove(const std::string& id) { write({storage->load(id), nullptr}); }
  void change(const std::string& id, auto how) {
    const RowRef before = storage->load(id);
    write({before, job_changed(before, how)});
  }
  static Texts ids(Storage& of, const RowRange& range) {
    Texts found;
    for (const RowRef& row : of.rows(range)) found.push_back(row->id());
    return found;
  }
  Texts members(const std::string& batch, const std::string& queue = "q") { return ids(*storage, jobs_of_batch(queue, batch)); }
  Texts leaders(const std::string& group = "g", const std::string& queue = "q") {
    JobSpec spec;
    spec.queue = queue;
    spec.type = "work";
    spec.group = shared(group);
    return ids(*storage, leaders_of_group(spec));
  }
  std::unique_ptr<Storage> storage = backends.storage(GetParam());
};

TEST_P(BatchJobs, HoldTheJobsOfOneBatch) {
  EXPECT_EQ(leaders(), Texts{});
  put(leader("c", 3, "1"));
  put(gatherer("d", "1"));
  put(gatherer("a", "1"));
  put(gatherer("b", "1", pending));
  put(gatherer("e", "2", pending));
  put(in_queue(gatherer("f", "1"), "other"));
  for (const JobState state : {claimed, running, retry, archived, completed, failed, cancelled, expired})
    put(gatherer("not " + std::string(name_of(state)), "1", state));
  put(JobMaker(pending, "alone"));
  EXPECT_EQ(members("1"), (Texts{"a", "b", "d"}));
  EXPECT_EQ(members("1", "other"), Texts{"f"});
  EXPECT_EQ(members("2"), Texts{"e"});
  EXPECT_EQ(members(""), Texts{});
  EXPECT_EQ(leaders(), Texts{"c"});
  EXPECT_EQ(leaders("G"), Texts{});
  EXPECT_EQ(leaders("g", "other"), Texts{});
}

TEST_P(BatchJobs, AreThoseOfNow) {
  put(leader("a", 2, "1"));
  put(gatherer("b", "1"));
  change("a", [](Row& row, Job& job) {  // it no longer leads
    job.group_state = nullptr;
    row.retry_at = 100;
  });
  EXPECT_EQ(members("1"), (Texts{"a", "b"}));
  EXPECT_EQ(leaders(), Texts{});
  change("b", [](Row& row, Job& job) {
    job.group_state = group_state(1, 2, 2);
    row.retry_at = 60;
  });
  EXPECT_EQ(members("1"), Texts{"a"});
  EXPECT_EQ(leaders(), Texts{"b"});
  change("a", [](Row&, Job& job) {
    job.gathering = false;
    job.batch = nullptr;
    job.state = pending;
    job.enqueued_at = 2;
  });
  EXPECT_EQ(members("1"), Texts{});
  change("b", [](Row& row, Job& job) {  // it became ready, was claimed, and is pending again
    job.group_state = nullptr;
    job.gathering = false;
    job.state = pending;
    job.enqueued_at = 2;
    row.retry_at = 100;
  });
  EXPECT_EQ(members("1"), Texts{"b"});
  change("b", [](Row&, Job& job) { job.state = claimed; });
  EXPECT_EQ(members("1"), Texts{});
  change("b", [](Row&, Job& job) { job.state = pending; });
  EXPECT_EQ(members("1"), Texts{"b"});
  change("b", [](Row&, Job& job) { job.batch = shared("2"); });
  EXPECT_EQ(members("1"), Texts{});
  EXPECT_EQ(members("2"), Texts{"b"});
  remove("b");
  EXPECT_EQ(members("2"), Texts{});
}

// If one transaction deletes an id and creates it again, the id denotes another row.
TEST_P(BatchJobs, OfAnIdThatIsTakenAgain) {
  put(gatherer("a", "1"));
  put(gatherer("b", "1"));
  write({storage->load("a"), in_queue(gatherer("a", "1"), "other").ref()});
  write({storage->load("b"), RowMaker("b").ref()});
  EXPECT_EQ(members("1"), Texts{});
  EXPECT_EQ(members("1", "other"), Texts{"a"});
}

TEST_P(BatchJobs, OfAForkAreItsOwn) {
  put(leader("a", 2, "1"));
  put(gatherer("b", "1"));
  const std::unique_ptr<Storage> fork = make_memory_storage();
  copy_state(*storage, *fork, 10);
  remove("b");
  EXPECT_EQ(members("1"), Texts{});
  EXPECT_EQ(ids(*fork, jobs_of_batch("q", "1")), Texts{"b"});
  const RowRef led = fork->rows(leaders_of_group(*fork->load("a")->job->spec)).at(0);
  EXPECT_EQ(led->job->group_state->count, 2);
  EXPECT_EQ(led->job->group_state->first_at, 1);
  EXPECT_EQ(led->job->group_state->last_at, 2);
  {
    const StorageTransaction transaction(*storage, Access::write);
    Changes nothing;
    nothing.replaces_all = true;
    storage->write(nothing);
  }
  EXPECT_EQ(leaders(), Texts{});
}

INSTANTIATE_TEST_SUITE_P(Backends, BatchJobs, ::testing::Values(Backend::memory, Backend::sqlite), fake::name_of);

// A snapshot of a store with a batch, two jobs that gather, and a schedule of jobs; the tests change this document.
class GroupSnapshots : public ::testing::Test {
 protected:
  GroupSnapshots() {
    store.must(gathers({3, 100, 900}));
    for (const char* id : {"a", "b", "c", "d", "e"}) store.add_at(store.clock->now() + 5, grouped(id));
    ScheduleCreate schedule;
    schedule.id = "s";
    schedule.cron = "* * * * *";
    schedule.promise_id = "x";
    schedule.promise_timeout = 5;
    JobOrder job;
    job.type = "report";
    job.queue = "reports";
    job.priority = 3;
    job.process_in = 4;
    job.good_for = 5;
    job.timeout = 6;
    job.retention = kKept;
    job.max_retries = 7;
    job.policy = fixed({8});
    job.on_exhausted = "failed";
    job.lifecycle = "asynq";
    job.unique_key = "K";
    job.unique_for = 9;
    job.group = "gs";
    schedule.job = job;
    store.must(schedule);
    whole = json::parse(store.snapshot());
  }
  json& job(const std::string& id) {
    for (json& promise : whole["promises"])
      if (promise["id"] == id) return promise["job"];
    throw std::logic_error(id);
  }
  json& task(const std::string& id) {
    for (json& promise : whole["promises"])
      if (promise["id"] == id) return promise["task"];
    throw std::logic_error(id);
  }
  std::string problem() {
    try {
      read_snapshot(whole.dump());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);
      return error.what();
    }
    return "none";
  }
  // The names of the violations in the store read from the document; with go_on, after further requests.
  std::set<std::string> violations(bool go_on = false) {
    JobStore read(read_snapshot(whole.dump()), Options{}, store.clock->now());
    if (go_on) {
      for (const char* id : {"x", "y"}) read.add(grouped(id));
      for (const char* id : {"d", "e", "x"}) read.must(JobCancel{only(id)});
      read.clock->advance(1000);
      read.claim(9);
    }
    std::set<std::string> names;
    for (const Violation& violation : read.engine->check()) names.insert(violation.name);
    return names;
  }
  using Names = std::set<std::string>;

  JobStore store;
  json whole;
};

TEST_F(GroupSnapshots, ShowEveryMember) {
  EXPECT_EQ(job("d")["group"], "g");
  EXPECT_EQ(job("d")["batch"], batch(2));
  EXPECT_EQ(job("d")["gathering"], true);
  EXPECT_EQ(job("d")["flight"], json({{"firstAt", 20}, {"lastAt", 25}, {"count", 2}}));
  EXPECT_EQ(task("d")["retryAt"], 125);
  EXPECT_EQ(job("e")["batch"], batch(2));
  EXPECT_FALSE(job("e").contains("flight"));
  EXPECT_EQ(job("a")["batch"], batch(1));
  EXPECT_FALSE(job("a").contains("gathering"));
  EXPECT_EQ(whole["queues"][0]["groups"], json({{"size", 3}, {"grace", 100}, {"maxDelay", 900}}));
  EXPECT_EQ(whole["schedules"][0]["job"], json({{"queue", "reports"},
                                                {"type", "report"},
                                                {"priority", 3},
                                                {"processIn", 4},
                                                {"goodFor", 5},
                                                {"timeout", 6},
                                                {"retention", nullptr},
                                                {"maxRetries", 7},
                                                {"retryPolicy", {{"kind", "fixed"}, {"intervals", {8}}}},
                                                {"onExhausted", "failed"},
                                                {"lifecycle", "asynq"},
                                                {"uniqueKey", "K"},
                                                {"uniqueFor", 9},
                                                {"group", "gs"}}));
}

TEST_F(GroupSnapshots, ComeBackAsTheyWere) {
  EXPECT_EQ(json::parse(write_snapshot(*read_snapshot(whole.dump()), SnapshotFormat::full, {})), whole);
  EXPECT_EQ(digest(*read_snapshot(whole.dump()), {}), store.digest());
  EXPECT_EQ(violations(), Names{});
  EXPECT_EQ(violations(true), Names{});
  // A change of any member gives another digest.
  std::set<std::string> digests = {store.digest()};
  const std::function<void(json&)> changes[] = {
      [](json& its) { its["promises"][3]["job"]["flight"]["firstAt"] = 19; },
      [](json& its) { its["promises"][3]["job"]["flight"]["lastAt"] = 24; },
      [](json& its) { its["promises"][3]["job"]["flight"]["count"] = 3; },
      [](json& its) { its["promises"][4]["job"]["batch"] = "other"; },
      [](json& its) { its["promises"][0]["job"].erase("batch"); },
      [](json& its) { its["promises"][0]["job"]["group"] = "other"; },
      [](json& its) { its["queues"][0].erase("groups"); },
      [](json& its) { its["queues"][0]["groups"].erase("maxDelay"); },
      [](json& its) { its["schedules"][0].erase("job"); },
      [](json& its) { its["schedules"][0]["job"].erase("group"); },
      [](json& its) { its["schedules"][0]["job"].erase("retention"); },
  };
  const json before = whole;
  for (const auto& change : changes) {
    change(whole);
    EXPECT_EQ(json::parse(write_snapshot(*read_snapshot(whole.dump()), SnapshotFormat::full, {})), whole);
    EXPECT_TRUE(digests.insert(digest(*read_snapshot(whole.dump()), {})).second);
    whole = before;
  }
}

TEST_F(GroupSnapshots, ThatAreDamagedAreRefused) {
  const json before = whole;
  const auto damaged = [&](auto change) {
    whole = before;
    change();
    return problem();
  };
  const std::string gathering = "snapshot: promises[3].job.gathering is of a scheduled job with a group and a batch";
  EXPECT_EQ(damaged([&] { job("d").erase("batch"); }), gathering);
  EXPECT_EQ(damaged([&] { job("d").erase("group"); }), gathering);
  EXPECT_EQ(damaged([&] { job("d")["state"] = "retry"; }), gathering);
  EXPECT_EQ(damaged([&] { job("d").erase("gathering"); }), "snapshot: promises[3].job.flight is of a job that gathers");
  EXPECT_EQ(damaged([&] { job("d")["gathering"] = 1; }), "snapshot: promises[3].job.gathering must be a boolean, got 1");
  EXPECT_EQ(damaged([&] { job("d")["batch"] = 1; }), "snapshot: promises[3].job.batch must be a string, got 1");
  EXPECT_EQ(damaged([&] { job("d")["flight"] = "x"; }), R"(snapshot: promises[3].job.flight must be an object, got "x")");
  EXPECT_EQ(damaged([&] { job("d")["flight"].erase("count"); }), "snapshot: promises[3].job.flight.count is missing");
  EXPECT_EQ(damaged([&] { whole["queues"][0]["groups"]["size"] = "x"; }),
            R"(snapshot: queues[0].groups.size must be an integer within int64, got "x")");
  EXPECT_EQ(damaged([&] { whole["schedules"][0]["job"] = 1; }), "snapshot: schedules[0].job must be an object, got 1");
  EXPECT_EQ(damaged([&] { whole["schedules"][0]["job"].erase("type"); }), "snapshot: schedules[0].job.type is missing");
}

// The reader accepts these errors; the checker names them, and requests still run.
TEST_F(GroupSnapshots, ThatDoNotHoldAreNamed) {
  const json before = whole;
  const auto named = [&](auto change) {
    whole = before;
    change();
    const Names names = violations();
    violations(true);
    return names;
  };
  EXPECT_EQ(named([&] { job("d")["flight"]["count"] = 3; }), Names{"job_flight_count"});
  EXPECT_EQ(named([&] { job("d")["flight"]["count"] = 0; }), (Names{"job_flight_count", "job_group_mismatch"}));
  EXPECT_EQ(named([&] { job("e")["batch"] = "other"; }), Names{"job_flight_count"});
  EXPECT_EQ(named([&] { job("e")["group"] = "other"; }), Names{"job_flight_count"});
  EXPECT_EQ(named([&] {
              job("d").erase("flight");
              task("d")["retryAt"] = kNever;
            }),
            Names{"job_flight_count"});
  EXPECT_EQ(named([&] {
              job("e")["flight"] = job("d")["flight"];
              task("e")["retryAt"] = 125;
            }),
            Names{"job_flight_count"});
  EXPECT_EQ(named([&] { task("d")["retryAt"] = 24; }), Names{"job_group_mismatch"});
  EXPECT_EQ(named([&] { job("d")["flight"]["firstAt"] = 26; }), Names{"job_group_mismatch"});
}

// The store names a damaged text in a file.
TEST(GroupFiles, ThatAreDamagedAreNamed) {
  const auto problem = [](const std::string& sql) -> std::string {
    Backends backends;
    {
      JobStore store(backends.storage(Backend::sqlite));
      store.add(grouped("a"));
      ScheduleCreate schedule;
      schedule.id = "s";
      schedule.cron = "* * * * *";
      schedule.promise_id = "x";
      schedule.job.emplace().type = "report";
      store.must(schedule);
    }
    SQLite::Database(backends.last_file(), SQLite::OPEN_READWRITE).exec(sql);
    JobStore store(open_sqlite_storage(backends.last_file(), {}));
    try {
      store.run(JobCancel{only("a")});
      const Reply read = store.run(ScheduleGet{"s"});
      if (!read.schedule->job->problem.empty()) return read.schedule->job->problem;  // one damaged schedule affects nothing else
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::storage);
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(problem("SELECT 1"), "none");
  const auto names = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  EXPECT_PRED2(names, problem("UPDATE resonate_promises SET job = json_remove(job, '$.batch')"), "gathering");
  EXPECT_PRED2(names, problem("UPDATE resonate_promises SET job = json_set(job, '$.flight', 1)"), "flight");
  EXPECT_PRED2(names, problem("UPDATE resonate_schedules SET job = '{}'"), "type is missing");
  EXPECT_PRED2(names, problem("UPDATE resonate_schedules SET job = '{'"), "schedule");
}

}  // namespace
}  // namespace resonate
