#include "storage/sqlite_storage.hpp"

#include <sqlite3.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/jobs_json.hpp"
#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"
#include "storage/message_columns.hpp"
#include "storage/row_columns.hpp"
#include "storage/sqlite_schema.hpp"

namespace resonate {

namespace {

// Returns whether a row, null if it does not exist, may own edges of a kind.
bool may_own(const Row* owner, EdgeKind kind) noexcept {
  if (kind == EdgeKind::keeper) return true;
  if (!owner) return false;
  return kind == EdgeKind::callback ? owner->callbacks > 0 || owner->drained_through() > 0 : owner->listeners > 0;
}

}  // namespace

std::unique_ptr<Storage> open_sqlite_storage(const std::string& path, const SqliteOptions& options) {
  // A store that is open stays so under its name, also if the file gets a second one: that is refused to the next caller.
  const std::string real = real_path(path);
  std::optional<std::string> problem = problem_of_names(real);
  if (!problem) problem = problem_of_names_beside(real);
  if (problem) throw Error(ErrorCode::storage, "store " + resonate::quoted(real) + ": cannot open: " + *problem);
  return std::make_unique<SqliteStorage>(real, options);
}

SqliteStorage::SqliteStorage(const std::string& path, SqliteOptions options) : Storage(real_path(path)), options_(options) {
  open(SqliteFile::Absent::make);
}

SqliteStorage::~SqliteStorage() {
  if (log_index_) (void)log_index_->check();  // closing the connection reads the index, and check() repairs a truncated one
  if (!file_ || known_.unsaved_now == kUnset || options_.read_only) return;
  // Only the instant is unsaved. It is written without waiting for a lock, so that closing a store does not block.
  try {
    file_->database().setBusyTimeout(0);
    begin(Access::write);
    if (const auto instant = known_.unsaved_changes()) write(*instant);
  } catch (const std::exception&) {
  }
  end();
}

void SqliteStorage::open(SqliteFile::Absent absent) {
  file_ = SqliteFile::open(location(), options_, absent);
  log_index_.emplace(sqlite3_db_filename(file_->database().getHandle(), "main"));
  statements_.emplace(file_->database());
}

void SqliteStorage::disconnect() noexcept {
  if (log_index_) (void)log_index_->check();  // closing the connection reads the index, and check() repairs a truncated one
  log_index_.reset();
  in_transaction_ = false;
  statements_.reset();
  file_.reset();
  known_.forget();
}

void SqliteStorage::require(Access access) {
  if (access == Access::write && options_.read_only)
    throw Error(ErrorCode::read_only, "store \"" + location() + "\" was opened read-only and cannot be changed");
  if (file_ && file_->is_outdated()) disconnect();
  if (!file_) open(SqliteFile::Absent::refuse);
  const std::string action = access == Access::write ? log_index_->check() : log_index_->check_quickly();
  if (action.empty()) return;
  const std::string index = log_index_->path();
  disconnect();
  throw Error(ErrorCode::storage,
              "store \"" + location() + "\": the file \"" + index + "\" " + action +
                  " while the store had it open; this call changed nothing, and the next call opens the store again. " +
                  "Only SQLite may change the files beside a store");
}

void SqliteStorage::begin(Access access) {
  require(access);
  try {
    guarded("begin", [&] {
      query(access == Access::write ? Sql::begin_write : Sql::begin_read).run();
      in_transaction_ = true;
      detect_other_commits();
    });
  } catch (...) {
    end();  // after fail(), which needs the connection: end() may close it
    throw;
  }
}

// Detects commits of other connections. Its first read also begins the read transaction, which sees one state from then on.
void SqliteStorage::detect_other_commits() {
  Query version = query(Sql::data_version);
  (void)version.step();
  const std::int64_t seen = version.integer_at(0);
  if (seen == known_.version) return;
  Query stored = query(Sql::load_counters);
  if (!stored.step()) throw Error(ErrorCode::storage, "store \"" + location() + "\" is damaged: it has no counters");
  submission_waits_ = stored.integer_at(5) != 0;
  const Counters counters{stored.integer_at(0), stored.integer_at(1), stored.integer_at(2), stored.integer_at(3)};
  require_usable(counters, stored.integer_at(4));
  known_.renew(seen, counters, stored.integer_at(4));
}

void SqliteStorage::end() noexcept {
  if (!in_transaction_) return;
  in_transaction_ = false;
  // After some failures SQLite has already rolled the transaction back.
  if (sqlite3_get_autocommit(file_->database().getHandle())) return;
  try {
    query(Sql::rollback).run();
  } catch (const SQLite::Exception&) {
    disconnect();  // closing the connection rolls back the transaction
  }
}

void SqliteStorage::load_many(const Lookups& records) {
  load_rows(records.rows);
  for (Lookup<ScheduleRef>& schedule : records.schedules) schedule.found = read_one_schedule(schedule.key);
  for (Lookup<QueueRef>& queue : records.queues) queue.found = find_queue(queue.key);
  load_edges(records);
  for (MessageLookup& message : records.messages) {
    std::vector<MessageRef> next = messages({.after = message.number - 1, .limit = 1});
    if (!next.empty() && next.front()->seq == message.number) message.found = std::move(next.front());
  }
}

// Loads edges. The row of an owner counts its edges, so an owner that is loaded too, and has none, needs no search: in a new graph
// of jobs no owner exists yet.
void SqliteStorage::load_edges(const Lookups& records) {
  std::unordered_map<std::string_view, const Row*> owners;
  if (records.edges.size() > 1)
    for (const Lookup<RowRef>& row : records.rows) owners.emplace(row.key, row.found.get());
  for (EdgeLookup& edge : records.edges) {
    if (const auto owner = owners.find(edge.owner); owner != owners.end() && !may_own(owner->second, edge.kind)) continue;
    edge.found = guarded("read", [&] {
      Query found = query(Sql::load_edge);
      found.integer(static_cast<std::int64_t>(edge.kind)).copied(edge.owner).copied(edge.other);
      return found.step() ? read_edge(found.row()) : EdgeRef();
    });
  }
}

void SqliteStorage::load_rows(std::span<Lookup<RowRef>> rows) {
  if (rows.size() == 1) {
    Lookup<RowRef>& row = rows.front();
    if (!(row.found = known_.rows.find(row.key))) row.found = read_one_row(row.key);
    return;
  }
  std::vector<Lookup<RowRef>*> unknown;
  for (Lookup<RowRef>& row : rows)
    if (!(row.found = known_.rows.find(row.key))) unknown.push_back(&row);
  std::span<Lookup<RowRef>* const> left = unknown;
  for (; left.size() >= kRowsAtOnce; left = left.subspan(kRowsAtOnce))
    guarded("read", [&] {
      const auto part = left.first(kRowsAtOnce);
      Query found = query(Sql::load_rows);
      for (const Lookup<RowRef>* row : part) found.copied(row->key);
      while (found.step()) {
        const RowRef row = read_row(found.row());
        known_.rows.put(row);
        for (Lookup<RowRef>* const named : part)  // an id may be listed twice
          if (named->key == row->id()) named->found = row;
      }
    });
  for (Lookup<RowRef>* const row : left)
    if (!(row->found = known_.rows.find(row->key))) row->found = read_one_row(row->key);
}

RowRef SqliteStorage::read_one_row(std::string_view id) {
  return guarded("read", [&]() -> RowRef {
    Query row = query(Sql::load_row);
    row.copied(id);
    if (!row.step()) return nullptr;
    RowRef loaded = read_row(row.row());
    known_.rows.put(loaded);
    return loaded;
  });
}

ScheduleRef SqliteStorage::read_one_schedule(std::string_view id) {
  return guarded("read", [&]() -> ScheduleRef {
    Query schedule = query(Sql::load_schedule);
    schedule.copied(id);
    return schedule.step() ? read_schedule(schedule.row()) : nullptr;
  });
}

Instant SqliteStorage::first_due() {
  if (submission_waits_) return kAtOnce;
  if (!known_.first_due) {
    known_.first_due = guarded("read", [&] {
      Instant first = kNever;
      for (const Sql which : {Sql::first_due_row, Sql::first_due_schedule}) {
        Query least = query(which);
        if (!least.step() || least.is_null_at(0)) continue;
        if (which == Sql::first_due_row && least.integer_at(1) != 0) refuse_timer_of_no_kind(std::string(least.text_at(2)));
        first = std::min<Instant>(first, least.integer_at(0));
      }
      return first;
    });
  }
  return *known_.first_due;
}

std::vector<RowRef> SqliteStorage::rows(const RowRange& range) {
  if (range.limit >= kLongPage) allow_interrupt(Pause::working);
  return guarded("read", [&] {
    std::vector<RowRef> found;
    RangeCheck check(range);
    Query rows(statements_->range(range.index));
    bind_range(rows, range);
    while (rows.step()) {
      RowRef row;
      // Mostly the process that creates a job also claims it, and takes its steps: those rows are in the cache.
      if (range.index != Index::claim && range.index != Index::due) {
        row = read_row(rows.row());
      } else {
        row = known_.rows.find(rows.text_at(0));
        if (!row) known_.rows.put(row = read_row(rows.row()));
      }
      check.see(*row);
      found.push_back(std::move(row));
    }
    return found;
  });
}

std::vector<ScheduleRef> SqliteStorage::schedules(const ScheduleRange& range) {
  return guarded("read", [&] {
    constexpr std::array kRanges = {Sql::schedules_by_id, Sql::schedules_by_due, Sql::schedules_set_aside};
    std::vector<ScheduleRef> found;
    Query schedules = query(kRanges[static_cast<std::size_t>(range.by)]);
    if (range.by == ScheduleRange::By::due) schedules.integer(range.until).integer(range.after_at);
    schedules.text(range.after).limit(range.limit);
    while (schedules.step()) {
      found.push_back(read_schedule(schedules.row()));
      require_in(range, *found.back());
    }
    return found;
  });
}

std::vector<EdgeRef> SqliteStorage::edges(const EdgeRange& range) {
  if (auto known = known_.callbacks_of(range)) return *std::move(known);
  return guarded("read", [&] {
    std::vector<EdgeRef> found;
    Query edges = query(range.by == EdgeRange::By::owner ? Sql::edges : Sql::edges_cancelled_with);
    bind_edge_range(edges, range);
    while (edges.step()) found.push_back(read_edge(edges.row()));
    return found;
  });
}

std::vector<MessageRef> SqliteStorage::messages(const MessageRange& range) {
  using enum MessageRange::By;
  if (range.limit >= kLongPage) allow_interrupt(Pause::working);
  if (auto known = known_.messages_of(range)) return *std::move(known);
  return guarded("read", [&] {
    constexpr std::array kRanges = {Sql::messages, Sql::messages_to, Sql::messages_to_prefix, Sql::unblocks, Sql::unblocks_of};
    Query messages = query(kRanges[static_cast<std::size_t>(range.by)]);
    bind_message_range(messages, range);
    std::vector<MessageRef> found;
    while (found.size() < range.limit && messages.step()) {
      MessageRef message = read_message(messages.row());
      require_in(range, *message);
      if (range.by == prefix && !message->address.starts_with(range.text)) break;
      found.push_back(std::move(message));
    }
    known_.read(range, found);
    return found;
  });
}

std::vector<Submission> SqliteStorage::submissions(const SubmissionRange& range) {
  const bool waiting = range.state == SubmissionState::waiting;
  if (waiting && !submission_waits_) return {};
  return guarded("read", [&] {
    std::vector<Submission> found;
    Query submissions = query(waiting ? Sql::waiting_submissions : Sql::refused_submissions);
    if (waiting) submissions.limit(range.longest);
    submissions.limit(range.limit);
    for (std::size_t bytes = 0; bytes < range.together && submissions.step(); bytes += found.back().bytes)
      found.push_back(read_submission(submissions.row(), range.state));
    return found;
  });
}

QueueRef SqliteStorage::find_queue(std::string_view name) {
  if (QueueRef known = known_.find_queue(name)) return known;
  return guarded("read", [&]() -> QueueRef {
    Query queue = query(Sql::load_queue);
    queue.copied(name);
    if (!queue.step()) return nullptr;
    QueueRef loaded = queue_of_json(queue.text_at(0));
    require_name(loaded->name, name);
    known_.queues[loaded->name] = loaded;
    return loaded;
  });
}

std::vector<QueueRef> SqliteStorage::queues(std::size_t most) {
  return guarded("read", [&] {
    std::vector<QueueRef> all;
    Query queues = query(Sql::queues);
    queues.limit(most);
    while (queues.step()) {
      all.push_back(queue_of_json(queues.text_at(0)));
      require_name(all.back()->name, queues.text_at(1));
    }
    return all;
  });
}

std::vector<HourRef> SqliteStorage::hours(std::string_view queue, std::int64_t since) {
  return guarded("read", [&] {
    std::vector<HourRef> found;
    Query hours = query(Sql::hours);
    hours.copied(queue).integer(since);
    while (hours.step()) found.push_back(hour_of_json(queue, hours.text_at(0)));
    return found;
  });
}

std::vector<std::string> SqliteStorage::holders(std::string_view after, std::size_t limit) {
  return guarded("read", [&] {
    std::vector<std::string> found;
    Query holders = query(Sql::holders);
    holders.copied(after).limit(limit);
    while (holders.step()) found.push_back(holders.text_at(0));
    return found;
  });
}

void SqliteStorage::vacuum() {
  require(Access::write);
  guarded("vacuum", [&] {
    file_->database().exec("VACUUM");
    file_->database().exec("PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

void SqliteStorage::index_newest() {
  require(Access::write);
  guarded("index", [&] { file_->database().exec(sqlite_newest_indexes()); });
}

void SqliteStorage::catch_up() noexcept {
  if (file_ && !options_.read_only) file_->shorten_log();
}

// A process that waits for the lock of a file looks whether it is free, at most kLongestPause apart.
void SqliteStorage::let_others_write() const noexcept {
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(SqliteFile::kLongestPause) * 1'000'000};
  (void)nanosleep(&time, nullptr);
}

std::size_t SqliteStorage::count(Table table) {
  if (table == Table::messages) return static_cast<std::size_t>(known_.messages);
  return guarded("read", [&] {
    Query counted = query(Sql::count_rows);
    (void)counted.step();
    return static_cast<std::size_t>(counted.integer_at(0));
  });
}

}  // namespace resonate
