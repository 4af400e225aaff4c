#include "storage/sqlite_statements.hpp"

#include <algorithm>

#include "codec/strings_json.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

// Columns in the order in which sqlite_rows.cpp binds and reads them.
#define RESONATE_PROMISE_SPEC_COLUMNS "id, origin, branch, dialect, timeout_at, created_at, param_headers, param_data, tags, ikc"
#define RESONATE_STATE_COLUMNS                                                                                               \
  "state, external, settled_at, value_headers, value_data, iku, callbacks, listeners, task, acquisitions, ttl, expires_at, " \
  "retry_at, resumes, current, execute_seq, execute_waits"
#define RESONATE_PLAIN_COLUMNS RESONATE_PROMISE_SPEC_COLUMNS ", " RESONATE_STATE_COLUMNS ", pid, due_at, due_kind"
#define RESONATE_ROW_COLUMNS RESONATE_PLAIN_COLUMNS ", job"
#define RESONATE_ROWS "SELECT " RESONATE_ROW_COLUMNS " FROM promises WHERE "
#define RESONATE_COURSE_COLUMNS "job, job_state, enqueued_at"
#define RESONATE_JOB_COLUMNS RESONATE_COURSE_COLUMNS ", queue, priority, unique_key, batch_key"
#define RESONATE_SCHEDULE_COLUMNS                                                                                          \
  "id, cron, promise_id, promise_timeout, param_headers, param_data, promise_tags, created_at, next_run_at, last_run_at, " \
  "dialect, job, due_at, problem"
#define RESONATE_MESSAGE_COLUMNS "seq, kind, id, address, version, resume, dialect, attempts, queued_at"
#define RESONATE_SCHEDULES "SELECT " RESONATE_SCHEDULE_COLUMNS " FROM schedules WHERE "
#define RESONATE_MESSAGES "SELECT " RESONATE_MESSAGE_COLUMNS " FROM messages WHERE "

// The columns of promises that hold the keys of an index, the type of a group in that of its text.
struct IndexColumns {
  const char* queue = nullptr;
  const char* text = nullptr;
  const char* major = nullptr;
  const char* minor = nullptr;
};
constexpr std::array<IndexColumns, kIndexes> kIndexColumns = {{
    {},                                                               // id
    {.major = "due_at", .minor = "due_kind"},                         // due
    {.text = "branch"},                                               // branch
    {.text = "pid"},                                                  // holder
    {.queue = "queue", .major = "priority", .minor = "enqueued_at"},  // claim
    {.queue = "queue", .text = "unique_key"},                         // unique_key
    {.queue = "queue", .text = "batch_key"},                          // batch
    {.major = "job_state"},                                           // job_state
}};

// The parameters, as far as the index has them: queue, text, the last major, the place after which the range begins; then an id and
// a limit.
std::string range_of(Index index) {
  const IndexColumns& columns = kIndexColumns[place_of(index)];
  std::string sql = RESONATE_ROWS;
  std::string order;
  std::string place;
  for (const char* column : {columns.queue, columns.text})
    if (column) sql.append(column).append(" = ? AND ");
  if (columns.minor) sql.append(columns.minor).append(" IS NOT NULL AND ");  // without it SQLite does not use the partial index
  if (columns.major) sql.append(columns.major).append(" <= ? AND ");
  for (const char* column : {columns.major, columns.minor}) {
    if (!column) continue;
    order.append(column).append(", ");
    place.append("?, ");
  }
  return sql + "(" + order + "id) > (" + place + "?) ORDER BY " + order + "id LIMIT ?";
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all = text;
  for (std::size_t i = 1; i < count; ++i) all.append(",").append(text);
  return all;
}

// A parameter for each column of a list.
std::string values_of(std::string_view columns) {
  return "(" + repeated("?", 1 + static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ','))) + ")";
}

// OR ROLLBACK: any failure undoes the whole transaction, so SQLite needs no statement journal to undo the statement alone.
std::string insert_rows(std::string_view columns, std::size_t rows) {
  return std::string("INSERT OR ROLLBACK INTO promises (").append(columns) + ") VALUES " + repeated(values_of(columns), rows);
}

std::string update_row(std::string_view columns) {
  return std::string("UPDATE promises SET (").append(columns) + ") = " + values_of(columns) + " WHERE id = ?";
}

std::string text_of(Sql which) {
  switch (which) {
    case Sql::begin_read: return "BEGIN";
    case Sql::begin_write: return "BEGIN IMMEDIATE";
    case Sql::commit: return "COMMIT";
    case Sql::rollback: return "ROLLBACK";
    case Sql::data_version: return "PRAGMA data_version";
    case Sql::load_counters: return "SELECT sequence, now, dropped, jobs, messages FROM counters";
    case Sql::store_counters: return "UPDATE counters SET sequence = ?, now = ?, dropped = ?, jobs = ?, messages = ?";
    case Sql::load_row: return RESONATE_ROWS "id = ?";
    case Sql::load_rows: return RESONATE_ROWS "id IN (" + repeated("?", kRowsAtOnce) + ")";
    case Sql::insert_row: return insert_rows(RESONATE_PLAIN_COLUMNS, 1);
    case Sql::insert_rows: return insert_rows(RESONATE_PLAIN_COLUMNS, kRowsAtOnce);
    case Sql::insert_job_row: return insert_rows(RESONATE_PLAIN_COLUMNS ", " RESONATE_JOB_COLUMNS, 1);
    case Sql::insert_job_rows: return insert_rows(RESONATE_PLAIN_COLUMNS ", " RESONATE_JOB_COLUMNS, kRowsAtOnce);
    case Sql::update_row: return update_row(RESONATE_STATE_COLUMNS);
    case Sql::update_row_due: return update_row(RESONATE_STATE_COLUMNS ", due_at, due_kind");
    case Sql::update_row_pid: return update_row(RESONATE_STATE_COLUMNS ", pid");
    case Sql::update_row_due_pid: return update_row(RESONATE_STATE_COLUMNS ", pid, due_at, due_kind");
    case Sql::update_job_row: return update_row(RESONATE_STATE_COLUMNS ", pid, due_at, due_kind, " RESONATE_JOB_COLUMNS);
    case Sql::update_job_progress: return update_row(RESONATE_STATE_COLUMNS ", due_at, due_kind, " RESONATE_COURSE_COLUMNS);
    case Sql::delete_row: return "DELETE FROM promises WHERE id = ?";
    case Sql::delete_rows: return "DELETE FROM promises WHERE id IN (" + repeated("?", kRowsAtOnce) + ")";
    case Sql::load_queue: return "SELECT body FROM queues WHERE name = ?";
    case Sql::queues: return "SELECT body FROM queues ORDER BY name";
    case Sql::replace_queue: return "INSERT OR REPLACE INTO queues (name, body) VALUES (?, ?)";
    case Sql::delete_queue: return "DELETE FROM queues WHERE name = ?";
    case Sql::count_rows: return "SELECT count(*) FROM promises";
    case Sql::first_due_row: return "SELECT min(due_at) FROM promises WHERE due_at IS NOT NULL";
    case Sql::first_due_schedule: return "SELECT min(due_at) FROM schedules WHERE due_at IS NOT NULL";
    case Sql::load_schedule: return RESONATE_SCHEDULES "id = ?";
    case Sql::replace_schedule:
      return "INSERT OR REPLACE INTO schedules (" RESONATE_SCHEDULE_COLUMNS ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    case Sql::delete_schedule: return "DELETE FROM schedules WHERE id = ?";
    case Sql::schedules_by_id: return RESONATE_SCHEDULES "id > ? ORDER BY id LIMIT ?";
    case Sql::schedules_by_due: return RESONATE_SCHEDULES "due_at <= ? AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?";
    case Sql::schedules_set_aside: return RESONATE_SCHEDULES "problem IS NOT NULL AND id > ? ORDER BY id LIMIT ?";
    case Sql::edges: return "SELECT seq, other, dialect FROM edges WHERE kind = ? AND owner = ? AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::has_edge: return "SELECT 1 FROM edges WHERE kind = ? AND owner = ? AND other = ?";
    case Sql::insert_edge: return "INSERT INTO edges (kind, owner, seq, other, dialect) VALUES (?,?,?,?,?)";
    case Sql::delete_edge: return "DELETE FROM edges WHERE kind = ? AND owner = ? AND seq = ?";
    case Sql::messages: return RESONATE_MESSAGES "seq > ? ORDER BY seq LIMIT ?";
    case Sql::messages_to: return RESONATE_MESSAGES "address = ? AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::messages_to_prefix: return RESONATE_MESSAGES "(address, seq) > (?, ?) ORDER BY address, seq LIMIT ?";
    case Sql::unblocks: return RESONATE_MESSAGES "unblock_of IS NOT NULL AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::unblocks_of: return RESONATE_MESSAGES "unblock_of = ? AND seq > ? ORDER BY seq LIMIT ?";
    case Sql::insert_message: return "INSERT INTO messages (" RESONATE_MESSAGE_COLUMNS ", unblock_of) VALUES (?,?,?,?,?,?,?,?,?,?)";
    case Sql::delete_message: return "DELETE FROM messages WHERE seq = ?";
    case Sql::count: break;
  }
  return "";
}

}  // namespace

std::string_view text_in(const SQLite::Column& column) {
  const char* const bytes = column.getText();
  const std::string_view text(bytes, static_cast<std::size_t>(column.getBytes()));
  if (!is_utf8(text))
    throw Error(ErrorCode::storage, "a stored row is damaged: " + std::string(column.getName()) + " is not UTF-8");
  return text;
}

SQLite::Statement& SqliteStatements::operator[](Sql which) {
  std::optional<SQLite::Statement>& slot = prepared_[static_cast<std::size_t>(which)];
  if (!slot) slot.emplace(database_, text_of(which));
  return *slot;
}

SQLite::Statement& SqliteStatements::range(Index index) {
  std::optional<SQLite::Statement>& slot = ranges_[place_of(index)];
  if (!slot) slot.emplace(database_, range_of(index));
  return *slot;
}

}  // namespace resonate
