// Random requests on a few jobs and queues, mixed with requests on promises and on tasks that await them.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fake_jobs.hpp"

namespace resonate::fake {

class RandomJobRequests {
 public:
  explicit RandomJobRequests(unsigned seed) : random_(seed), others_(seed + 1) {}

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  // The instant of the next request: mostly within 2 ms, sometimes within 24 ms, seldom within 1.2 s.
  Instant after(Instant now) {
    if (below(60) == 0) return now + below(1200);
    return now + (below(3) ? below(3) : below(25));
  }

  // A request that a store in `store`'s state would often grant.
  Request next(JobStore& store, Instant now) {
    ++made_;
    if (below(12) == 0) return others_.next(store, now);
    Request made{below(8) ? kNew : kOld, operation(store, now)};
    if (below(30) == 0) made.scope = "j10";
    return made;
  }

 private:
  // Most jobs end in a final state, so the range of ids advances; within it, an id is used again once it is free.
  std::string id() { return "j" + std::to_string(1000 + made_ / 40 + below(14)); }
  std::string task() { return "t" + std::to_string(1000 + made_ / 40 + below(4)); }
  std::string queue() { return std::string(1, static_cast<char>('a' + below(3))); }
  std::string worker() { return "w" + std::to_string(below(2)); }
  bool now_and_then(int in) { return below(in) == 0; }

  // A job in one of the states, if the range has one.
  std::string in(JobStore& store, std::initializer_list<JobState> wanted) {
    for (int tries = 0; tries < 12; ++tries) {
      std::string some = id();
      const Shared<const Job> job = store.job(some);
      if (job && std::count(wanted.begin(), wanted.end(), job->state)) return some;
    }
    return id();
  }
  std::int64_t version(JobStore& store, const std::string& job) {
    const RowRef row = store.row(job);
    return !row || now_and_then(12) ? below(3) : row->acquisitions;
  }
  JobReport report(const std::string& job, std::int64_t version) {
    JobReport made{.id = job, .version = version, .progress = {}, .lines = {}};
    if (below(3)) made.progress = static_cast<double>(below(5)) / 4;
    if (!made.progress || below(2)) made.lines.assign(static_cast<std::size_t>(1 + below(40)), "line");
    return made;
  }
  RetryPolicy policy() {
    RetryPolicy made;
    if (below(3)) made = fixed({below(30), below(2) * 10});
    if (now_and_then(3)) {
      made.kind = PolicyKind::exponential;
      made.base = 1 + below(20);
      made.jitter = 0.5;
      made.cap = 100;
    }
    if (now_and_then(4)) made.codes = {"Broken"};
    return made;
  }
  // The id of a child of the job, which may have one of that id.
  std::string step_of(const std::string& job) { return job + ":" + std::to_string(1 + below(4)); }
  JobRecordSteps records(const std::string& job, std::int64_t version) {
    JobRecordSteps made{job, version, {}};
    for (int i = below(4); i > 0; --i) {
      JobStep step{.id = step_of(job), .state = {}, .value = {}, .param = {}, .tags = {}, .timeout_in = {}};
      if (below(2)) step.state = below(2) ? "resolved" : below(2) ? "rejected" : "rejected_canceled";
      if (step.state && below(2)) step.value = data("cg==");
      if (now_and_then(3)) step.timeout_in = below(60);
      if (now_and_then(6)) step.tags = below(2) ? tags({{"resonate:timer", "true"}}) : target();
      made.steps.push_back(std::move(step));
    }
    return made;
  }
  JobReceive receiving(const std::string& job, std::int64_t version) {
    JobReceive made{job, version, step_of(job), std::string(1, static_cast<char>('x' + below(2))), {}};
    if (now_and_then(3)) made.timeout_in = below(60);
    return made;
  }
  JobSend message(const std::string& job) {
    JobSend made{job, std::string(1, static_cast<char>('x' + below(2))), data("bQ=="), {}};
    if (below(2)) made.key = "k" + std::to_string(below(3));
    return made;
  }
  // One to three ids, none of them that of the job which is to wait for them.
  Texts some_ids(const std::optional<std::string>& waiting) {
    Texts ids;
    for (int i = 1 + below(3); i > 0; --i)
      if (const std::string one = waiting && now_and_then(4) ? step_of(*waiting) : id(); one != waiting) ids.push_back(one);
    if (ids.empty()) ids.push_back("p");
    return ids;
  }
  JobOrder some_order(Instant now) {
    JobOrder made = order(id(), queue());
    if (now_and_then(15)) made.id.reset();
    if (now_and_then(2)) made.priority = 1 + below(3);
    if (now_and_then(3)) made.lifecycle = below(2) ? "asynq" : below(2) ? "horsies" : "workflow";
    if (now_and_then(2)) made.policy = policy();
    if (now_and_then(3)) made.max_retries = below(3);
    if (now_and_then(4)) made.on_exhausted = below(2) ? "failed" : "archived";
    if (now_and_then(4)) made.process_in = below(30);
    if (now_and_then(5)) made.good_until = std::max<Instant>(0, now + below(60) - 5);
    if (!made.good_until && now_and_then(8)) made.good_for = 1 + below(60);
    if (now_and_then(2)) made.group = "g" + std::to_string(below(2));
    if (now_and_then(5)) made.deadline = std::max<Instant>(0, now + below(200) - 3);
    if (now_and_then(4)) made.timeout = 1 + below(40);
    if (now_and_then(3)) made.retention = below(3) * 20;
    if (now_and_then(3)) made.unique_key = "k" + std::to_string(below(2));
    if (made.unique_key && below(2)) made.unique_for = 1 + below(60);
    if (now_and_then(6)) made.sent_at = std::max<Instant>(0, now - below(20) + 3);
    if (now_and_then(4)) made.tags = tags({{"resonate:branch", "b" + std::to_string(below(2))}});
    if (now_and_then(5)) made.payload = data("cGF5");
    if (!made.group && now_and_then(4)) {
      made.after = some_ids(made.id);
      if (below(2)) made.after_failed = below(2) ? "run" : "cancel";
    }
    return made;
  }
  JobClaim some_claim() {
    std::vector<std::string> names = {"a", "b", "c"};
    std::shuffle(names.begin(), names.end(), random_);
    names.resize(static_cast<std::size_t>(1 + below(3)));
    JobClaim made = claim(names, 1 + below(3), 5 + below(60));
    made.worker = worker();
    made.strict = now_and_then(5);
    if (now_and_then(2)) made.run_lease = 5 + below(90);
    if (now_and_then(3)) made.start = below(4);
    for (QueueChoice& choice : made.queues)
      if (now_and_then(3)) choice.weight = 1 + below(4);
    return made;
  }
  // A filter for one id, or for all jobs that match.
  JobFilter which(const std::string& one, std::initializer_list<const char*> states) {
    if (below(5)) return only(one);
    JobFilter made;
    if (below(2)) made.queue = queue();
    if (now_and_then(4)) made.group = "g" + std::to_string(below(2));
    if (now_and_then(3)) made.tags = tags({{"resonate:branch", "b1"}});
    if (states.size() > 0) made.state = *(states.begin() + below(static_cast<int>(states.size())));
    return made;
  }
  GroupLimits groups() {
    GroupLimits made{.size = 1 + below(5), .grace = below(60), .max_delay = {}};
    if (below(2)) made.max_delay = 1 + below(90);
    return made;
  }
  // A schedule whose order omits the members that the schedule sets; its jobs sometimes have ids of the range.
  ScheduleCreate schedule(Instant now) {
    JobOrder job = some_order(now);
    job.id.reset();
    job.payload = {};
    job.tags = {};
    job.deadline = kNever;
    job.good_until.reset();
    job.sent_at.reset();
    job.after.reset();
    job.after_failed.reset();
    job.parent.reset();
    return {.id = "s" + std::to_string(below(3)),
            .cron = below(2) ? "* * * * * *" : "*/2 * * * * *",
            .promise_id = below(2) ? id() : "j{{.timestamp}}",
            .promise_timeout = below(400),
            .promise_param = {},
            .promise_tags = tags({{"resonate:branch", "b1"}}),
            .job = std::move(job)};
  }
  QueueSet settings(Instant) {
    QueueSet made;
    made.queue = queue();
    if (now_and_then(2)) made.weight = 1 + below(5);
    if (now_and_then(2)) made.concurrency = {true, below(3) ? std::optional<std::int64_t>(1 + below(3)) : std::nullopt};
    if (now_and_then(2))
      made.rate = {true, below(3) ? std::optional(RateLimit{1 + below(3), 1 + below(50), 1 + below(4)}) : std::nullopt};
    if (below(3)) made.groups = {true, below(6) ? std::optional(groups()) : std::nullopt};
    if (now_and_then(3)) made.lifecycle = {true, below(2) ? std::optional<std::string>("asynq") : std::nullopt};
    if (now_and_then(3)) {
      JobDefaults defaults;
      if (below(2)) defaults.policy = policy();
      if (below(2)) defaults.retention = below(2) ? kKept : 10;
      if (below(2)) defaults.priority = 1 + below(3);
      made.defaults = {true, defaults};
    }
    return made;
  }

  Operation operation(JobStore& store, Instant now) {
    using enum JobState;
    switch (below(48)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5: return enqueue(some_order(now));
      case 6: {
        JobEnqueueMany many;
        for (int i = 1 + below(5); i > 0; --i) many.orders.push_back(some_order(now));
        many.atomic = now_and_then(3);
        return many;
      }
      case 7:
      case 8:
      case 9:
      case 10:
      case 11: return some_claim();
      case 12:
      case 13: {
        const std::string job = in(store, {claimed});
        JobStart start{job, version(store, job), {}};
        if (below(2)) start.lease = 5 + below(60);
        return start;
      }
      case 14: {
        JobStartMany many;
        for (int i = 1 + below(3); i > 0; --i) {
          const std::string job = in(store, {claimed});
          many.jobs.push_back({job, version(store, job)});
        }
        return many;
      }
      case 15: {
        JobHeartbeat beat{worker(), {}};
        for (int i = below(4); i > 0; --i) {
          const std::string job = in(store, {claimed, running, cancelled});
          beat.jobs.push_back({job, version(store, job)});
        }
        return beat;
      }
      case 16:
      case 17: {
        const std::string job = in(store, {running});
        return JobComplete{job, version(store, job), below(2) ? data("cg==") : Value{}};
      }
      case 18: {
        JobCompleteMany many;
        for (int i = 1 + below(3); i > 0; --i) {
          const std::string job = in(store, {running});
          many.jobs.push_back({job, version(store, job), {}});
        }
        return many;
      }
      case 19:
      case 20: {
        const std::string job = in(store, {running});
        JobFail fail = failure(job, version(store, job), below(2) ? "Broken" : "Other");
        fail.retryable = below(4) != 0;
        fail.archive = now_and_then(8);
        if (now_and_then(4)) fail.retry_after = below(40);
        return fail;
      }
      case 21: {
        const std::string job = in(store, {claimed});
        return JobRelease{job, version(store, job)};
      }
      case 22: {
        const std::string job = in(store, {running});
        if (now_and_then(3)) return report(job, version(store, job));
        return JobSnooze{job, version(store, job), below(30)};
      }
      case 23: {
        JobFilter filter = which(id(), {});
        if (!filter.id && !filter.queue && !filter.group && filter.tags.empty()) filter.type = "work";
        return JobCancel{filter};
      }
      case 24:
        return JobRun{which(in(store, {archived, retry, scheduled, waiting}), {"archived", "retry", "scheduled", "waiting"})};
      case 25:
        return JobArchive{which(in(store, {pending, retry, scheduled, waiting}), {"pending", "retry", "scheduled", "waiting"})};
      case 26:
      case 27:
        return JobDelete{
            which(in(store, {pending, waiting, archived, completed, failed}),
                  {"pending", "scheduled", "waiting", "retry", "archived", "completed", "failed", "cancelled", "expired"})};
      case 28: {
        JobSearch search;
        if (below(2)) search.filter.queue = queue();
        if (below(2)) search.filter.state = name_of(static_cast<JobState>(below(static_cast<int>(kJobStates))));
        if (now_and_then(3)) search.filter.id = "j10*";
        if (now_and_then(3)) search.unique_key = "k1";
        if (now_and_then(3)) search.filter.group = "g1";
        if (below(2)) search.limit = 1 + below(4);
        return search;
      }
      case 29: {
        const Operation looks[] = {JobStats{}, JobStats{queue()}, QueueList{}, QueueGet{queue()}, JobGet{id()}};
        return looks[below(5)];
      }
      case 30:
        if (below(4)) return settings(now);
        if (below(3)) return schedule(now);
        if (below(4) == 0) return SchedulePause{"s" + std::to_string(below(3))};
        if (below(3) == 0) return ScheduleResume{"s" + std::to_string(below(3))};
        return ScheduleDelete{"s" + std::to_string(below(3))};
      case 31:
        if (below(2)) return QueuePause{queue()};
        return QueueResume{queue()};
      case 32:
        if (below(2)) return RegisterListener{id(), "http://" + std::to_string(below(2))};
        return TaskCreate{worker(), 50 + below(90), creation(task(), now + 50 + below(400), target())};
      case 33:
      case 34: {
        const std::string awaiter = task();
        const std::string awaited = in(store, {scheduled, waiting, pending, claimed, running, retry});
        if (now_and_then(3)) return RegisterCallback{awaited, awaiter};
        return suspension(awaiter, version(store, awaiter), {awaited});
      }
      case 36:
      case 37:
      case 38: {
        const std::string job = in(store, {running});
        return records(job, version(store, job));
      }
      case 39:
      case 40: {
        const std::string job = in(store, {running});
        return receiving(job, version(store, job));
      }
      case 41: return message(in(store, {scheduled, waiting, pending, claimed, running, retry, archived}));
      case 42: {
        const std::string job = in(store, {running});
        JobOrder child = some_order(now);
        if (below(2)) child.id = step_of(job);
        child.parent = JobParent{job, version(store, job)};
        return enqueue(std::move(child));
      }
      case 43: {
        const std::string job = in(store, {running});
        if (below(3)) return JobStartOver{job, version(store, job), data("YXJncw==")};
        return JobHistory{.id = job, .limit = 1 + below(3), .cursor = {}};
      }
      case 44:
      case 45: {
        const std::string job = in(store, {running});
        JobSuspend suspend{job, version(store, job), some_ids(job), {}};
        if (below(2)) suspend.until = below(2) ? "all" : "any";
        return suspend;
      }
      case 46: {
        const std::string job = in(store, {waiting, running, completed});
        return JobFork{job, step_of(job), id()};
      }
      default: {
        static const char* const kStates[] = {"resolved", "rejected", "rejected_canceled"};
        if (now_and_then(3)) return creation(id(), now + below(200));  // an enqueue may adopt it
        return fake::settlement(id(), kStates[below(3)]);
      }
    }
  }

  std::mt19937 random_;
  RandomRequests others_;
  int made_ = 0;
};

}  // namespace resonate::fake
