#include "storage/sqlite_statements.hpp"

#include <algorithm>

#include "codec/strings_json.hpp"
#include "resonate/errors.hpp"
#include "storage/message_columns.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

namespace {

std::string repeated(const std::string& text, std::size_t count, const char* between = ",") {
  std::string all = text;
  for (std::size_t i = 1; i < count; ++i) all.append(between).append(text);
  return all;
}

// A parameter for each column.
std::string values_of(std::span<const SqlColumn> columns) { return "(" + repeated("?", columns.size()) + ")"; }

std::string insert_into(const std::string& table, std::span<const SqlColumn> columns, std::size_t rows = 1) {
  return "INTO " + table + " (" + list_of(columns) + ") VALUES " + repeated(values_of(columns), rows);
}

// OR ROLLBACK: any failure undoes the whole transaction, so SQLite needs no statement journal to undo the statement alone.
std::string insert_rows(std::span<const SqlColumn> columns, std::size_t rows) {
  return "INSERT OR ROLLBACK " + insert_into("resonate_promises", columns, rows);
}

std::string update_by(const std::string& table, std::span<const SqlColumn> columns, const std::string& key) {
  return "UPDATE " + table + " SET (" + list_of(columns) + ") = " + values_of(columns) + " WHERE " + key + " = ?";
}

std::string update_row(std::span<const SqlColumn> columns) { return update_by("resonate_promises", columns, "id"); }

// SQLite searches each of them by the primary key.
std::string delete_edges(std::size_t count) {
  return "DELETE FROM resonate_edges WHERE " + repeated("(kind = ? AND owner = ? AND seq = ?)", count, " OR ");
}

std::string text_of(Sql which) {
  const auto rows = [] { return select_from("resonate_promises", kRowColumns); };
  const auto schedules = [] { return select_from("resonate_schedules", kScheduleColumns); };
  const auto edges = [] { return select_from("resonate_edges", joined(kEdgeColumns, kEdgeKeys)); };
  const auto messages = [] { return select_from("resonate_messages", kMessageColumns); };
  constexpr const char* waiting = "SELECT EXISTS (SELECT 1 FROM resonate_inbox WHERE status IS NULL)";
  switch (which) {
    case Sql::begin_read: return "BEGIN";
    case Sql::begin_write: return "BEGIN IMMEDIATE";
    case Sql::commit: return "COMMIT";
    case Sql::rollback: return "ROLLBACK";
    case Sql::data_version: return "PRAGMA data_version";
    case Sql::load_counters:
      return "SELECT sequence, now, dropped, jobs, messages, (" + std::string(waiting) + ") FROM resonate_counters";
    case Sql::store_counters: return "UPDATE resonate_counters SET sequence = ?, now = ?, dropped = ?, jobs = ?, messages = ?";
    case Sql::load_row: return rows() + "id = ?";
    case Sql::load_rows: return rows() + "id IN (" + repeated("?", kRowsAtOnce) + ")";
    case Sql::insert_row: return insert_rows(kPlainColumns, 1);
    case Sql::insert_rows: return insert_rows(kPlainColumns, kRowsAtOnce);
    case Sql::insert_job_row: return insert_rows(joined(kPlainColumns, kJobColumns), 1);
    case Sql::insert_job_rows: return insert_rows(joined(kPlainColumns, kJobColumns), kRowsAtOnce);
    case Sql::update_row: return update_row(kStateColumns);
    case Sql::update_row_due: return update_row(joined(kStateColumns, kDueColumns, kOpenColumns));
    case Sql::update_row_pid: return update_row(joined(kStateColumns, kHolderColumns));
    case Sql::update_row_due_pid: return update_row(joined(kStateColumns, kHolderColumns, kDueColumns, kOpenColumns));
    case Sql::update_job_row: return update_row(joined(kStateColumns, kHolderColumns, kDueColumns, kOpenColumns, kJobColumns));
    case Sql::update_job_progress: return update_row(joined(kStateColumns, kDueColumns, kJobProgressColumns));
    case Sql::delete_row: return "DELETE FROM resonate_promises WHERE id = ?";
    case Sql::delete_rows: return "DELETE FROM resonate_promises WHERE id IN (" + repeated("?", kRowsAtOnce) + ")";
    case Sql::load_queue: return "SELECT body FROM resonate_queues WHERE name = ?";
    case Sql::queues: return "SELECT body, name FROM resonate_queues ORDER BY name LIMIT ?";
    case Sql::replace_queue: return "INSERT OR REPLACE INTO resonate_queues (name, body) VALUES (?, ?)";
    case Sql::delete_queue: return "DELETE FROM resonate_queues WHERE name = ?";
    case Sql::hours: return "SELECT body FROM resonate_queue_hours WHERE queue = ? AND hour >= ? ORDER BY hour";
    case Sql::replace_hour: return "INSERT OR REPLACE " + insert_into("resonate_queue_hours", kHourColumns);
    case Sql::delete_hours: return "DELETE FROM resonate_queue_hours WHERE queue = ? AND hour < ?";
    case Sql::holders: return select_holders("resonate_promises");
    case Sql::count_rows: return "SELECT count(*) FROM resonate_promises";
    case Sql::first_due_row:
      return "SELECT due_at, due_kind IS NULL, id FROM resonate_promises WHERE due_at IS NOT NULL ORDER BY due_at, due_kind LIMIT "
             "1";
    case Sql::first_due_schedule: return "SELECT min(due_at) FROM resonate_schedules WHERE due_at IS NOT NULL";
    case Sql::load_schedule: return schedules() + "id = ?";
    case Sql::replace_schedule: return "INSERT OR REPLACE " + insert_into("resonate_schedules", kScheduleColumns);
    case Sql::delete_schedule: return "DELETE FROM resonate_schedules WHERE id = ?";
    case Sql::schedules_by_id: return schedules() + "id > ? ORDER BY id LIMIT ?";
    case Sql::schedules_by_due: return schedules() + "due_at <= ? AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?";
    case Sql::schedules_set_aside: return schedules() + "problem IS NOT NULL AND id > ? ORDER BY id LIMIT ?";
    case Sql::edges: return edges() + "kind = ? AND owner = ? AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::edges_cancelled_with: return edges() + "cancelled_with = ? AND owner > ? ORDER BY owner LIMIT ?";
    case Sql::load_edge: return edges() + "kind = ? AND owner = ? AND other = ?";
    case Sql::insert_edge: return "INSERT " + insert_into("resonate_edges", joined(kEdgeColumns, kEdgeKeys));
    case Sql::insert_edges:
      return "INSERT OR ROLLBACK " + insert_into("resonate_edges", joined(kEdgeColumns, kEdgeKeys), kRowsAtOnce);
    case Sql::delete_edge: return delete_edges(1);
    case Sql::delete_edges: return delete_edges(kRowsAtOnce);
    case Sql::messages: return messages() + "seq > ? ORDER BY seq LIMIT ?";
    case Sql::messages_to: return messages() + "address = ? AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::messages_to_prefix: return messages() + "(address, seq) > (?, ?) ORDER BY address, seq LIMIT ?";
    case Sql::unblocks: return messages() + "unblock_of IS NOT NULL AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::unblocks_of: return messages() + "unblock_of = ? AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::insert_message: return "INSERT " + insert_into("resonate_messages", joined(kMessageColumns, kMessageKeys));
    case Sql::delete_message: return "DELETE FROM resonate_messages WHERE seq = ?";
    case Sql::lease_message: return update_by("resonate_messages", kLeaseColumns, "seq");
    case Sql::submission_waits: return waiting;
    case Sql::waiting_submissions:
      return "SELECT number, CASE WHEN length(CAST(request AS BLOB)) <= ? THEN request END, length(CAST(request AS BLOB)) FROM "
             "resonate_inbox WHERE status IS NULL ORDER BY number LIMIT ?";
    case Sql::refused_submissions:
      return "SELECT number, status, coalesce(substr(error, 1, 1000), '') FROM resonate_inbox WHERE status IS NOT NULL ORDER BY "
             "number LIMIT ?";
    case Sql::delete_submission: return "DELETE FROM resonate_inbox WHERE number = ?";
    case Sql::refuse_submission:
      return "UPDATE resonate_inbox SET status = ?1, error = ?2, request = CASE WHEN ?1 = 413 THEN substr(request, 1, 1000) ELSE "
             "request "
             "END WHERE number = ?3";
    case Sql::count: break;
  }
  return "";
}

}  // namespace

namespace {

[[noreturn]] void refuse_column(const SQLite::Column& column, const char* wanted) {
  throw Error(ErrorCode::storage, "a stored row is damaged: " + std::string(column.getName()) + " is not " + wanted);
}

}  // namespace

std::int64_t integer_in(const SQLite::Column& column) {
  if (!column.isInteger()) refuse_column(column, "a number");
  return column.getInt64();
}

std::string_view text_in(const SQLite::Column& column) {
  if (!column.isText()) refuse_column(column, "a text");
  const char* const bytes = column.getText();
  const std::string_view text(bytes, static_cast<std::size_t>(column.getBytes()));
  if (!is_utf8(text)) refuse_column(column, "UTF-8");
  return text;
}

SQLite::Statement& SqliteStatements::operator[](Sql which) {
  std::optional<SQLite::Statement>& slot = prepared_[static_cast<std::size_t>(which)];
  if (!slot) slot.emplace(database_, text_of(which));
  return *slot;
}

SQLite::Statement& SqliteStatements::range(Index index) {
  std::optional<SQLite::Statement>& slot = ranges_[place_of(index)];
  if (!slot) slot.emplace(database_, select_range("resonate_promises", index));
  return *slot;
}

}  // namespace resonate
