// SqliteStorage: the tables of sqlite_schema.cpp, read and written by the statements of sqlite_statements.cpp.
//
// Rows and the few values that every transaction needs are cached until `PRAGMA data_version` shows that another connection has
// committed; then everything is read again.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "resonate/sqlite.hpp"
#include "storage/known_state.hpp"
#include "storage/log_index.hpp"
#include "storage/open_connections.hpp"
#include "storage/sqlite_file.hpp"
#include "storage/sqlite_statements.hpp"

namespace resonate {

class SqliteStorage final : public Storage, private OpenConnection {
 public:
  SqliteStorage(const std::string& path, SqliteOptions options);
  ~SqliteStorage() override;

  void begin(Access access) override;
  void end() noexcept override;

  Counters counters() override { return known_.present(); }
  void load_many(const Lookups& records) override;
  Instant first_due() override;
  std::vector<RowRef> rows(const RowRange& range) override;
  std::vector<ScheduleRef> schedules(const ScheduleRange& range) override;
  std::vector<QueueRef> queues(std::size_t most = SIZE_MAX) override;
  std::vector<HourRef> hours(std::string_view queue, std::int64_t since) override;
  std::vector<std::string> holders(std::string_view after, std::size_t limit) override;
  std::vector<EdgeRef> edges(const EdgeRange& range) override;
  std::vector<MessageRef> messages(const MessageRange& range) override;
  std::vector<Submission> submissions(const SubmissionRange& range) override;
  void write(const Changes& changes) override;
  void vacuum() override;
  void index_newest() override;
  void catch_up() noexcept override;
  void let_others_write() const noexcept override;
  std::size_t count(Table table) override;
  bool changed_elsewhere() override { return std::exchange(known_.changed_elsewhere, false); }
  std::unique_ptr<Storage> snapshot(std::unique_ptr<Storage> used) override;

 private:
  void disconnect() noexcept override;
  template <class Body>
  auto guarded(const char* action, Body body);
  void open(SqliteFile::Absent absent);
  void require(Access access);  // opens a connection with this access if there is none
  void detect_other_commits();
  void clear();
  void write_rows(const std::vector<RowChange>& changes);
  void update_row(const Row& before, const Row& after);
  template <class Pointer, class Bind>
  void write_each(const std::vector<Pointer>& records, Sql one, Sql many, Bind bind);
  void end_submissions(const std::vector<Submission>& ended);
  void write_all(const Changes& changes);
  void commit(const Changes& changes);
  Query query(Sql which) { return Query((*statements_)[which]); }
  void load_rows(std::span<Lookup<RowRef>> rows);
  void load_edges(const Lookups& records);
  RowRef read_one_row(std::string_view id);
  ScheduleRef read_one_schedule(std::string_view id);
  QueueRef find_queue(std::string_view name);

  SqliteOptions options_;
  std::unique_ptr<SqliteFile> file_;
  std::optional<LogIndex> log_index_;
  std::optional<SqliteStatements> statements_;
  KnownState known_;
  bool submission_waits_ = false;  // as of the last commit that was seen
  bool in_transaction_ = false;
};

// Runs body and translates SQLite's errors into core errors.
template <class Body>
auto SqliteStorage::guarded(const char* action, Body body) {
  try {
    return body();
  } catch (const SQLite::Exception& error) {
    file_->fail(action, error);
  }
}

}  // namespace resonate
