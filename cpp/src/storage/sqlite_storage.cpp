#include "storage/sqlite_storage.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "protocol/jobs_json.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"
#include "storage/sqlite_rows.hpp"

namespace resonate {

namespace {

constexpr std::size_t kCachedBytes = std::size_t{64} << 20;

// SQLite takes a negative limit as none.
std::int64_t sql_limit(std::size_t limit) noexcept {
  return limit > static_cast<std::size_t>(INT64_MAX) ? -1 : static_cast<std::int64_t>(limit);
}

// Every storage of the process, for close_sqlite_files_for_fork.
struct Open {
  std::mutex mutex;
  std::vector<SqliteStorage*> storages;
};
Open& open_storages() {
  static Open* const open = new Open;  // never destroyed: a storage may outlive every static object
  return *open;
}

}  // namespace

void close_sqlite_files_for_fork() noexcept {
  Open& open = open_storages();
  std::lock_guard lock(open.mutex);
  // The newest first: what reads beside a writer is gone before it, so that the writer's connection is the last and tidies up.
  for (auto storage = open.storages.rbegin(); storage != open.storages.rend(); ++storage) (*storage)->disconnect();
}

std::unique_ptr<Storage> open_sqlite_storage(const std::string& path, const SqliteOptions& options) {
  return std::make_unique<SqliteStorage>(path, options);
}

SqliteStorage::SqliteStorage(const std::string& path, SqliteOptions options)
    : path_(absolute_path(path)), options_(options), rows_(kCachedBytes) {
  open(SqliteFile::Absent::make);
  Open& all = open_storages();
  std::lock_guard lock(all.mutex);
  all.storages.push_back(this);
}

SqliteStorage::~SqliteStorage() {
  {
    Open& all = open_storages();
    std::lock_guard lock(all.mutex);
    std::erase(all.storages, this);
  }
  if (log_index_) (void)log_index_->look();  // the connection reads it once more
  if (!file_ || seen_now_ == kUnset || options_.read_only) return;
  // The instant is all there is to lose, and whoever closes a store is not kept waiting for it.
  try {
    file_->database().setBusyTimeout(0);
    begin(Access::write);
    if (known_.counters.now < seen_now_) store_instant(seen_now_);
  } catch (const std::exception&) {
  }
  end();
}

void SqliteStorage::open(SqliteFile::Absent absent) {
  file_ = SqliteFile::open(path_, options_, absent);
  log_index_.emplace(sqlite3_db_filename(file_->database().getHandle(), "main"));
  statements_.emplace(file_->database());
}

void SqliteStorage::disconnect() noexcept {
  if (log_index_) (void)log_index_->look();  // the connection reads it once more
  log_index_.reset();
  in_transaction_ = false;
  statements_.reset();
  file_.reset();
  forget();
}

void SqliteStorage::require(Access access) {
  if (access == Access::write && options_.read_only)
    throw Error(ErrorCode::read_only, "store \"" + path_ + "\" was opened read-only: nothing can be changed in it");
  if (file_ && file_->is_outdated()) disconnect();
  if (!file_) open(SqliteFile::Absent::refuse);
  const std::string deed = access == Access::write ? log_index_->look() : log_index_->look_quickly();
  if (deed.empty()) return;
  const std::string index = log_index_->path();
  disconnect();
  throw Error(ErrorCode::storage,
              "store \"" + path_ + "\": the file \"" + index + "\" " + deed +
                  " while the store had it open; nothing was done, and the next call opens the store again. No " +
                  "program but SQLite may touch the files beside a store");
}

void SqliteStorage::begin(Access access) {
  require(access);
  try {
    guarded("begin", [&] {
      use(access == Access::write ? Sql::begin_write : Sql::begin_read).run();
      in_transaction_ = true;
      cleared_ = false;
      look_for_others();
    });
  } catch (...) {
    end();  // after the error was told: it may close the connection that tells it
    throw;
  }
}

// Also what makes a read transaction begin: from here on it sees one state.
void SqliteStorage::look_for_others() {
  Use version = use(Sql::data_version);
  (void)version.step();
  const std::int64_t seen = version.integer_at(0);
  if (seen == known_.data_version) return;
  const Instant before = known_.counters.now;
  forget();
  Use stored = use(Sql::load_counters);
  if (!stored.step()) throw Error(ErrorCode::storage, "store \"" + path_ + "\" is damaged: it has no counters");
  known_.counters = {stored.integer_at(0), stored.integer_at(1), stored.integer_at(2), stored.integer_at(3)};
  known_.messages = stored.integer_at(4);
  known_.data_version = seen;
  if (known_.counters.now < before) seen_now_ = kUnset;  // the clock of the file was set back, and this instant is one of those
}

void SqliteStorage::forget() {
  rows_.clear();
  known_ = {};
}

void SqliteStorage::end() noexcept {
  if (!in_transaction_) return;
  in_transaction_ = false;
  // Of some failures SQLite has undone the transaction itself; then there is nothing left to roll back.
  if (sqlite3_get_autocommit(file_->database().getHandle())) return;
  try {
    use(Sql::rollback).run();
  } catch (const SQLite::Exception&) {
    disconnect();  // what no commit ended is undone with the connection
  }
}

Counters SqliteStorage::counters() {
  Counters counters = known_.counters;
  counters.now = std::max(counters.now, seen_now_);
  return counters;
}

RowRef SqliteStorage::load(std::string_view id) {
  if (RowRef row = rows_.find(id)) return row;
  return guarded("read", [&]() -> RowRef {
    Use row = use(Sql::load_row);
    row.copied(id);
    if (!row.step()) return nullptr;
    RowRef loaded = read_row(row.statement());
    rows_.put(loaded);
    return loaded;
  });
}

std::vector<RowRef> SqliteStorage::load_many(std::span<const std::string_view> ids) {
  std::vector<RowRef> found;
  found.reserve(ids.size());
  for (const std::string_view id : ids) found.push_back(load(id));
  return found;
}

ScheduleRef SqliteStorage::load_schedule(std::string_view id) {
  return guarded("read", [&]() -> ScheduleRef {
    Use schedule = use(Sql::load_schedule);
    schedule.copied(id);
    return schedule.step() ? read_schedule(schedule.statement()) : nullptr;
  });
}

Instant SqliteStorage::first_due() {
  if (!known_.first_due) {
    known_.first_due = guarded("read", [&] {
      Instant first = kNever;
      for (const Sql which : {Sql::first_due_row, Sql::first_due_schedule}) {
        Use least = use(which);
        if (least.step() && !least.is_null_at(0)) first = std::min<Instant>(first, least.integer_at(0));
      }
      return first;
    });
  }
  return *known_.first_due;
}

std::vector<DueEntry> SqliteStorage::due_rows(Instant until, std::size_t limit, const DueEntry* after) {
  std::vector<DueEntry> found;
  Use rows = use(Sql::due_rows);
  rows.integer(until).integer(after ? after->due.at : kAtOnce);
  rows.integer(after ? static_cast<std::int64_t>(after->due.kind) : -1).copied(after ? after->id() : std::string_view());
  rows.integer(sql_limit(limit));
  while (rows.step()) {
    RowRef row = read_row(rows.statement());
    const Due due = row->due;
    found.push_back({due, std::move(row), nullptr});
  }
  return found;
}

std::vector<DueEntry> SqliteStorage::due_schedules(Instant until, std::size_t limit, const DueEntry* after) {
  std::vector<DueEntry> found;
  Use schedules = use(Sql::due_schedules);
  schedules.integer(until);
  // At one instant schedules come after all rows.
  const bool among_rows = after && after->due.kind < DueKind::schedule;
  schedules.integer(after ? after->due.at : kAtOnce).copied(after && !among_rows ? after->id() : std::string_view());
  schedules.integer(sql_limit(limit));
  while (schedules.step()) {
    ScheduleRef schedule = read_schedule(schedules.statement());
    found.push_back({{schedule->due_at(), DueKind::schedule}, nullptr, std::move(schedule)});
  }
  return found;
}

std::vector<DueEntry> SqliteStorage::due(Instant until, std::size_t limit, const DueEntry* after) {
  if (limit == 0 || first_due() > until) return {};
  return guarded("read", [&] {
    std::vector<DueEntry> rows = due_rows(until, limit, after);
    std::vector<DueEntry> schedules = due_schedules(until, limit, after);
    if (schedules.empty()) return rows;
    std::vector<DueEntry> all;
    all.reserve(rows.size() + schedules.size());
    std::merge(std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()),
               std::make_move_iterator(schedules.begin()), std::make_move_iterator(schedules.end()), std::back_inserter(all),
               [](const DueEntry& a, const DueEntry& b) { return a.due < b.due; });
    if (all.size() > limit) all.resize(limit);
    return all;
  });
}

std::vector<RowRef> SqliteStorage::scan(const RowScan& scan) {
  if (scan.limit >= kLongPage) allow_interrupt(Pause::working);
  return guarded("read", [&] {
    std::vector<RowRef> found;
    constexpr Sql kScans[] = {Sql::scan_by_id, Sql::scan_by_branch, Sql::scan_by_pid, Sql::scan_by_job_state};
    Use rows = use(kScans[static_cast<std::size_t>(scan.by)]);
    if (scan.by == RowScan::By::job_state) {
      rows.integer(static_cast<std::int64_t>(scan.state));
    } else if (scan.by != RowScan::By::id) {
      rows.text(scan.key);
    }
    rows.text(scan.after).integer(sql_limit(scan.limit));
    while (rows.step()) found.push_back(read_row(rows.statement()));
    return found;
  });
}

std::vector<ScheduleRef> SqliteStorage::scan_schedules(std::string_view after, std::size_t limit) {
  return guarded("read", [&] {
    std::vector<ScheduleRef> found;
    Use schedules = use(Sql::scan_schedules);
    schedules.copied(after).integer(sql_limit(limit));
    while (schedules.step()) found.push_back(read_schedule(schedules.statement()));
    return found;
  });
}

std::vector<ScheduleRef> SqliteStorage::schedules_set_aside(std::size_t limit) {
  return guarded("read", [&] {
    std::vector<ScheduleRef> found;
    Use schedules = use(Sql::schedules_set_aside);
    schedules.integer(sql_limit(limit));
    while (schedules.step()) found.push_back(read_schedule(schedules.statement()));
    return found;
  });
}

std::vector<EdgeRef> SqliteStorage::edges(EdgeKind kind, std::string_view owner, std::int64_t after_seq, std::size_t limit) {
  return guarded("read", [&] {
    std::vector<EdgeRef> found;
    Use edges = use(Sql::edges);
    edges.integer(static_cast<std::int64_t>(kind)).copied(owner).integer(after_seq).integer(sql_limit(limit));
    while (edges.step()) {
      Shared<Edge> edge(new Edge);
      edge->kind = kind;
      edge->owner = owner;
      edge->seq = edges.integer_at(0);
      edge->other = edges.text_at(1);
      edge->dialect = dialect_of_number(edges.integer_at(2));
      found.push_back(std::move(edge));
    }
    return found;
  });
}

bool SqliteStorage::has_edge(EdgeKind kind, std::string_view owner, std::string_view other) {
  return guarded("read",
                 [&] { return use(Sql::has_edge).integer(static_cast<std::int64_t>(kind)).copied(owner).copied(other).step(); });
}

std::vector<MessageRef> SqliteStorage::messages(std::int64_t after_seq, std::size_t limit) {
  if (limit >= kLongPage) allow_interrupt(Pause::working);
  return guarded("read", [&] {
    std::vector<MessageRef> found;
    Use messages = use(Sql::messages);
    messages.integer(after_seq).integer(sql_limit(limit));
    while (messages.step()) found.push_back(read_message(messages.statement()));
    return found;
  });
}

std::vector<MessageRef> SqliteStorage::messages_to(const AddressPattern& to, std::string_view after_address, std::int64_t after_seq,
                                                   std::size_t limit) {
  return guarded("read", [&] {
    std::vector<MessageRef> found;
    Use messages = use(to.prefix ? Sql::messages_to_prefix : Sql::messages_to);
    if (to.prefix) {
      messages.copied(std::max(std::string_view(to.text), after_address));
      messages.integer(after_address >= to.text ? after_seq : 0);
    } else {
      messages.text(to.text).integer(after_seq);
    }
    messages.integer(sql_limit(limit));
    while (found.size() < limit && messages.step()) {
      MessageRef message = read_message(messages.statement());
      if (!to.matches(message->address)) break;
      found.push_back(std::move(message));
    }
    return found;
  });
}

MessageRef SqliteStorage::oldest_unblock(std::int64_t after_seq) {
  if (known_.oldest_unblock_known && (!known_.oldest_unblock || known_.oldest_unblock->seq > after_seq))
    return known_.oldest_unblock;
  return guarded("read", [&] {
    Use messages = use(Sql::oldest_unblock);
    messages.integer(after_seq);
    MessageRef oldest = messages.step() ? read_message(messages.statement()) : nullptr;
    if (after_seq == 0) {
      known_.oldest_unblock_known = true;
      known_.oldest_unblock = oldest;
    }
    return oldest;
  });
}

std::vector<std::int64_t> SqliteStorage::unblocks_of(std::string_view id) {
  return guarded("read", [&] {
    std::vector<std::int64_t> found;
    Use messages = use(Sql::unblocks_of);
    messages.copied(id);
    while (messages.step()) found.push_back(messages.integer_at(0));
    return found;
  });
}

std::vector<RowRef> SqliteStorage::claimable(std::string_view queue, std::size_t limit, const ClaimKey* after) {
  return guarded("read", [&] {
    std::vector<RowRef> found;
    Use jobs = use(Sql::claimable);
    jobs.copied(queue).integer(after ? after->priority : 0).integer(after ? after->enqueued_at : kAtOnce);
    jobs.copied(after ? std::string_view(after->id) : std::string_view()).integer(sql_limit(limit));
    while (jobs.step()) {
      RowRef row = rows_.find(jobs.text_at(0));
      if (!row) rows_.put(row = read_row(jobs.statement()));
      found.push_back(std::move(row));
    }
    return found;
  });
}

std::vector<RowRef> SqliteStorage::jobs_by_key(Sql which, std::string_view queue, std::string_view key) {
  return guarded("read", [&] {
    std::vector<RowRef> found;
    Use jobs = use(which);
    jobs.copied(key).copied(queue);
    while (jobs.step()) found.push_back(read_row(jobs.statement()));
    return found;
  });
}

std::vector<RowRef> SqliteStorage::unique_jobs(std::string_view queue, std::string_view key) {
  return jobs_by_key(Sql::unique_jobs, queue, key);
}

std::vector<RowRef> SqliteStorage::batch_jobs(std::string_view queue, std::string_view key) {
  return jobs_by_key(Sql::batch_jobs, queue, key);
}

QueueRef SqliteStorage::load_queue(std::string_view name) {
  if (const auto found = known_.queues.find(name); found != known_.queues.end()) return found->second;
  return guarded("read", [&]() -> QueueRef {
    Use queue = use(Sql::load_queue);
    queue.copied(name);
    if (!queue.step()) return nullptr;
    QueueRef loaded = queue_of_json(queue.text_at(0));
    known_.queues[loaded->name] = loaded;
    return loaded;
  });
}

std::vector<QueueRef> SqliteStorage::queues() {
  return guarded("read", [&] {
    std::vector<QueueRef> all;
    Use queues = use(Sql::queues);
    while (queues.step()) all.push_back(queue_of_json(queues.text_at(0)));
    return all;
  });
}

void SqliteStorage::vacuum() {
  require(Access::write);
  guarded("vacuum", [&] {
    file_->database().exec("VACUUM");
    file_->database().exec("PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

std::size_t SqliteStorage::row_count() { return count(Sql::count_rows); }

std::size_t SqliteStorage::message_count() { return static_cast<std::size_t>(known_.messages); }

std::size_t SqliteStorage::count(Sql statement) {
  return guarded("read", [&] {
    Use counted = use(statement);
    (void)counted.step();
    return static_cast<std::size_t>(counted.integer_at(0));
  });
}

}  // namespace resonate
