// The SQL statements of a store's file. Each is prepared at its first use and kept.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <SQLiteCpp/SQLiteCpp.h>

#include "resonate/index_keys.hpp"
#include "resonate/instant.hpp"

namespace resonate {

// The number of rows that a statement with a plural name takes at once, so that fewer statements are started.
inline constexpr std::size_t kRowsAtOnce = 16;

enum class Sql : std::uint8_t {
  begin_read,
  begin_write,
  commit,
  rollback,
  data_version,
  load_counters,
  store_counters,
  load_row,
  load_rows,
  insert_row,
  insert_rows,
  insert_job_row,
  insert_job_rows,
  update_row,  // for rows whose timers and holder are unchanged
  update_row_due,
  update_row_pid,
  update_row_due_pid,
  update_job_row,       // writes everything except the promise spec
  update_job_progress,  // as update_job_row, without the columns that never change for a job
  delete_row,
  delete_rows,
  load_queue,
  queues,
  replace_queue,
  delete_queue,
  hours,
  replace_hour,
  delete_hours,
  holders,
  count_rows,
  first_due_row,
  first_due_schedule,
  load_schedule,
  replace_schedule,
  delete_schedule,
  schedules_by_id,
  schedules_by_due,
  schedules_set_aside,
  edges,
  edges_cancelled_with,
  load_edge,
  insert_edge,
  insert_edges,
  delete_edge,
  delete_edges,
  messages,
  messages_to,
  messages_to_prefix,  // addresses from the prefix on: the reader stops at the first address without the prefix
  unblocks,
  unblocks_of,
  insert_message,
  delete_message,
  lease_message,
  submission_waits,
  waiting_submissions,
  refused_submissions,
  delete_submission,
  refuse_submission,
  count  // of Sql
};

class SqliteStatements {
 public:
  explicit SqliteStatements(SQLite::Database& database) : database_(database) {}
  SQLite::Statement& operator[](Sql which);
  // The rows of a range of the index.
  SQLite::Statement& range(Index index);

 private:
  SQLite::Database& database_;
  std::array<std::optional<SQLite::Statement>, static_cast<std::size_t>(Sql::count)> prepared_;
  std::array<std::optional<SQLite::Statement>, kIndexes> ranges_;
};

// The text in a column of the present row. Throws Error (storage) if it is no text, or not UTF-8: the file is damaged.
std::string_view text_in(const SQLite::Column& column);
// The number in a column. Throws Error (storage) if it is none. SQLite would read anything else as 0 or as what it begins with.
std::int64_t integer_in(const SQLite::Column& column);

// The present row of a statement, for the readers of row_columns.hpp.
class SqliteRow {
 public:
  explicit SqliteRow(SQLite::Statement& statement) noexcept : statement_(&statement) {}
  bool is_null(int column) const { return statement_->getColumn(column).isNull(); }
  std::int64_t integer(int column) const { return integer_in(statement_->getColumn(column)); }
  std::string_view text(int column) const { return text_in(statement_->getColumn(column)); }
  // Also a text that is not UTF-8.
  std::string bytes(int column) const { return statement_->getColumn(column).getString(); }

 private:
  SQLite::Statement* statement_;
};

// One use of a statement: binds its parameters in order, and resets it at the end. It does not copy texts (except copied()), so
// they must outlive it.
class Query {
 public:
  explicit Query(SQLite::Statement& statement) noexcept : statement_(statement) {}
  ~Query() { statement_.tryReset(); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& integer(std::int64_t number) {
    statement_.bind(++at_, number);
    return *this;
  }
  // Binds NULL if `at` is kUnset.
  Query& instant(Instant at) { return at == kUnset ? null() : integer(at); }
  Query& text(const std::string& text) {
    statement_.bindNoCopy(++at_, text);
    return *this;
  }
  Query& text_or_null(const std::string* given) { return given ? text(*given) : null(); }
  Query& copied(const std::string& text) {
    statement_.bind(++at_, text);
    return *this;
  }
  Query& copied(std::string_view text) { return copied(std::string(text)); }
  Query& limit(std::size_t most) {  // SQLite takes a negative one as none
    return integer(most > static_cast<std::size_t>(INT64_MAX) ? -1 : static_cast<std::int64_t>(most));
  }
  Query& null() {
    statement_.bind(++at_);
    return *this;
  }

  bool step() { return statement_.executeStep(); }
  void run() { (void)statement_.exec(); }
  // Runs the statement and returns the number of changed rows.
  int run_counted() { return statement_.exec(); }

  // The row that step() reached.
  SqliteRow row() noexcept { return SqliteRow(statement_); }
  std::int64_t integer_at(int column) { return row().integer(column); }
  bool is_null_at(int column) { return row().is_null(column); }
  std::string text_at(int column) { return std::string(row().text(column)); }

 private:
  SQLite::Statement& statement_;
  int at_ = 0;
};

}  // namespace resonate
