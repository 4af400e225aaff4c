// Searches for people: the newest jobs and roots that a query accepts, in slices.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <set>
#include <system_error>

#include "codec/base64.hpp"
#include "machine/glob.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"
#include "newest_rows.hpp"
#include "resonate/errors.hpp"
#include "resonate/views.hpp"
#include "views_held.hpp"

namespace resonate {

namespace {

constexpr std::size_t kMostFound = 1000;
constexpr std::size_t kMostScanned = 100'000;
// If at most so many rows can match, they are read by the index that holds them, and sorted.
constexpr std::size_t kFew = 5000;

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A text to look for in others; ASCII letters of both cases are equal.
class Part {
 public:
  explicit Part(std::string_view text) : text_(text) { std::transform(text.begin(), text.end(), text_.begin(), lower); }
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
  std::string text() const { return std::to_string(created_at) + "/" + id; }
};

std::optional<Place> place_of_cursor(const std::string& cursor) {
  if (cursor.empty()) return std::nullopt;
  Place place;
  const char* const end = cursor.data() + cursor.size();
  const auto [at, problem] = std::from_chars(cursor.data(), end, place.created_at);
  if (problem != std::errc() || at == end || *at != '/')
    throw Error(ErrorCode::invalid, "cursor must be the cursor of a page of this search, got " + quoted(cursor));
  place.id.assign(at + 1, end);
  return place;
}

class Search {
 public:
  Search(const FindQuery& query, Instant now, Accepts accepts)
      : query_(query), now_(now), accepts_(std::move(accepts)), after_(place_of_cursor(query.cursor)) {
    require_range("limit", query.limit, kMostFound);
    require_range("scan", query.scan, kMostScanned);
  }

  // The range of a group of rows, from the cursor on.
  RowRange from_here(RowRange range) const {
    if (after_) range.after = std::min(range.after, IndexPlace{.major = after_->created_at, .minor = 0, .id = after_->id});
    return range;
  }

  Found in(NewestRows rows) {
    Found found;
    RowRef last;
    for (RowRef row = rows.peek(); row; row = rows.peek()) {
      if (found.rows.size() == query_.limit || found.scanned == query_.scan) {
        found.cursor = place_of(*last).text();
        break;
      }
      rows.pop();
      examine(found, row);
      last = std::move(row);
    }
    return found;
  }

  // Of rows in any order, each once; all of them were read.
  Found among(std::vector<RowRef> rows) {
    const std::size_t read = rows.size();
    std::sort(rows.begin(), rows.end(), [](const RowRef& a, const RowRef& b) { return age_of(*b) < age_of(*a); });
    Found found;
    RowRef last;
    for (const RowRef& row : rows) {
      if (after_ && age_of(*row) >= std::pair<Instant, const std::string&>(after_->created_at, after_->id)) continue;
      if (found.rows.size() == query_.limit) {
        found.cursor = place_of(*last).text();
        break;
      }
      examine(found, row);
      last = row;
    }
    found.scanned = read;
    return found;
  }

 private:
  static Place place_of(const Row& row) { return {row.promise_spec->created_at, row.id()}; }

  void examine(Found& found, const RowRef& row) {
    ++found.scanned;
    found.reached_at = row->promise_spec->created_at;
    RowRef shown = shown_at(row, now_);
    if (accepts_(*shown)) found.rows.push_back(std::move(shown));
  }

  const FindQuery& query_;
  Instant now_;
  Accepts accepts_;
  std::optional<Place> after_;
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
  if (RowRef row = storage.load(start)) rows.push_back(std::move(row));
  if (star == std::string::npos) return rows;
  if (start.empty() || star + 1 != pattern->size()) return std::nullopt;
  for (RowRange range{.after = {.id = start}, .limit = kLongPage};;) {
    const std::vector<RowRef> page = storage.rows(range);
    for (const RowRef& row : page) {
      if (!row->id().starts_with(start)) return rows;
      rows.push_back(row);
    }
    if (page.size() < range.limit) return rows;
    if (rows.size() > kFew) return std::nullopt;
    range.after.id = page.back()->id();
  }
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
  if (auto named = named_rows(storage, query.id)) return search.among(*std::move(named));
  const RowRange range = search.from_here(newest_roots(query.created_since, query.created_until));
  return search.in(NewestRows(storage, {range}, query.limit));
}

}  // namespace resonate
