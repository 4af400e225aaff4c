// The keys of a row in each index. Storages write an index entry if the row's keys before and after a change differ; a working set
// overlays any range of an index with the rows of its transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "resonate/records.hpp"

namespace resonate {

// An index consists of groups; the rows of a group are ordered by (major, minor, id), or in the reverse order (is_reversed).
enum class Index : std::uint8_t {
  id,           // every row
  due,          // rows with a timer, ordered by its instant and kind
  branch,       // promises of a branch
  holder,       // tasks without a job, by the pid that holds them
  newest_root,  // promises without a job that are their own origin, the newest first
  child,        // children and messages of a job, ordered by their creation
  open,         // pending receives or unread messages of a mailbox, unfinished child jobs of a job, ordered by number
  claim,        // runnable jobs of a queue, ordered by priority and turn()
  unique_key,   // unfinished jobs, by queue and unique key
  // Leaders of gathering batches, by queue, group and type; jobs that gather with a leader or are claimed with their batch, by
  // queue and batch.
  batch,
  job_state,   // jobs in a state for which has_state_index() is true, ordered by state
  newest_job,  // jobs of a queue, the newest first
};
inline constexpr std::size_t kIndexes = 12;

inline constexpr Index kFirstIndexOfJobs = Index::claim;  // from here on an index holds jobs alone

constexpr std::size_t place_of(Index index) noexcept { return static_cast<std::size_t>(index); }

// Returns whether the index is in the reverse order. Only people search in such an index, so it costs little at a write: its key
// never changes, and a storage in memory enters new rows at the next search. Read it from a storage: a working set does not overlay
// it.
constexpr bool is_reversed(Index index) noexcept { return index == Index::newest_root || index == Index::newest_job; }

// The components of an index's keys. `queue` is also another text by which a group is named whose rows have an order: a job.
struct IndexParts {
  bool queue = false;
  bool text = false;
  bool type = false;
  bool major = false;
  bool minor = false;
};
constexpr IndexParts parts_of(Index index) noexcept {
  switch (index) {
    case Index::id: break;
    case Index::due: return {.major = true, .minor = true};
    case Index::branch: return {.text = true};
    case Index::holder: return {.text = true};
    case Index::newest_root: return {.major = true};
    case Index::child: return {.queue = true, .major = true};
    case Index::open: return {.queue = true, .major = true};
    case Index::claim: return {.queue = true, .major = true, .minor = true};
    case Index::unique_key: return {.queue = true, .text = true};
    case Index::batch: return {.queue = true, .text = true, .type = true};
    case Index::job_state: return {.major = true};
    case Index::newest_job: return {.queue = true, .major = true};
  }
  return {};
}

// The group (null: the index has no such component) and the place in it. The pointers lead into the row.
struct IndexKey {
  const std::string* queue = nullptr;
  const std::string* text = nullptr;
  const std::string* type = nullptr;
  std::int64_t major = 0;
  std::int64_t minor = 0;

  // Returns whether both keys are equal and point to the same texts.
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

// Returns the row's key in the index, or none if the index does not contain the row.
template <Index index>
std::optional<IndexKey> index_key(const Row& row) noexcept {
  if constexpr (index >= kFirstIndexOfJobs)
    if (!row.job) return {};
  IndexKey key;
  if constexpr (index == Index::due) {
    if (row.due.kind == DueKind::none) return {};
    key.major = row.due.at;
    key.minor = static_cast<std::int64_t>(row.due.kind);
  } else if constexpr (index == Index::branch) {
    key.text = row.promise_spec->branch;
    if (!key.text) return {};
  } else if constexpr (index == Index::holder) {
    if (row.job || !row.pid) return {};
    key.text = &row.pid->text;
  } else if constexpr (index == Index::newest_root) {
    if (row.job || !row.promise_spec->root) return {};
    key.major = row.promise_spec->created_at;
  } else if constexpr (index == Index::child) {
    const ChildMark* const child = row.promise_spec->child.get();
    if (!child) return {};
    key.queue = &child->parent;
    key.major = row.promise_spec->created_at;
  } else if constexpr (index == Index::open) {
    const ChildMark* const child = row.promise_spec->child.get();
    if (!child || child->group.empty()) return {};
    if (child->kind == ChildKind::message ? !row.unread : row.state != PromiseState::pending) return {};
    key.queue = &child->group;
    key.major = child->number;
  } else if constexpr (index == Index::claim) {
    if (row.job->state != JobState::pending) return {};
    key.queue = &row.job->spec->queue;
    key.major = row.job->spec->priority;
    key.minor = row.job->turn();
  } else if constexpr (index == Index::unique_key) {
    if (!row.job->spec->unique_key || is_terminal(row.job->state)) return {};
    key.queue = &row.job->spec->queue;
    key.text = &*row.job->spec->unique_key;
  } else if constexpr (index == Index::batch) {
    const Job& job = *row.job;
    if (!job.batch || row.state != PromiseState::pending) return {};
    if (!job.group_state && !job.gathering && job.state != JobState::pending) return {};
    key.queue = &job.spec->queue;
    key.text = job.group_state ? &job.spec->group->text : &job.batch->text;
    key.type = job.group_state ? &job.spec->type : nullptr;
  } else if constexpr (index == Index::job_state) {
    if (!has_state_index(row.job->state)) return {};
    key.major = stored_number(row.job->state);
  } else if constexpr (index == Index::newest_job) {
    key.queue = &row.job->spec->queue;
    key.major = row.promise_spec->created_at;
  }
  return key;
}
std::optional<IndexKey> index_key(const Row& row, Index index) noexcept;

// Calls visit.operator()<index>() for each index, in order.
template <class Visit>
void each_index(Visit visit) {
  [&]<std::size_t... places>(std::index_sequence<places...>) { (visit.template operator()<static_cast<Index>(places)>(), ...); }
  (std::make_index_sequence<kIndexes>());
}

// Returns when the schedule is due, or none.
std::optional<Due> due_key(const Schedule& schedule);
// Returns the settled promise that an unblock reports; null for other messages. Unblocks are ordered by number, both overall and
// per promise.
const std::string* unblock_key(const OutboxMessage& message) noexcept;
// Returns the awaiter whose cancellation cancels the awaited job; null for other edges. Such edges are ordered by awaiter and
// owner.
const std::string* cancel_key(const Edge& edge) noexcept;

// A place in the order of a group. In an index ordered by id alone, the default precedes every row.
struct IndexPlace {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::string id = {};
  friend auto operator<=>(const IndexPlace&, const IndexPlace&) = default;
};
inline constexpr std::int64_t kFirstPlace = std::numeric_limits<std::int64_t>::min();

// At most `limit` rows of one group of an index, in order: those after `after` whose major is at most `until`, or in a reversed
// index at least `until`.
struct RowRange {
  Index index = Index::id;
  std::string queue = {};
  std::string text = {};
  std::string type = {};
  IndexPlace after = {};
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  std::size_t limit = SIZE_MAX;

  bool reaches(std::int64_t major) const noexcept { return is_reversed(index) ? major >= until : major <= until; }
  bool has(const IndexKey& key) const noexcept {
    return reaches(key.major) && IndexKey::view(key.text) == text && IndexKey::view(key.queue) == queue &&
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
// The children and messages of a job, by their creation and then by id.
RowRange children_of(std::string_view job);
// What is open in a group of ChildMark::group, by number.
RowRange open_in(std::string_view group);
// The newest first: those created from `since` to `until`.
RowRange newest_roots(Instant since, Instant until);
RowRange newest_jobs(std::string_view queue, Instant since, Instant until);
// Returns the place of a row of the range.
IndexPlace place_in(const RowRange& range, const Row& row);

}  // namespace resonate
