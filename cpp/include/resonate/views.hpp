// Views: what people ask of a store (decision 34). They are no requests: they have no dialect, no trace records them, and they
// change nothing. Each reads a snapshot (Engine::with_snapshot) and does a bounded amount of work.
//
// `now`: rows are shown as replies show them at this instant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resonate/queue_hours.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// What jobs and promises are searched by; a member that is not set excludes nothing.
struct FindQuery {
  std::optional<std::string> id;  // a pattern in which `*` stands for any characters
  // If it is not empty, only rows whose ids begin with it are read and counted: in slices of 10,000 by id (kMostOfPrefix), each the
  // newest first.
  std::string prefix = {};
  StringMap tags;
  Instant created_since = kUnset;
  Instant created_until = kNever;
  std::optional<Instant> settled_since;
  std::optional<Instant> settled_until;
  std::size_t limit = 50;
  std::size_t scan = 10'000;  // the most rows that are examined
  std::string cursor = {};
};
struct FindJobs : FindQuery {
  std::vector<JobState> states;
  std::optional<std::string> queue;
  std::optional<std::string> type;
  std::optional<std::string> error;    // a part of the last error's code or message; ASCII letters of both cases are equal
  std::optional<std::string> payload;  // a part of the payload's decoded data, likewise
};
struct FindPromises : FindQuery {
  std::vector<PromiseState> states;
};

struct Found {
  std::vector<RowRef> rows;                // the newest first
  std::optional<std::string> cursor = {};  // none: no row is left
  std::size_t scanned = 0;                 // the number of rows that were examined
  std::optional<Instant> reached_at = {};  // when the last of them was created
};

// Error (invalid): the limit, the number of rows to scan, or the cursor.
Found find_jobs(Storage& storage, const FindJobs& query, Instant now);
// Promises without a job that are their own origin.
Found find_roots(Storage& storage, const FindPromises& query, Instant now);

// The next timers, in order.
struct NextDue {
  Due due;
  std::string id;
};
// `prefix`: if it is not empty, those of ids that begin with it, among the first rows of that prefix (kMostOfPrefix).
std::vector<NextDue> next_due_of(Storage& storage, std::size_t limit, const std::string& prefix = {});

// The tasks and jobs that are held, by pid and id.
struct Leases {
  std::vector<RowRef> rows;
  bool complete = true;  // false: more are held than were found
};
Leases leases_of(Storage& storage, std::size_t limit);
// Those of ids that begin with the prefix, among the first rows of that prefix (kMostOfPrefix).
Leases leases_of(Storage& storage, std::size_t limit, const std::string& prefix);

// The schedules whose next occurrence is due and has not fired, in order; then those that are set aside.
std::vector<ScheduleRef> late_schedules(Storage& storage, std::size_t limit, Instant now);

// The hours of one queue or of all from `since` (an hour) on, in order, with the present one.
std::vector<std::pair<std::string, std::vector<QueueHour>>> hours_of(Storage& storage, const std::optional<std::string>& queue,
                                                                     std::int64_t since);

// The jobs of all queues, for a scrape: of some queues by name, of the others added up.
struct QueueTotals {
  using Counts = std::array<std::int64_t, kJobStates>;
  struct One {
    QueueRef queue;
    Instant oldest_pending_at = kUnset;
  };
  std::vector<One> shown;
  std::size_t others = 0;  // the number of queues that are not shown
  Counts counts_of_others{};
  Instant oldest_of_others = kUnset;
  std::size_t paused = 0;  // of all queues
};
// Shows the queues of `named` that exist, and then those with the most pending jobs, `most` in all. The oldest pending job is
// looked up in the first `aged` queues of that order: a look-up is a round trip to a database.
QueueTotals totals_of(Storage& storage, const std::vector<std::string>& named, std::size_t most, std::size_t aged, Instant now);

}  // namespace resonate
