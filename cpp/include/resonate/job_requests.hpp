// Requests on jobs and queues (JOBS 5), and the results in their replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "resonate/jobs.hpp"
#include "resonate/values.hpp"

namespace resonate {

// A job to enqueue. Its queue supplies absent values, then its lifecycle.
struct JobOrder {
  std::optional<std::string> id;  // none: the engine generates one
  std::string queue = "default";
  std::string type;
  Value payload;
  StringMap tags;
  Instant deadline = kNever;
  std::optional<std::int64_t> priority;
  std::optional<Instant> process_at;
  std::optional<Duration> process_in;
  std::optional<Instant> good_until;
  std::optional<Duration> good_for;  // sets good_until, relative to the first instant at which the job is runnable
  std::optional<Duration> timeout;
  std::optional<Duration> retention;  // kKept: for ever
  std::optional<std::int64_t> max_retries;
  std::optional<RetryPolicy> policy;
  std::optional<std::string> on_exhausted;
  std::optional<std::string> lifecycle;
  std::optional<std::string> unique_key;
  std::optional<Duration> unique_for;
  std::optional<std::string> group;
  std::optional<Instant> sent_at;
};

// The job of a schedule; the schedule supplies id, payload, tags, deadline and instants.
struct JobTemplate final : Counted {
  JobOrder order;
  std::string unread;   // the stored text if this version cannot read it; it is kept unchanged
  std::string problem;  // why it cannot be read
};

// A vector of one element: an order is large, and every request takes the size of the largest.
struct JobEnqueue {
  std::vector<JobOrder> order;
};
struct JobEnqueueMany {
  std::vector<JobOrder> orders;
};
struct JobGet {
  std::string id;
};

struct QueueChoice {
  std::string name;
  std::optional<std::int64_t> weight;
};
struct JobClaim {
  std::vector<QueueChoice> queues;
  std::int64_t count = 1;
  std::string worker;
  Duration lease = 0;
  std::optional<Duration> run_lease;  // the lease of a job that starts when it is claimed
  bool strict = false;
  std::int64_t start = 0;  // the number of claimed jobs that start at once
};
struct JobStart {
  std::string id;
  std::int64_t version = 0;
  std::optional<Duration> lease;
};
struct JobRef {
  std::string id;
  std::int64_t version = 0;
};
struct JobStartMany {
  std::vector<JobRef> jobs;
  std::optional<Duration> lease;
};
struct JobHeartbeat {
  std::string worker;
  std::vector<JobRef> jobs;
};
struct JobComplete {
  std::string id;
  std::int64_t version = 0;
  Value result;
};
struct JobCompleteMany {
  std::vector<JobComplete> jobs;
};
struct JobFail {
  std::string id;
  std::int64_t version = 0;
  JobError error;
  bool retryable = true;
  std::optional<Duration> retry_after;
};
struct JobRelease {
  std::string id;
  std::int64_t version = 0;
};
struct JobSnooze {
  std::string id;
  std::int64_t version = 0;
  Duration delay = 0;
};

// The jobs that a request changes: one by id, or all that match.
struct JobFilter {
  std::optional<std::string> id;
  std::optional<std::string> queue;
  std::optional<std::string> type;
  std::optional<std::string> state;
  std::optional<std::string> group;
  StringMap tags;
  // If set, only these of the matching jobs. The engine sets it after it has chosen the jobs on a snapshot; it is never on the
  // wire.
  std::optional<std::vector<std::string>> among{};
};
struct JobCancel {
  JobFilter which;
};
struct JobRun {
  JobFilter which;
};
struct JobArchive {
  JobFilter which;
};
struct JobDelete {
  JobFilter which;
};

struct JobSearch {
  JobFilter filter;  // its id is a glob
  std::optional<std::string> unique_key;
  std::optional<std::int64_t> limit;
  std::string cursor;
};
struct JobStats {
  std::optional<std::string> queue;
};

// A member of a queue in a request: absent, null or a value.
template <class T>
struct Setting {
  bool given = false;
  std::optional<T> value;  // empty: null
};
struct QueueSet {
  std::string queue;
  Setting<std::string> lifecycle;
  std::optional<std::int64_t> weight;
  Setting<std::int64_t> concurrency;
  Setting<RateLimit> rate;
  Setting<GroupLimits> groups;
  Setting<JobDefaults> defaults;
};
struct QueueGet {
  std::string queue;
};
struct QueuePause {
  std::string queue;
};
struct QueueResume {
  std::string queue;
};
struct QueueList {};

}  // namespace resonate
