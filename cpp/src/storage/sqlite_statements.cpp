#include "storage/sqlite_statements.hpp"

#include "codec/strings_json.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

// Columns in the order in which sqlite_rows.cpp binds and reads them.
#define RESONATE_BIRTH_COLUMNS "id, origin, branch, dialect, timeout_at, created_at, param_headers, param_data, tags, ikc"
#define RESONATE_STATE_COLUMNS                                                                                               \
  "state, external, settled_at, value_headers, value_data, iku, callbacks, listeners, task, acquisitions, ttl, expires_at, " \
  "retry_at, resumes, current, execute_seq, execute_waits"
#define RESONATE_PLAIN_COLUMNS RESONATE_BIRTH_COLUMNS ", " RESONATE_STATE_COLUMNS ", pid, due_at, due_kind"
#define RESONATE_ROW_COLUMNS RESONATE_PLAIN_COLUMNS ", job"
#define RESONATE_ROWS "SELECT " RESONATE_ROW_COLUMNS " FROM promises WHERE "
#define RESONATE_SET_STATE                                                                                         \
  "UPDATE promises SET state = ?, external = ?, settled_at = ?, value_headers = ?, value_data = ?, iku = ?, "      \
  "callbacks = ?, listeners = ?, task = ?, acquisitions = ?, ttl = ?, expires_at = ?, retry_at = ?, resumes = ?, " \
  "current = ?, execute_seq = ?, execute_waits = ?"
#define RESONATE_PLAIN_VALUES "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define RESONATE_JOB_VALUES "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
// OR ROLLBACK: any failure undoes the whole transaction, so SQLite needs no statement journal to undo the statement alone.
#define RESONATE_INSERT_ROW "INSERT OR ROLLBACK INTO promises (" RESONATE_PLAIN_COLUMNS ") VALUES "
#define RESONATE_INSERT_JOB_ROW                             \
  "INSERT OR ROLLBACK INTO promises (" RESONATE_ROW_COLUMNS \
  ", job_state, enqueued_at, queue, priority, unique_key, batch_key) VALUES "
#define RESONATE_FOUR(value) value "," value "," value "," value
#define RESONATE_MANY(value) RESONATE_FOUR(RESONATE_FOUR(value))  // kRowsAtOnce
#define RESONATE_SCHEDULE_COLUMNS                                                                                          \
  "id, cron, promise_id, promise_timeout, param_headers, param_data, promise_tags, created_at, next_run_at, last_run_at, " \
  "dialect, job, due_at, problem"
#define RESONATE_MESSAGE_COLUMNS "seq, kind, id, address, version, resume, dialect, attempts, queued_at"
#define RESONATE_SCHEDULES "SELECT " RESONATE_SCHEDULE_COLUMNS " FROM schedules WHERE "
#define RESONATE_MESSAGES "SELECT " RESONATE_MESSAGE_COLUMNS " FROM messages WHERE "

constexpr const char* text_of(Sql which) noexcept {
  switch (which) {
    case Sql::begin_read: return "BEGIN";
    case Sql::begin_write: return "BEGIN IMMEDIATE";
    case Sql::commit: return "COMMIT";
    case Sql::rollback: return "ROLLBACK";
    case Sql::data_version: return "PRAGMA data_version";
    case Sql::load_counters: return "SELECT sequence, now, dropped, jobs, messages FROM counters";
    case Sql::store_counters: return "UPDATE counters SET sequence = ?, now = ?, dropped = ?, jobs = ?, messages = ?";
    case Sql::load_row: return RESONATE_ROWS "id = ?";
    case Sql::load_rows: return RESONATE_ROWS "id IN (" RESONATE_MANY("?") ")";
    case Sql::insert_row: return RESONATE_INSERT_ROW RESONATE_PLAIN_VALUES;
    case Sql::insert_rows: return RESONATE_INSERT_ROW RESONATE_MANY(RESONATE_PLAIN_VALUES);
    case Sql::insert_job_row: return RESONATE_INSERT_JOB_ROW RESONATE_JOB_VALUES;
    case Sql::insert_job_rows: return RESONATE_INSERT_JOB_ROW RESONATE_MANY(RESONATE_JOB_VALUES);
    case Sql::update_row: return RESONATE_SET_STATE " WHERE id = ?";
    case Sql::update_row_due: return RESONATE_SET_STATE ", due_at = ?, due_kind = ? WHERE id = ?";
    case Sql::update_row_pid: return RESONATE_SET_STATE ", pid = ? WHERE id = ?";
    case Sql::update_row_due_pid: return RESONATE_SET_STATE ", pid = ?, due_at = ?, due_kind = ? WHERE id = ?";
    case Sql::update_job_row:
      return RESONATE_SET_STATE
          ", pid = ?, due_at = ?, due_kind = ?, job = ?, job_state = ?, enqueued_at = ?, queue = ?, priority = ?, unique_key = ?, "
          "batch_key = ? WHERE id = ?";
    case Sql::update_job_course:
      return RESONATE_SET_STATE ", due_at = ?, due_kind = ?, job = ?, job_state = ?, enqueued_at = ? WHERE id = ?";
    case Sql::delete_row: return "DELETE FROM promises WHERE id = ?";
    case Sql::delete_rows: return "DELETE FROM promises WHERE id IN (" RESONATE_MANY("?") ")";
    case Sql::rows_by_id: return RESONATE_ROWS "id > ?1 ORDER BY id LIMIT ?2";
    case Sql::rows_by_due:
      return RESONATE_ROWS "due_at <= ?1 AND (due_at, due_kind, id) > (?2, ?3, ?4) ORDER BY due_at, due_kind, id LIMIT ?5";
    case Sql::rows_by_branch: return RESONATE_ROWS "branch = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    case Sql::rows_by_holder: return RESONATE_ROWS "pid = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    case Sql::rows_by_claim:
      return RESONATE_ROWS
          "queue = ?1 AND enqueued_at IS NOT NULL AND (priority, enqueued_at, id) > (?2, ?3, ?4) "
          "ORDER BY priority, enqueued_at, id LIMIT ?5";
    case Sql::rows_by_unique_key: return RESONATE_ROWS "queue = ?1 AND unique_key = ?2 AND id > ?3 ORDER BY id LIMIT ?4";
    case Sql::rows_by_batch: return RESONATE_ROWS "queue = ?1 AND batch_key = ?2 AND id > ?3 ORDER BY id LIMIT ?4";
    case Sql::rows_by_job_state:
      return RESONATE_ROWS "job_state <= ?1 AND (job_state, id) > (?2, ?3) ORDER BY job_state, id LIMIT ?4";
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

}  // namespace resonate
