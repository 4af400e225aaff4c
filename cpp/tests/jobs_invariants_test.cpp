// Each violated property of jobs and queues is reported by its name: rows, steps and counts that the machine never makes.
#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "fake_job_rows.hpp"
#include "fake_store.hpp"
#include "machine/invariants.hpp"
#include "machine/job_invariants.hpp"
#include "machine/job_transitions.hpp"
#include "machine/working_set.hpp"

namespace resonate {
namespace {

using namespace fake;
using enum JobState;
using Names = std::set<std::string>;

constexpr Instant kNow = 30;
constexpr JobState kStates[] = {scheduled, waiting,   pending, claimed,   running, retry,
                                archived,  completed, failed,  cancelled, expired};

Names names_of(const std::vector<Violation>& violations) {
  Names names;
  for (const Violation& violation : violations) names.insert(violation.name);
  return names;
}

// The names of the properties that a change to a job violates.
Names broken_of(JobMaker maker, auto change) {
  change(maker.maker.row, maker.job, maker.spec);
  std::vector<Violation> found;
  check_job(*maker.ref(), found);
  for (const Violation& violation : found) EXPECT_EQ(violation.id, "j");
  return names_of(found);
}

Names broken(JobState state, auto change) { return broken_of(JobMaker(state), change); }

TEST(InvariantsOfJobs, HoldForWhatTheMachineMakes) {
  for (const JobState state : kStates) {
    EXPECT_EQ(broken(state, [](Row&, Job&, JobSpec&) {}), Names{}) << name_of(state);
    std::vector<Violation> found;
    check_row(*JobMaker(state).ref(), 50, RulesId::strict, found);
    EXPECT_EQ(names_of(found), Names{}) << name_of(state);
  }
}

// JOBS 1 allows these combinations of three states, and no others.
TEST(InvariantsOfJobs, JobPromiseAndTaskAgree) {
  using Three = std::tuple<JobState, PromiseState, TaskState>;
  const std::set<Three> table = {{scheduled, PromiseState::pending, TaskState::pending},
                                 {waiting, PromiseState::pending, TaskState::suspended},
                                 {pending, PromiseState::pending, TaskState::pending},
                                 {claimed, PromiseState::pending, TaskState::acquired},
                                 {running, PromiseState::pending, TaskState::acquired},
                                 {retry, PromiseState::pending, TaskState::pending},
                                 {archived, PromiseState::pending, TaskState::halted},
                                 {completed, PromiseState::resolved, TaskState::fulfilled},
                                 {failed, PromiseState::rejected, TaskState::fulfilled},
                                 {failed, PromiseState::rejected_timedout, TaskState::fulfilled},
                                 {cancelled, PromiseState::rejected_canceled, TaskState::fulfilled},
                                 {expired, PromiseState::rejected, TaskState::fulfilled}};
  for (const JobState state : kStates)
    for (int promise = 0; promise < 5; ++promise)
      for (int task = 0; task < 6; ++task) {
        const Three three{state, static_cast<PromiseState>(promise), static_cast<TaskState>(task)};
        const Names names = broken(state, [&](Row& row, Job&, JobSpec&) {
          row.state = std::get<1>(three);
          row.task = std::get<2>(three);
        });
        EXPECT_EQ(names, table.contains(three) ? Names{} : Names{"job_states_disagree"}) << name_of(state) << promise << task;
      }
}

TEST(InvariantsOfJobs, InstantsFollowEachOther) {
  const Names wanted = {"job_timestamps_out_of_order"};
  EXPECT_EQ(broken(pending, [](Row&, Job& job, JobSpec&) { job.enqueued_at = 0; }), wanted);
  EXPECT_EQ(broken(claimed, [](Row&, Job& job, JobSpec&) { job.claimed_at = 1; }), wanted);
  EXPECT_EQ(broken(completed, [](Row& row, Job& job, JobSpec&) { row.settled_at = job.completed_at = 3; }), wanted);
  EXPECT_EQ(broken(failed, [](Row& row, Job& job, JobSpec&) { row.settled_at = job.failed_at = 3; }), wanted);
  EXPECT_EQ(broken(running,
                   [](Row&, Job& job, JobSpec&) {
                     job.started_at = 2;
                     job.attempts = {attempt(1, 2)};
                   }),
            wanted);
  // failed_at stays set when an archived job is run again.
  EXPECT_EQ(broken(running, [](Row&, Job& job, JobSpec&) { job.failed_at = 2; }), Names{});
  EXPECT_EQ(broken(cancelled, [](Row&, Job& job, JobSpec&) { job.failed_at = 2; }), Names{});
}

TEST(InvariantsOfJobs, InstantsBelongToTheirStates) {
  const Names wanted = {"job_timestamps_mismatch"};
  const auto set = [](Instant Job::*member, Instant at) { return [=](Row&, Job& job, JobSpec&) { job.*member = at; }; };
  EXPECT_EQ(broken(pending, set(&Job::enqueued_at, kUnset)), wanted);
  EXPECT_EQ(broken(claimed, set(&Job::enqueued_at, kUnset)), wanted);
  EXPECT_EQ(broken(claimed, set(&Job::claimed_at, kUnset)), wanted);
  EXPECT_EQ(broken(claimed, set(&Job::started_at, 4)), wanted);
  EXPECT_EQ(broken(scheduled, set(&Job::process_at, 51)), wanted);
  EXPECT_EQ(broken(retry, set(&Job::next_retry_at, 51)), wanted);
  EXPECT_EQ(broken(retry, set(&Job::next_retry_at, kUnset)), wanted);
  const Names without_end = {"job_timestamps_mismatch", "job_end_mismatch"};
  EXPECT_EQ(broken(completed, set(&Job::completed_at, kUnset)), without_end);
  EXPECT_EQ(broken(cancelled, set(&Job::cancelled_at, kUnset)), without_end);
  EXPECT_EQ(broken(expired, set(&Job::expired_at, kUnset)), without_end);
  for (const JobState state : {scheduled, waiting, retry, archived}) EXPECT_EQ(broken(state, set(&Job::enqueued_at, 2)), wanted);
  const std::pair<JobState, Instant Job::*> owned[] = {
      {retry, &Job::next_retry_at}, {completed, &Job::completed_at}, {cancelled, &Job::cancelled_at}, {expired, &Job::expired_at}};
  for (const JobState state : kStates)
    for (const auto& [owner, member] : owned) {
      if (state == owner) continue;
      EXPECT_EQ(broken(state, set(member, 50)), wanted) << name_of(state);
    }
}

TEST(InvariantsOfJobs, AttemptsAreWhatRan) {
  const Names wanted = {"job_attempt_without_start"};
  const auto attempts = [](std::vector<Attempt> all, std::int64_t count) {
    return [=](Row& row, Job& job, JobSpec&) {
      row.acquisitions = count;
      job.attempts = all;
      job.attempt_count = count;
    };
  };
  const Attempt closed = attempt(1, 2, 3, Outcome::snoozed);
  EXPECT_EQ(broken(running, attempts({closed, attempt(2, 4)}, 2)), Names{});
  EXPECT_EQ(broken(running, attempts({attempt(7, 4)}, 7)), Names{});  // only the newest attempts are kept
  EXPECT_EQ(broken(running, attempts({}, 0)), wanted);
  EXPECT_EQ(broken(running, attempts({closed}, 1)), wanted);
  EXPECT_EQ(broken(running, attempts({attempt(1, 3)}, 1)), wanted);
  EXPECT_EQ(broken(running, attempts({attempt(1, 2), attempt(2, 4)}, 2)), wanted);
  EXPECT_EQ(broken(running, attempts({attempt(1, 4, 5)}, 1)), wanted);
  EXPECT_EQ(broken(retry, attempts({attempt(1, 4)}, 1)), wanted);
  EXPECT_EQ(broken(retry, attempts({attempt(1, 4, kUnset, Outcome::failed)}, 1)), wanted);
  EXPECT_EQ(broken(retry, attempts({attempt(1, 4, 3, Outcome::failed)}, 1)), wanted);
  EXPECT_EQ(broken(retry, attempts({attempt(2, 4, 5, Outcome::failed)}, 1)), wanted);
  EXPECT_EQ(broken(retry, attempts({closed, attempt(2, 4, 5, Outcome::failed)}, 1)), wanted);
}

TEST(InvariantsOfJobs, CountsAndFlags) {
  EXPECT_EQ(broken(running, [](Row& row, Job&, JobSpec&) { row.acquisitions = 0; }), Names{"job_attempts_beyond_claims"});
  EXPECT_EQ(broken(retry, [](Row&, Job& job, JobSpec&) { job.retry_count = 3; }), Names{});
  EXPECT_EQ(broken(retry, [](Row&, Job& job, JobSpec&) { job.retry_count = 4; }), Names{"job_retries_beyond_limit"});
  for (const JobState state : kStates) {
    const Names wanted = is_terminal(state) ? Names{} : Names{"job_reclaimed_before_end"};
    EXPECT_EQ(broken(state, [](Row&, Job& job, JobSpec&) { job.reclaim_at = 60; }), wanted) << name_of(state);
    EXPECT_EQ(broken(state, [](Row& row, Job&, JobSpec&) { row.external = false; }), Names{"job_not_external"}) << name_of(state);
  }
}

TEST(InvariantsOfJobs, EndsAreThoseOfTheirPromises) {
  for (const JobState state : kStates)
    EXPECT_EQ(broken(state, [](Row& row, Job&, JobSpec&) { row.settled_at = 6; }), Names{"job_end_mismatch"}) << name_of(state);
  EXPECT_EQ(broken(failed, [](Row&, Job& job, JobSpec&) { job.failed_at = 6; }), Names{"job_end_mismatch"});
}

TEST(InvariantsOfJobs, WhoGathersIsScheduledInABatchOfItsGroup) {
  const Names wanted = {"job_group_mismatch"};
  const auto member = [](auto change) { return broken_of(gatherer("j"), change); };
  const auto leads = [](auto change) { return broken_of(leader("j", 2), change); };
  EXPECT_EQ(member([](Row&, Job&, JobSpec&) {}), Names{});
  EXPECT_EQ(leads([](Row&, Job&, JobSpec&) {}), Names{});
  EXPECT_EQ(member([](Row&, Job& job, JobSpec&) { job.batch = nullptr; }), wanted);
  EXPECT_EQ(member([](Row&, Job&, JobSpec& spec) { spec.group = nullptr; }), wanted);
  EXPECT_EQ(member([](Row& row, Job&, JobSpec&) { row.retry_at = 50; }), wanted);  // the leader has the timer of the group
  EXPECT_EQ(member([](Row&, Job& job, JobSpec&) { job.process_at = 20; }), Names{});
  EXPECT_EQ(member([](Row&, Job& job, JobSpec&) { job.enqueued_at = 2; }),
            (Names{"job_group_mismatch", "job_timestamps_mismatch"}));
  for (const JobState state : kStates) {
    if (state == scheduled) continue;
    EXPECT_EQ(broken(state,
                     [](Row&, Job& job, JobSpec& spec) {
                       job.gathering = true;
                       job.batch = spec.group = shared("g");
                     }),
              wanted)
        << name_of(state);
  }
  EXPECT_EQ(leads([](Row&, Job& job, JobSpec&) { job.group_state = group_state(9, 8, 1); }), wanted);
  EXPECT_EQ(leads([](Row&, Job& job, JobSpec&) { job.group_state = group_state(1, 51, 1); }),
            wanted);  // due before the last member has joined
  EXPECT_EQ(leads([](Row&, Job& job, JobSpec&) { job.group_state = group_state(1, 50, 1); }), Names{});
  EXPECT_EQ(leads([](Row&, Job& job, JobSpec&) { job.group_state = group_state(1, 2, 0); }), wanted);
  EXPECT_EQ(leads([](Row& row, Job& job, JobSpec&) {
              job.gathering = false;
              job.process_at = row.retry_at;
            }),
            wanted);
  EXPECT_EQ(broken(scheduled, [](Row&, Job& job, JobSpec&) { job.process_at = 20; }), Names{"job_timestamps_mismatch"});
}

// The names of the properties that a step violates if it makes this change to a job in that state.
Names stepped(JobState state, auto change) {
  const RowRef before = JobMaker(state).ref();
  std::vector<Violation> found;
  check_job_step(*before, *job_changed(before, change), kNow, found);
  return names_of(found);
}

TEST(StepPropertiesOfJobs, WhatNeverChanges) {
  const RowRef before = JobMaker(pending).ref();
  std::vector<Violation> found;
  check_job_step(*before, *changed(before, [](Row& row) { row.job = nullptr; }), kNow, found);
  EXPECT_EQ(names_of(found), Names{"job_lost"});
  found.clear();
  check_job_step(*changed(before, [](Row& row) { row.job = nullptr; }), *before, kNow, found);
  EXPECT_EQ(names_of(found), Names{});  // the job adopts the promise
  EXPECT_EQ(stepped(pending, [](Row&, Job& job) { job.spec = Shared<const JobSpec>(new JobSpec(*job.spec)); }),
            Names{"job_spec_changed"});
}

TEST(StepPropertiesOfJobs, JobsKeepToTheirEdges) {
  EXPECT_EQ(stepped(scheduled, [](Row&, Job& job) { job.state = retry; }), Names{"job_edge_not_allowed"});
  EXPECT_EQ(stepped(completed, [](Row&, Job& job) { job.state = archived; }),
            (Names{"job_edge_not_allowed", "job_terminal_moved"}));
  EXPECT_EQ(stepped(completed, [](Row&, Job& job) { job.state = failed; }), (Names{"job_edge_not_allowed", "job_terminal_moved"}));
  EXPECT_EQ(stepped(archived, [](Row&, Job& job) { job.state = pending; }), Names{});
}

TEST(StepPropertiesOfJobs, VersionsRiseByClaimsAlone) {
  const auto to = [](JobState state, std::int64_t by) {
    return [=](Row& row, Job& job) {
      job.state = state;
      row.acquisitions += by;
    };
  };
  for (const JobState state : {claimed, running}) {
    EXPECT_EQ(stepped(pending, to(state, 1)), Names{});
    EXPECT_EQ(stepped(pending, to(state, 0)), Names{"job_version_moved"});
    EXPECT_EQ(stepped(pending, to(state, 2)), Names{"job_version_moved"});
  }
  EXPECT_EQ(stepped(claimed, to(running, 0)), Names{});
  EXPECT_EQ(stepped(claimed, to(running, 1)), Names{"job_version_moved"});
  EXPECT_EQ(stepped(claimed, to(pending, 1)), Names{"job_version_moved"});
  EXPECT_EQ(stepped(scheduled, to(claimed, 0)), (Names{"job_claimed_twice", "job_edge_not_allowed"}));
}

TEST(StepPropertiesOfJobs, WhoHoldsItStays) {
  const auto stolen = [](Row& row, Job&) { row.pid = Shared<const SharedString>(new SharedString("thief")); };
  const auto claimed_again = [](Row&, Job& job) { job.claimed_at = 4; };
  for (const JobState state : {claimed, running}) {
    EXPECT_EQ(stepped(state, stolen), Names{"job_holder_changed"});
    EXPECT_EQ(stepped(state, claimed_again), Names{"job_holder_changed"});
    EXPECT_EQ(stepped(state, [](Row& row, Job&) { row.expires_at = 40; }), Names{});  // a heartbeat
  }
}

TEST(StepPropertiesOfJobs, LeasesAreAsLongAsTheySay) {
  const Names wanted = {"job_lease_mismatch"};
  const auto until = [](Instant expires_at, Duration ttl) {
    return [=](Row& row, Job&) {
      row.expires_at = expires_at;
      row.ttl = ttl;
    };
  };
  for (const JobState state : {claimed, running}) {
    EXPECT_EQ(stepped(state, until(kNow + 10, 10)), Names{});
    EXPECT_EQ(stepped(state, until(kNow + 70, 70)), Names{});
    EXPECT_EQ(stepped(state, until(kNow + 9, 10)), wanted);
    EXPECT_EQ(stepped(state, until(kNow + 10, 11)), wanted);
    EXPECT_EQ(stepped(state, until(kNever, kNever)), Names{});  // the sum saturates
    const auto claimed_now = [=](Instant expires_at) {
      return stepped(pending, [=](Row& row, Job& job) {
        job.state = state;
        ++row.acquisitions;
        row.ttl = 10;
        row.expires_at = expires_at;
      });
    };
    EXPECT_EQ(claimed_now(kNow + 10), Names{});
    EXPECT_EQ(claimed_now(kNow + 20), wanted);
  }
  EXPECT_EQ(stepped(running,
                    [](Row& row, Job& job) {
                      job.state = scheduled;
                      row.expires_at = kUnset;
                    }),
            Names{});
}

TEST(StepPropertiesOfJobs, BatchesStayOnceTheyAreReady) {
  const auto batch = [](const std::string& name) {
    return [=](Row&, Job& job) { job.batch = name.empty() ? nullptr : shared(name); };
  };
  const auto both = [](auto first, auto then) {
    return [=](Row& row, Job& job) {
      first(row, job);
      then(row, job);
    };
  };
  const auto ready = [](Row&, Job& job) {
    job.gathering = false;
    job.group_state = nullptr;
    job.state = pending;
  };
  const auto from = [](const RowRef& before, auto change) {
    std::vector<Violation> found;
    check_job_step(*before, *job_changed(before, change), kNow, found);
    return names_of(found);
  };
  const RowRef gathers = leader("j", 2).ref();
  EXPECT_EQ(from(gathers, ready), Names{});
  EXPECT_EQ(from(gathers, both(ready, batch(""))), Names{});  // the job leaves the group
  EXPECT_EQ(from(JobMaker(scheduled).ref(), batch("batch:1")), Names{});
  const RowRef was = job_changed(gathers, ready);
  EXPECT_EQ(from(was, batch("batch:1")), Names{});
  EXPECT_EQ(from(was, batch("batch:2")), Names{"job_batch_changed"});
  EXPECT_EQ(from(was, batch("")), Names{"job_batch_changed"});
}

TEST(StepPropertiesOfJobs, RetriesAreCounted) {
  const auto to = [](JobState state, std::int64_t by) {
    return [=](Row&, Job& job) {
      job.state = state;
      job.retry_count += by;
    };
  };
  EXPECT_EQ(stepped(running, to(retry, 1)), Names{});
  EXPECT_EQ(stepped(running, to(retry, 0)), Names{"job_retry_count_moved"});
  EXPECT_EQ(stepped(running, to(scheduled, 1)), Names{"job_retry_count_moved"});
  EXPECT_EQ(stepped(archived, to(pending, -1)), Names{"job_retry_count_moved"});
}

// The edges of JOBS 3, and those of a settlement of the promise, which ends a job from any state that is not final.
TEST(JobTransitions, AreTheOnesOfTheContract) {
  std::set<std::pair<JobState, JobState>> edges = {
      {scheduled, pending}, {scheduled, expired}, {scheduled, archived}, {pending, claimed},  {pending, running},
      {pending, expired},   {pending, archived},  {claimed, running},    {claimed, pending},  {claimed, expired},
      {running, retry},     {running, archived},  {running, scheduled},  {retry, pending},    {retry, archived},
      {archived, pending},  {waiting, pending},   {waiting, scheduled},  {waiting, archived}, {waiting, expired},
      {running, waiting},   {running, pending}};
  for (const JobState from : {scheduled, waiting, pending, claimed, running, retry, archived})
    for (const JobState to : {completed, failed, cancelled}) edges.emplace(from, to);
  for (const JobState from : kStates)
    for (const JobState to : kStates)
      EXPECT_EQ(job_edge_allowed(from, to), from == to || edges.contains({from, to})) << name_of(from) << " " << name_of(to);
}

// A state with one job of queue "q"; each test writes one error into it.
class InvariantsOfQueues : public ::testing::Test {
 protected:
  InvariantsOfQueues() { write({nullptr, fake::queue("q", {{pending, 1}})}, JobMaker(pending).ref()); }
  Names write(QueueChange change, const RowRef& row = {}) {
    store.engine->with_storage([&](Storage& storage) {
      Changes changes;
      changes.counters = storage.counters();
      if (row) changes.rows.push_back({nullptr, row});
      changes.queues.push_back(std::move(change));
      storage.write(changes);
    });
    return names_of(store.engine->check());
  }
  QueueRef queue() {
    return store.engine->with_storage([](Storage& storage) { return storage.load_queue("q"); });
  }
  Store store{Options{}, 10};
};

TEST_F(InvariantsOfQueues, CountTheirJobs) {
  EXPECT_EQ(names_of(store.engine->check()), Names{});
  const Names wanted = {"queue_count_mismatch"};
  EXPECT_EQ(write({queue(), fake::queue("q", {{pending, 2}})}), wanted);
  EXPECT_EQ(write({queue(), fake::queue("q", {{claimed, 1}})}), wanted);
  EXPECT_EQ(write({queue(), fake::queue("q", {{pending, 1}})}), Names{});
  EXPECT_EQ(write({nullptr, fake::queue("empty")}), Names{});
  EXPECT_EQ(write({nullptr, fake::queue("other", {{archived, 1}})}), wanted);
}

TEST_F(InvariantsOfQueues, AreThereForTheirJobs) { EXPECT_EQ(write({queue(), nullptr}), Names{"queue_missing"}); }

TEST_F(InvariantsOfQueues, StepsAndRowsOfJobsAreLookedAt) {
  const auto after = [this](auto change) {
    return store.engine->with_storage([&](Storage& storage) {
      WorkingSet set(storage);
      set.checkpoint();
      WorkingSet::Entry* entry = set.find("j");
      Row& row = set.edit(*entry);
      Shared<Job> job(new Job(*row.job));
      change(row, *job);
      row.job = std::move(job);
      set.touched(*entry);
      return names_of(check_step(set, {10, nullptr}, RulesId::compatible));
    });
  };
  EXPECT_EQ(after([](Row&, Job&) {}), Names{});
  EXPECT_EQ(after([](Row& row, Job&) { row.acquisitions = 1; }), Names{"job_version_moved"});
  EXPECT_EQ(after([](Row&, Job& job) { job.enqueued_at = 0; }), Names{"job_timestamps_out_of_order"});
}

}  // namespace
}  // namespace resonate
