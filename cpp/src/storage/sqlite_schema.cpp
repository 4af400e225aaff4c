#include "storage/sqlite_schema.hpp"

#include <algorithm>
#include <array>

namespace resonate {

namespace {

// Instants and durations are in ms. An unset value is NULL. Ids compare bytewise (BINARY), the order of the protocol.
//
// promises: one row per promise, including its task. It is a rowid table: rows can be large, and a separate index of ids stays
// small.
//   dialect    the date of the protocol version as a number, 20260401
//   state      0 pending, 1 resolved, 2 rejected, 3 rejected_canceled, 4 rejected_timedout
//   task       0 none, 1 pending, 2 acquired, 3 suspended, 4 halted, 5 fulfilled
//   tags, param_headers, value_headers  JSON objects of strings; resumes  a JSON array of ids
//   due_at, due_kind  the earliest timer: 0 drain, 1 timeout, 2 lease, 3 dispatch, 4 retention; all share one ordered index
// edges: kind 0 listener (other is an address), 1 callback (other is the awaiter's id).
// messages: kind 0 execute, 1 unblock. counters: one row.
constexpr const char* kFirst = R"sql(
CREATE TABLE promises (
  id TEXT NOT NULL,
  origin TEXT,
  branch TEXT,
  dialect INTEGER NOT NULL,
  timeout_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  param_headers TEXT,
  param_data TEXT,
  tags TEXT,
  ikc TEXT,
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
  external INTEGER NOT NULL CHECK (external IN (0, 1)),
  settled_at INTEGER,
  value_headers TEXT,
  value_data TEXT,
  iku TEXT,
  callbacks INTEGER NOT NULL CHECK (callbacks >= 0),
  listeners INTEGER NOT NULL CHECK (listeners >= 0),
  task INTEGER NOT NULL CHECK (task BETWEEN 0 AND 5),
  acquisitions INTEGER NOT NULL,
  ttl INTEGER NOT NULL,
  expires_at INTEGER,
  retry_at INTEGER,
  resumes TEXT,
  current TEXT,
  execute_seq INTEGER NOT NULL,
  pid TEXT,
  due_at INTEGER,
  due_kind INTEGER
) STRICT;
CREATE UNIQUE INDEX promises_by_id ON promises (id);
CREATE INDEX promises_by_due ON promises (due_at, due_kind, id) WHERE due_at IS NOT NULL;
CREATE INDEX promises_by_branch ON promises (branch, id) WHERE branch IS NOT NULL;
CREATE INDEX promises_by_pid ON promises (pid, id) WHERE pid IS NOT NULL;

CREATE TABLE schedules (
  id TEXT NOT NULL PRIMARY KEY,
  cron TEXT NOT NULL,
  promise_id TEXT NOT NULL,
  promise_timeout INTEGER NOT NULL,
  param_headers TEXT,
  param_data TEXT,
  promise_tags TEXT,
  created_at INTEGER NOT NULL,
  next_run_at INTEGER,
  last_run_at INTEGER,
  dialect INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX schedules_by_next_run ON schedules (next_run_at, id) WHERE next_run_at IS NOT NULL;

CREATE TABLE edges (
  kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
  owner TEXT NOT NULL,
  seq INTEGER NOT NULL,
  other TEXT NOT NULL,
  dialect INTEGER NOT NULL,
  PRIMARY KEY (kind, owner, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX edges_by_pair ON edges (kind, owner, other);

CREATE TABLE messages (
  seq INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
  id TEXT NOT NULL,
  address TEXT NOT NULL,
  version INTEGER NOT NULL,
  resume INTEGER NOT NULL CHECK (resume IN (0, 1)),
  dialect INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  queued_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_unblock ON messages (seq) WHERE kind = 1;

CREATE TABLE counters (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  sequence INTEGER NOT NULL,
  now INTEGER NOT NULL,
  dropped INTEGER NOT NULL
) STRICT;
INSERT INTO counters VALUES (1, 0, 0, 0);
)sql";

// Jobs. A row with a job has all of these columns except unique_key:
//   queue, priority, enqueued_at  the order of claims; enqueued_at is 0 unless the job can be claimed
//   job_state  0 scheduled, 1 pending, 2 claimed, 3 running, 4 retry, 5 archived, 6 completed, 7 failed, 8 cancelled, 9 expired
//   unique_key  NULL once the job has finished
//   job  the whole job as a JSON object, as in a snapshot, with its holder; the column pid is NULL
// queues: body is the queue as a JSON object, as in a snapshot.
constexpr const char* kJobs = R"sql(
ALTER TABLE promises ADD COLUMN queue TEXT;
ALTER TABLE promises ADD COLUMN job_state INTEGER CHECK (job_state BETWEEN 0 AND 9);
ALTER TABLE promises ADD COLUMN priority INTEGER;
ALTER TABLE promises ADD COLUMN enqueued_at INTEGER;
ALTER TABLE promises ADD COLUMN unique_key TEXT;
ALTER TABLE promises ADD COLUMN job TEXT;
ALTER TABLE counters ADD COLUMN jobs INTEGER NOT NULL DEFAULT 0;
CREATE INDEX promises_by_claim ON promises (queue, priority, enqueued_at, id) WHERE job_state = 1;
CREATE INDEX promises_by_job_state ON promises (job_state, id) WHERE job_state IN (0, 4, 5, 7, 8, 9);
CREATE INDEX promises_by_unique_key ON promises (unique_key, queue, id) WHERE unique_key IS NOT NULL;
CREATE INDEX messages_unblock_by_id ON messages (id, seq) WHERE kind = 1;

CREATE TABLE queues (
  name TEXT NOT NULL PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
)sql";

// Groups of jobs, and schedules that create jobs.
//   batch_key  the group's key in Index::batch, else NULL
//   job (of schedules)  the order for each occurrence as a JSON object, as in a request
// promises_by_job_state has the same content as before. Its new condition costs nothing at a write; for a list of numbers SQLite
// would build a temporary table at each write.
constexpr const char* kGroups = R"sql(
ALTER TABLE promises ADD COLUMN batch_key TEXT;
CREATE INDEX promises_by_batch ON promises (batch_key, queue, id) WHERE batch_key IS NOT NULL;
ALTER TABLE schedules ADD COLUMN job TEXT;
DROP INDEX promises_by_job_state;
CREATE INDEX promises_by_job_state ON promises (job_state, id) WHERE job_state NOT BETWEEN 1 AND 3 AND job_state <> 6;
)sql";

// Faster reads of a long outbox, and schedules that cannot be fired.
//   execute_waits  1: the execute of the task's last dispatch is in the outbox, and no timer dispatches the task. Tasks of older
//     files still have their timers, which fire once more.
//   messages (of counters)  the number of messages
//   problem (of schedules)  why it cannot be fired; NULL: it can
//   due_at (of schedules)  next_run_at, or the instant at which a schedule that is set aside is examined again
constexpr const char* kFourth = R"sql(
ALTER TABLE promises ADD COLUMN execute_waits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
UPDATE counters SET messages = (SELECT count(*) FROM messages);
CREATE INDEX messages_by_address ON messages (address, seq);
ALTER TABLE schedules ADD COLUMN due_at INTEGER;
ALTER TABLE schedules ADD COLUMN problem TEXT;
UPDATE schedules SET due_at = next_run_at;
DROP INDEX schedules_by_next_run;
CREATE INDEX schedules_by_due ON schedules (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_set_aside ON schedules (id) WHERE problem IS NOT NULL;
)sql";

// Columns that are index keys: NULL if the index does not contain the row, which index_key() alone decides.
//   enqueued_at  set while the job can be claimed
//   job_state  set in the states for which has_state_index() is true
//   unblock_of (of messages)  the settled promise that the unblock reports
constexpr const char* kKeys = R"sql(
DROP INDEX promises_by_claim;
DROP INDEX promises_by_job_state;
UPDATE promises SET enqueued_at = NULL WHERE job_state <> 1;
UPDATE promises SET job_state = NULL WHERE job_state BETWEEN 1 AND 3 OR job_state = 6;
CREATE INDEX promises_by_claim ON promises (queue, priority, enqueued_at, id) WHERE enqueued_at IS NOT NULL;
CREATE INDEX promises_by_job_state ON promises (job_state, id) WHERE job_state IS NOT NULL;
DROP INDEX messages_unblock;
DROP INDEX messages_unblock_by_id;
ALTER TABLE messages ADD COLUMN unblock_of TEXT;
UPDATE messages SET unblock_of = id WHERE kind = 1;
CREATE INDEX messages_unblock ON messages (seq) WHERE unblock_of IS NOT NULL;
CREATE INDEX messages_unblock_by_id ON messages (unblock_of, seq) WHERE unblock_of IS NOT NULL;
)sql";

// Names of our own, so that a store can be in the file of an application, beside the application's tables. Indexes keep their
// names: SQLite cannot rename them. inbox: requests that programs submit in transactions of their own (decision 19). Numbers rise
// in the order of insertion.
//   status  the status of a request that was refused when it ran; NULL: it has not run
// holder, leased_until (of messages)  the process that delivers it, until when; NULL and 0: none
// store_version: one row. PRAGMA user_version belongs to the application.
constexpr const char* kOwnNames = R"sql(
ALTER TABLE promises RENAME TO resonate_promises;
ALTER TABLE schedules RENAME TO resonate_schedules;
ALTER TABLE edges RENAME TO resonate_edges;
ALTER TABLE messages RENAME TO resonate_messages;
ALTER TABLE queues RENAME TO resonate_queues;
ALTER TABLE counters RENAME TO resonate_counters;
ALTER TABLE resonate_messages ADD COLUMN holder TEXT;
ALTER TABLE resonate_messages ADD COLUMN leased_until INTEGER NOT NULL DEFAULT 0;
CREATE TABLE resonate_inbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  request TEXT NOT NULL,
  submitted_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  status INTEGER,
  error TEXT
) STRICT;
CREATE INDEX resonate_inbox_waiting ON resonate_inbox (number) WHERE status IS NULL;
CREATE INDEX resonate_inbox_refused ON resonate_inbox (number) WHERE status IS NOT NULL;
CREATE TABLE resonate_store_version (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  version INTEGER NOT NULL
) STRICT;
INSERT INTO resonate_store_version VALUES (1, 0);
)sql";

// Jobs that are cancelled with their awaiters (decision 28).
//   cancels_jobs  1: the promise was cancelled while it awaited jobs, and not all of them have been handled
//   cancelled_with (of edges)  of a callback of such a job, the awaiter; else NULL. Jobs of older files are not cancelled.
constexpr const char* kCancellation = R"sql(
ALTER TABLE resonate_promises ADD COLUMN cancels_jobs INTEGER NOT NULL DEFAULT 0;
ALTER TABLE resonate_edges ADD COLUMN cancelled_with TEXT;
CREATE INDEX resonate_edges_by_canceller ON resonate_edges (cancelled_with, owner) WHERE cancelled_with IS NOT NULL;
)sql";

// What people look at (decision 34): the hours of a queue.
//   body (of queue_hours)  an hour that has ended, as a JSON object, as in a snapshot. The present one is in the body of its queue.
constexpr const char* kViews = R"sql(
CREATE TABLE resonate_queue_hours (
  queue TEXT NOT NULL,
  hour INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (queue, hour)
) STRICT, WITHOUT ROWID;
)sql";

// Schedules that people pause (decision 39).
//   paused (of schedules)  1: it does not fire, and has no due_at
constexpr const char* kPauses = R"sql(
ALTER TABLE resonate_schedules ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
)sql";

// Jobs that wait (decision 47).
//   kind (of edges)  2 keeper: the job `other` keeps the settled job `owner`. SQLite changes no condition of a table that exists.
//   job_state  1 waiting: the states that had this number once have no number since kKeys
constexpr const char* kWaiting = R"sql(
CREATE TABLE resonate_edges_new (
  kind INTEGER NOT NULL CHECK (kind IN (0, 1, 2)),
  owner TEXT NOT NULL,
  seq INTEGER NOT NULL,
  other TEXT NOT NULL,
  dialect INTEGER NOT NULL,
  cancelled_with TEXT,
  PRIMARY KEY (kind, owner, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO resonate_edges_new SELECT kind, owner, seq, other, dialect, cancelled_with FROM resonate_edges;
DROP TABLE resonate_edges;
ALTER TABLE resonate_edges_new RENAME TO resonate_edges;
CREATE UNIQUE INDEX edges_by_pair ON resonate_edges (kind, owner, other);
CREATE INDEX resonate_edges_by_canceller ON resonate_edges (cancelled_with, owner) WHERE cancelled_with IS NOT NULL;
)sql";

// Children and messages of jobs (decision 48).
//   parent, child_kind, child_number  of a child: the job, 0 record, 1 receive, 2 message, 3 job, and its number; else NULL
//   open_in  the group's key in Index::open, else NULL
constexpr const char* kChildren = R"sql(
ALTER TABLE resonate_promises ADD COLUMN parent TEXT;
ALTER TABLE resonate_promises ADD COLUMN child_kind INTEGER;
ALTER TABLE resonate_promises ADD COLUMN child_number INTEGER;
ALTER TABLE resonate_promises ADD COLUMN open_in TEXT;
CREATE INDEX resonate_children ON resonate_promises (parent, created_at, id) WHERE parent IS NOT NULL;
CREATE INDEX resonate_open ON resonate_promises (open_in, child_number, id) WHERE open_in IS NOT NULL;
)sql";

// The same table of edges with a condition that costs nothing at a write; for the list of three numbers SQLite built a temporary
// table for each new edge.
constexpr const char* kEdges = R"sql(
CREATE TABLE resonate_edges_new (
  kind INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 2),
  owner TEXT NOT NULL,
  seq INTEGER NOT NULL,
  other TEXT NOT NULL,
  dialect INTEGER NOT NULL,
  cancelled_with TEXT,
  PRIMARY KEY (kind, owner, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO resonate_edges_new SELECT kind, owner, seq, other, dialect, cancelled_with FROM resonate_edges;
DROP TABLE resonate_edges;
ALTER TABLE resonate_edges_new RENAME TO resonate_edges;
CREATE UNIQUE INDEX edges_by_pair ON resonate_edges (kind, owner, other);
CREATE INDEX resonate_edges_by_canceller ON resonate_edges (cancelled_with, owner) WHERE cancelled_with IS NOT NULL;
)sql";

// Callbacks that stay as keepers (decision 54): keptCallbacks and drainedThrough in `job`, and no change of a table. An earlier
// release would drain such a callback again, so the version keeps it from opening the file.
constexpr const char* kStayingCallbacks = "";

constexpr std::array kMigrations = {kFirst, kJobs,   kGroups,  kFourth,   kKeys,  kOwnNames,        kCancellation,
                                    kViews, kPauses, kWaiting, kChildren, kEdges, kStayingCallbacks};

// The rows that the migrations insert into new tables.
constexpr const char* kFirstRows =
    "INSERT INTO resonate_counters (one, sequence, now, dropped) VALUES (1, 0, 0, 0);"
    "INSERT INTO resonate_store_version VALUES (1, 0);";

}  // namespace

std::vector<SqliteObject> sqlite_objects(SQLite::Database& database) {
  std::vector<SqliteObject> found;
  SQLite::Statement rows(
      database,
      "SELECT name, tbl_name, sql, type FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE "
      "'\\' ORDER BY type DESC, name");  // tables before their indexes
  while (rows.executeStep())
    found.push_back({rows.getColumn(0).getString(), rows.getColumn(1).getString(), rows.getColumn(2).getString(),
                     rows.getColumn(3).getString()});
  return found;
}

namespace {

// The SQL without quotes of names and with single spaces: ALTER TABLE writes them as its version of SQLite does.
std::string plain(const std::string& sql) {
  std::string made;
  for (const char sign : sql) {
    const bool is_space = sign == ' ' || sign == '\n' || sign == '\t' || sign == '\r';
    if (sign != '"' && !(is_space && made.ends_with(' '))) made += is_space ? ' ' : sign;
  }
  return made;
}

}  // namespace

bool is_same(const SqliteObject& one, const SqliteObject& other) {
  return one.type == other.type && (one.sql == other.sql || plain(one.sql) == plain(other.sql));
}

bool computes(SQLite::Database& database, const SqliteObject& index) {
  if (index.type != "index") return false;
  SQLite::Statement found(database,
                          "SELECT (SELECT count(*) FROM pragma_index_xinfo(?1) WHERE cid = -2) + "
                          "(SELECT count(*) FROM pragma_index_list(?2) WHERE name = ?1 AND partial <> 0)");
  found.bind(1, index.name);
  found.bind(2, index.table);
  return found.executeStep() && found.getColumn(0).getInt64() > 0;
}

std::span<const char* const> sqlite_migrations() noexcept { return kMigrations; }

namespace {

struct Made {
  std::vector<SqliteObject> schema, optional;
};

// Made once in a process: the migrations take some milliseconds, and each opening of a file compares its objects with these.
const Made& made_by_migrations() {
  static const Made made = [] {
    SQLite::Database scratch(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (const char* migration : kMigrations) scratch.exec(migration);
    Made all{.schema = sqlite_objects(scratch), .optional = {}};
    scratch.exec(sqlite_newest_indexes());
    all.optional = sqlite_objects(scratch);
    std::erase_if(all.optional, [&](const SqliteObject& object) {
      return std::ranges::any_of(all.schema, [&](const SqliteObject& other) { return other.name == object.name; });
    });
    return all;
  }();
  return made;
}

}  // namespace

const std::vector<SqliteObject>& sqlite_schema() { return made_by_migrations().schema; }

const std::vector<SqliteObject>& sqlite_optional_objects() { return made_by_migrations().optional; }

const char* sqlite_newest_indexes() noexcept {
  return "CREATE INDEX IF NOT EXISTS resonate_newest_jobs ON resonate_promises (queue, created_at, id) WHERE queue IS NOT NULL;"
         "CREATE INDEX IF NOT EXISTS resonate_newest_roots ON resonate_promises (created_at, id) WHERE queue IS NULL AND (origin "
         "IS "
         "NULL OR origin = id);";
}

const std::string& sqlite_creation() {
  static const std::string text = [] {
    std::string made;
    for (const SqliteObject& object : sqlite_schema()) made += object.sql + ";";
    return made + kFirstRows;
  }();
  return text;
}

}  // namespace resonate
