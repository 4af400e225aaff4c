// Searches for people: the newest jobs and roots that a query accepts, in slices.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <system_error>

#include "codec/base64.hpp"
#include "machine/ascii.hpp"
#include "machine/glob.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"
#include "newest_rows.hpp"
#include "resonate/errors.hpp"
#include "resonate/views.hpp"
#include "rows_of_prefix.hpp"
#include "views_held.hpp"

namespace resonate {

namespace {

constexpr std::size_t kMostFound = 1000;
constexpr std::size_t kMostScanned = 100'000;
// If at most so many rows can match, they are read by the index that holds them, and sorted.
constexpr std::size_t kFew = 5000;

// A text to look for in others; ASCII letters of both cases are equal.
class Part {
 public:
  explicit Part(std::string_view text) : text_(lowered(text)) {}
  bool is_in(std::string_view whole) const {
    const auto same = [](char a, char b) { return lower(a) == b; };
    return std::search(whole.begin(), whole.end(), text_.begin(), text_.end(), same) != whole.end();
  }

 private:
  std::string text_;
};

std::optional<Part> part(const std::optional<std::string>& text) { return text ? std::optional<Part>(*text) : std::nullopt; }

bool has_error(const Job& job, const Part& part) {
  return job.error && (part.is_in(job.error->code) || part.is_in(job.error->message));
}

// Data is base64 by convention; other data are searched as they are.
bool has_payload(const Row& row, const Part& part) {
  const std::optional<std::string>& data = row.payload().data;
  if (!data) return false;
  const std::optional<std::string> decoded = base64_decode(*data);
  return part.is_in(decoded ? *decoded : *data);
}

using Accepts = std::function<bool(const Row&)>;

// What jobs and promises have in common. The row is as replies show it.
Accepts common_filter(const FindQuery& query) {
  return [&query, glob = query.id ? std::optional<Glob>(*query.id) : std::nullopt](const Row& row) {
    const Instant created = row.promise_spec->created_at;
    if (created < query.created_since || created > query.created_until) return false;
    if (query.settled_since && (row.settled_at == kUnset || row.settled_at < *query.settled_since)) return false;
    if (query.settled_until && (row.settled_at == kUnset || row.settled_at > *query.settled_until)) return false;
    return row.promise_spec->tags.contains(query.tags) && (!glob || glob->matches(row.id()));
  };
}

void require_range(const char* name, std::size_t given, std::size_t most) {
  if (given < 1 || given > most)
    throw Error(ErrorCode::invalid, std::string(name) + " must be 1.." + std::to_string(most) + ", got " + std::to_string(given));
}

// The place of the last row that the previous page examined.
struct Place {
  Instant created_at = 0;
  std::string id;
};

[[noreturn]] void refuse_cursor(const std::string& cursor) {
  throw Error(ErrorCode::invalid, "cursor must be the cursor of a page of this search, got " + quoted(cursor));
}

// Where a page begins. Of a search with a prefix: in a slice of ids, the one after the id `slice`.
struct Start {
  std::string slice = {};
  std::optional<Place> after = {};

  std::string text(bool in_slices) const {
    const std::string place = after ? std::to_string(after->created_at) + "/" + after->id : std::string();
    return in_slices ? std::to_string(slice.size()) + ":" + slice + place : place;
  }
};

// Reads digits and the sign that ends them.
std::int64_t number_before(char sign, const char*& at, const char* end, const std::string& cursor) {
  std::int64_t number = 0;
  const auto [after, problem] = std::from_chars(at, end, number);
  if (problem != std::errc() || after == end || *after != sign) refuse_cursor(cursor);
  at = after + 1;
  return number;
}

Start start_of_cursor(const std::string& cursor, const std::string& prefix) {
  Start start;
  if (cursor.empty()) return start;
  const char* at = cursor.data();
  const char* const end = at + cursor.size();
  if (!prefix.empty()) {
    const std::int64_t size = number_before(':', at, end, cursor);
    if (size < 0 || size > end - at) refuse_cursor(cursor);
    start.slice.assign(at, static_cast<std::size_t>(size));
    at += size;
    if (!start.slice.empty() && !start.slice.starts_with(prefix)) refuse_cursor(cursor);
    if (at == end) return start;
  }
  const Instant created_at = number_before('/', at, end, cursor);
  start.after = Place{created_at, std::string(at, end)};
  return start;
}

// The beginning that the ids of all matching rows have; none: no id can match. `prefix`: not empty.
std::optional<std::string> common_start(const std::string& prefix, const std::optional<std::string>& pattern) {
  if (!pattern) return prefix;
  const std::size_t star = pattern->find('*');
  const std::string start = pattern->substr(0, star);
  if (start.starts_with(prefix)) return start;
  if (star != std::string::npos && prefix.starts_with(start)) return prefix;
  return std::nullopt;
}

class Search {
 public:
  Search(const FindQuery& query, Instant now, Accepts accepts)
      : query_(query), now_(now), accepts_(std::move(accepts)), start_(start_of_cursor(query.cursor, query.prefix)) {
    require_range("limit", query.limit, kMostFound);
    require_range("scan", query.scan, kMostScanned);
  }

  // The range of a group of rows, from the cursor on.
  RowRange from_here(RowRange range) const {
    if (const auto& from = start_.after)
      range.after = std::min(range.after, IndexPlace{.major = from->created_at, .minor = 0, .id = from->id});
    return range;
  }

  Found in(NewestRows rows) {
    Found found;
    RowRef last;
    for (RowRef row = rows.peek(); row; row = rows.peek()) {
      if (found.rows.size() == query_.limit || found.scanned == query_.scan) {
        found.cursor = cursor_after(*last);
        break;
      }
      rows.pop();
      examine(found, row);
      last = std::move(row);
    }
    return found;
  }

  // Of rows in any order, each once; all of them were read. `most`: how many are examined.
  Found among(std::vector<RowRef> rows, std::size_t most = SIZE_MAX) {
    std::sort(rows.begin(), rows.end(), [](const RowRef& a, const RowRef& b) { return age_of(*b) < age_of(*a); });
    Found found;
    RowRef last;
    for (const RowRef& row : rows) {
      const auto& from = start_.after;
      if (from && age_of(*row) >= std::pair<Instant, const std::string&>(from->created_at, from->id)) continue;
      if (found.rows.size() == query_.limit || found.scanned == most) {
        found.cursor = cursor_after(*last);
        break;
      }
      examine(found, row);
      last = row;
    }
    return found;
  }

  // The rows of the query's prefix alone. `groups`: of indexes by id that hold all matching rows; they are read if they are short.
  Found in_prefix(Storage& storage, const std::vector<RowRange>& groups) {
    const std::optional<std::string> start = common_start(query_.prefix, query_.id);
    if (!start) return {};
    if (query_.id && query_.id->find('*') == std::string::npos) {
      std::vector<RowRef> rows;
      if (RowRef row = storage.load(*start)) rows.push_back(std::move(row));
      return among(std::move(rows));
    }
    if (!groups.empty() && start_.slice.empty()) {
      std::vector<RowRef> rows;
      const bool complete = std::ranges::all_of(groups, [&](const RowRange& group) {
        if (rows.size() == kMostOfPrefix) return false;
        OfPrefix<RowRef> part = rows_of_prefix(storage, group, *start, kMostOfPrefix - rows.size());
        std::move(part.found.begin(), part.found.end(), std::back_inserter(rows));
        return part.complete;
      });
      if (complete) return among(std::move(rows), query_.scan);
    }
    OfPrefix<RowRef> slice = rows_of_prefix(storage, {}, *start, kMostOfPrefix, start_.slice);
    const bool only_slice = slice.complete && start_.slice.empty();
    const std::string last = slice.complete ? std::string() : slice.found.back()->id();
    Found found = among(std::move(slice.found), query_.scan);
    if (!found.cursor && !slice.complete) found.cursor = Start{.slice = last}.text(true);
    if (!only_slice) found.reached_at.reset();  // older rows may be in a slice before
    return found;
  }

 private:
  std::string cursor_after(const Row& row) const {
    return Start{.slice = start_.slice, .after = Place{row.promise_spec->created_at, row.id()}}.text(!query_.prefix.empty());
  }

  void examine(Found& found, const RowRef& row) {
    ++found.scanned;
    found.reached_at = row->promise_spec->created_at;
    RowRef shown = shown_at(row, now_);
    if (accepts_(*shown)) found.rows.push_back(std::move(shown));
  }

  const FindQuery& query_;
  Instant now_;
  Accepts accepts_;
  Start start_;
};

// Reads all rows of a range if there are at most kFew.
std::optional<std::vector<RowRef>> all_of(Storage& storage, RowRange range) {
  range.limit = kFew + 1;
  std::vector<RowRef> rows = storage.rows(range);
  if (rows.size() > kFew) return std::nullopt;
  return rows;
}

// The rows with the id of a pattern without a star, or with its prefix if that is followed by one star alone, if they are few.
std::optional<std::vector<RowRef>> named_rows(Storage& storage, const std::optional<std::string>& pattern) {
  if (!pattern) return std::nullopt;
  const std::size_t star = pattern->find('*');
  const std::string start = pattern->substr(0, star);
  std::vector<RowRef> rows;
  if (star == std::string::npos) {
    if (RowRef row = storage.load(start)) rows.push_back(std::move(row));
    return rows;
  }
  if (start.empty() || star + 1 != pattern->size()) return std::nullopt;
  OfPrefix<RowRef> few = rows_of_prefix(storage, {}, start, kFew);
  if (!few.complete) return std::nullopt;
  return std::move(few.found);
}

// The indexes by id that hold all jobs that are shown in these states; none: there are no such indexes. A job past its deadline or
// good_until is shown as failed or expired before its step has changed the index.
std::vector<RowRange> indexed_by_id(const std::vector<JobState>& states) {
  const std::set<JobState> distinct(states.begin(), states.end());
  std::vector<RowRange> ranges;
  for (const JobState state : distinct) {
    if (!has_state_index(state) || state == JobState::failed || state == JobState::expired) return {};
    ranges.push_back(jobs_in_state(state));
  }
  return ranges;
}

// The number of jobs in a state, in all queues.
std::int64_t count_of(const std::vector<QueueRef>& queues, JobState state) {
  std::int64_t sum = 0;
  for (const QueueRef& queue : queues) sum = saturating_add(sum, queue->counts[static_cast<std::size_t>(state)]);
  return sum;
}

// The jobs in these states, if they are few and an index holds them. A job past its deadline or good_until is shown as failed or
// expired before its step has run; as long as a step is due, the indexes do not say what is shown.
std::optional<std::vector<RowRef>> jobs_in_states(Storage& storage, const FindJobs& query, const std::vector<QueueRef>& queues,
                                                  Instant now) {
  if (query.states.empty() || storage.first_due() <= now) return std::nullopt;
  const std::set<JobState> states(query.states.begin(), query.states.end());
  std::int64_t sum = 0;
  for (const JobState state : states) {
    const std::int64_t count = count_of(queues, state);
    if (count > 0 && state == JobState::completed) return std::nullopt;
    sum = saturating_add(sum, count);
  }
  if (sum > static_cast<std::int64_t>(kFew)) return std::nullopt;
  std::vector<RowRef> rows;
  const auto add = [&rows](std::vector<RowRef> more) { std::move(more.begin(), more.end(), std::back_inserter(rows)); };
  bool held = false;
  for (const JobState state : states) {
    if (count_of(queues, state) == 0) continue;
    if (is_held(state)) {
      held = true;
    } else if (state == JobState::pending) {
      for (const QueueRef& queue : queues) {
        if (queue->counts[static_cast<std::size_t>(state)] == 0) continue;
        std::optional<std::vector<RowRef>> of_queue = all_of(storage, jobs_to_claim(queue->name));
        if (!of_queue) return std::nullopt;
        add(*std::move(of_queue));
      }
    } else {
      std::optional<std::vector<RowRef>> in_state = all_of(storage, jobs_in_state(state));
      if (!in_state) return std::nullopt;
      add(*std::move(in_state));
    }
  }
  if (held) {
    Leases jobs = held_jobs(storage, queues);
    if (!jobs.complete) return std::nullopt;
    add(std::move(jobs.rows));
  }
  return rows;
}

}  // namespace

Found find_jobs(Storage& storage, const FindJobs& query, Instant now) {
  Search search(query, now,
                [&query, common = common_filter(query), error = part(query.error), payload = part(query.payload)](const Row& row) {
                  if (!row.job) return false;
                  const Job& job = *row.job;
                  if (query.queue && *query.queue != job.spec->queue) return false;
                  if (query.type && *query.type != job.spec->type) return false;
                  if (!query.states.empty() && std::ranges::find(query.states, job.state) == query.states.end()) return false;
                  if (!common(row) || (error && !has_error(job, *error))) return false;
                  return !payload || has_payload(row, *payload);
                });
  if (!query.prefix.empty()) return search.in_prefix(storage, indexed_by_id(query.states));
  if (auto named = named_rows(storage, query.id)) return search.among(*std::move(named));
  const std::vector<QueueRef> queues = storage.queues();
  if (auto few = jobs_in_states(storage, query, queues, now)) return search.among(*std::move(few));
  std::vector<RowRange> groups;
  for (const QueueRef& queue : queues) {
    const bool has_jobs = std::ranges::any_of(queue->counts, [](std::int64_t count) { return count != 0; });
    if (query.queue ? *query.queue == queue->name : has_jobs)
      groups.push_back(search.from_here(newest_jobs(queue->name, query.created_since, query.created_until)));
  }
  return search.in(NewestRows(storage, std::move(groups), query.limit));
}

Found find_roots(Storage& storage, const FindPromises& query, Instant now) {
  Search search(query, now, [&query, common = common_filter(query)](const Row& row) {
    if (row.job || !row.promise_spec->root) return false;
    if (!query.states.empty() && std::ranges::find(query.states, row.state) == query.states.end()) return false;
    return common(row);
  });
  if (!query.prefix.empty()) return search.in_prefix(storage, {});
  if (auto named = named_rows(storage, query.id)) return search.among(*std::move(named));
  const RowRange range = search.from_here(newest_roots(query.created_since, query.created_until));
  return search.in(NewestRows(storage, {range}, query.limit));
}

}  // namespace resonate
