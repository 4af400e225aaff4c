// The keys of a row in the indexes, each defined once. Storages compare the keys of a row before and after a change and store those
// that differ; a working set lays the rows of its transaction over any range of a storage's index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "resonate/records.hpp"

namespace resonate {

// An index holds rows in groups; within a group they are in order of (major, minor, id).
enum class Index : std::uint8_t {
  id,          // every row
  due,         // rows that have a timer, by its instant and kind
  branch,      // promises by branch
  holder,      // tasks that are no jobs, by the pid that holds them
  claim,       // jobs that may be claimed, by queue; in order of priority and enqueued_at
  unique_key,  // jobs that are not over, by queue and unique key
  batch,       // jobs that lead a gathering group, by queue, group and type; those that gather with one, or may be claimed together
               // with their batch, by queue and batch
  job_state,   // jobs in a state that is_set_aside(), in order of the state
};
inline constexpr std::size_t kIndexes = 8;

constexpr std::size_t place_of(Index index) noexcept { return static_cast<std::size_t>(index); }

// The group (null: it has no such text), and the place in it. Points into the row.
struct IndexKey {
  const std::string* queue = nullptr;
  const std::string* text = nullptr;
  const std::string* type = nullptr;
  std::int64_t major = 0;
  std::int64_t minor = 0;

  // The same place and the very texts of the other.
  bool is(const IndexKey& other) const noexcept {
    return queue == other.queue && text == other.text && type == other.type && major == other.major && minor == other.minor;
  }
  static std::string_view view(const std::string* text) noexcept { return text ? std::string_view(*text) : std::string_view(); }
  friend bool operator==(const IndexKey& a, const IndexKey& b) noexcept {
    return a.major == b.major && a.minor == b.minor && same(a.text, b.text) && same(a.queue, b.queue) && same(a.type, b.type);
  }

 private:
  static bool same(const std::string* a, const std::string* b) noexcept { return a == b || (a && b && *a == *b); }
};

// The key under which an index holds the row, or none.
template <Index index>
std::optional<IndexKey> index_key(const Row& row) noexcept {
  if constexpr (index >= Index::claim)
    if (!row.job) return {};
  IndexKey key;
  if constexpr (index == Index::due) {
    if (row.due.kind == DueKind::none) return {};
    key.major = row.due.at;
    key.minor = static_cast<std::int64_t>(row.due.kind);
  } else if constexpr (index == Index::branch) {
    key.text = row.birth->branch;
    if (!key.text) return {};
  } else if constexpr (index == Index::holder) {
    if (row.job || !row.pid) return {};
    key.text = &row.pid->text;
  } else if constexpr (index == Index::claim) {
    if (row.job->state != JobState::pending) return {};
    key.queue = &row.job->spec->queue;
    key.major = row.job->spec->priority;
    key.minor = row.job->enqueued_at;
  } else if constexpr (index == Index::unique_key) {
    if (!row.job->spec->unique_key || is_terminal(row.job->state)) return {};
    key.queue = &row.job->spec->queue;
    key.text = &*row.job->spec->unique_key;
  } else if constexpr (index == Index::batch) {
    const Job& job = *row.job;
    if (!job.batch || row.state != PromiseState::pending) return {};
    if (!job.flight && !job.gathering && job.state != JobState::pending) return {};
    key.queue = &job.spec->queue;
    key.text = job.flight ? &job.spec->group->text : &job.batch->text;
    key.type = job.flight ? &job.spec->type : nullptr;
  } else if constexpr (index == Index::job_state) {
    if (!is_set_aside(row.job->state)) return {};
    key.major = static_cast<std::int64_t>(row.job->state);
  }
  return key;
}
std::optional<IndexKey> index_key(const Row& row, Index index) noexcept;

// When a schedule is due, or none.
std::optional<Due> due_key(const Schedule& schedule);
// The promise whose end the message tells, or null: unblocks are in order of their numbers, of all promises and of each.
const std::string* unblock_key(const OutboxMessage& message) noexcept;

// A place in the order of a group. The default is before every row of an index that is in order of id alone.
struct IndexPlace {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::string id = {};
  friend auto operator<=>(const IndexPlace&, const IndexPlace&) = default;
};
inline constexpr std::int64_t kFirstPlace = std::numeric_limits<std::int64_t>::min();

// Rows of one group of an index, in order: those after `after`, none whose major is greater than `until`, at most `limit`.
struct RowRange {
  Index index = Index::id;
  std::string queue = {};
  std::string text = {};
  std::string type = {};
  IndexPlace after = {};
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  std::size_t limit = SIZE_MAX;

  bool has(const IndexKey& key) const noexcept {
    return key.major <= until && IndexKey::view(key.text) == text && IndexKey::view(key.queue) == queue &&
           IndexKey::view(key.type) == type;
  }
};
RowRange rows_by_due();
RowRange rows_of_branch(std::string_view branch);
RowRange tasks_held_by(std::string_view pid);
RowRange jobs_to_claim(std::string_view queue);
RowRange leaders_of_group(const JobSpec& spec);
RowRange jobs_of_batch(std::string_view queue, std::string_view batch);
RowRange jobs_in_state(JobState state);
// The place of a row that the range holds.
IndexPlace place_in(const RowRange& range, const Row& row);

}  // namespace resonate
