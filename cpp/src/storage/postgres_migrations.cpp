// The tables of a store in PostgreSQL, version by version.
#include <string>
#include <string_view>
#include <vector>

#include "storage/postgres_schema.hpp"

namespace resonate {

namespace {

// The columns are those of the SQLite file (sqlite_schema.cpp), with the same meaning. Texts are compared bytewise, the order of
// the protocol.
//   write_lock  one row, which a transaction that must be the only writer locks first
//   counters  the row with the highest version is valid; the version rises with every commit, so what a process has read is true
//     as long as it does not change. A step is one more than the clock's microseconds: if a failover loses commits, those in their
//     place have other versions.
//   counters.due_mark, counters.claim_marks  places of the indexes before which there is no row (scan_marks.hpp)
//   writers.batch  the last transaction of a writer, so that it can find out whether a COMMIT happened whose answer was lost
//   queues.version  the highest one of a name is valid
// A commit inserts a new row of counters, writers and queues under a higher key, and deletes the old row by its whole key. No
// statement then reads the dead rows, which accumulate while any client of the server has a transaction open (a backup, a report).
// fillfactor leaves free space in each page: PostgreSQL then updates a row without writing to its indexes (a HOT update) if no
// indexed column changes.
constexpr const char* kFirst = R"sql(
CREATE TABLE promises (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  origin text COLLATE "C",
  branch text COLLATE "C",
  dialect integer NOT NULL,
  timeout_at bigint NOT NULL,
  created_at bigint NOT NULL,
  param_headers text,
  param_data text,
  tags text,
  ikc text,
  state smallint NOT NULL CHECK (state BETWEEN 0 AND 4),
  external smallint NOT NULL CHECK (external IN (0, 1)),
  settled_at bigint,
  value_headers text,
  value_data text,
  iku text,
  callbacks integer NOT NULL CHECK (callbacks >= 0),
  listeners integer NOT NULL CHECK (listeners >= 0),
  task smallint NOT NULL CHECK (task BETWEEN 0 AND 5),
  acquisitions bigint NOT NULL,
  ttl bigint NOT NULL,
  expires_at bigint,
  retry_at bigint,
  resumes text,
  current text,
  execute_seq bigint NOT NULL,
  execute_waits smallint NOT NULL DEFAULT 0,
  pid text COLLATE "C",
  due_at bigint,
  due_kind smallint,
  queue text COLLATE "C",
  job_state smallint CHECK (job_state BETWEEN 0 AND 9),
  priority bigint,
  enqueued_at bigint,
  unique_key text COLLATE "C",
  batch_key text COLLATE "C",
  job text
) WITH (fillfactor = 80);
CREATE INDEX promises_by_due ON promises (due_at, due_kind, id) WHERE due_at IS NOT NULL;
CREATE INDEX promises_by_branch ON promises (branch, id) WHERE branch IS NOT NULL;
CREATE INDEX promises_by_pid ON promises (pid, id) WHERE pid IS NOT NULL;
CREATE INDEX promises_by_claim ON promises (queue, priority, enqueued_at, id) WHERE enqueued_at IS NOT NULL;
CREATE INDEX promises_by_job_state ON promises (job_state, id) WHERE job_state IS NOT NULL;
CREATE INDEX promises_by_unique_key ON promises (unique_key, queue, id) WHERE unique_key IS NOT NULL;
CREATE INDEX promises_by_batch ON promises (batch_key, queue, id) WHERE batch_key IS NOT NULL;

CREATE TABLE schedules (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  cron text NOT NULL,
  promise_id text NOT NULL,
  promise_timeout bigint NOT NULL,
  param_headers text,
  param_data text,
  promise_tags text,
  created_at bigint NOT NULL,
  next_run_at bigint,
  last_run_at bigint,
  dialect integer NOT NULL,
  job text,
  due_at bigint,
  problem text
);
CREATE INDEX schedules_by_due ON schedules (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_set_aside ON schedules (id) WHERE problem IS NOT NULL;

CREATE TABLE edges (
  kind smallint NOT NULL CHECK (kind IN (0, 1)),
  owner text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  other text COLLATE "C" NOT NULL,
  dialect integer NOT NULL,
  PRIMARY KEY (kind, owner, seq)
);
CREATE UNIQUE INDEX edges_by_pair ON edges (kind, owner, other);

CREATE TABLE messages (
  seq bigint NOT NULL PRIMARY KEY,
  kind smallint NOT NULL CHECK (kind IN (0, 1)),
  id text COLLATE "C" NOT NULL,
  address text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  resume smallint NOT NULL CHECK (resume IN (0, 1)),
  dialect integer NOT NULL,
  attempts bigint NOT NULL,
  queued_at bigint NOT NULL,
  holder text COLLATE "C",
  leased_until bigint NOT NULL,
  unblock_of text COLLATE "C"
);
CREATE INDEX messages_by_address ON messages (address, seq);
CREATE INDEX messages_unblock ON messages (seq) WHERE unblock_of IS NOT NULL;
CREATE INDEX messages_unblock_by_id ON messages (unblock_of, seq) WHERE unblock_of IS NOT NULL;

CREATE TABLE queues (
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (name, version)
);

CREATE TABLE write_lock (
  one smallint NOT NULL PRIMARY KEY CHECK (one = 1)
);
INSERT INTO write_lock VALUES (1);

CREATE TABLE counters (
  version bigint NOT NULL PRIMARY KEY,
  sequence bigint NOT NULL,
  now bigint NOT NULL,
  dropped bigint NOT NULL,
  jobs bigint NOT NULL,
  messages bigint NOT NULL
);
INSERT INTO counters VALUES (0, 0, 0, 0, 0, 0);

CREATE TABLE writers (
  id bigint NOT NULL,
  batch bigint NOT NULL,
  used_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (id, batch)
);
CREATE SEQUENCE writer_ids;

CREATE TABLE store_version (
  one smallint NOT NULL PRIMARY KEY CHECK (one = 1),
  version bigint NOT NULL
);
INSERT INTO store_version VALUES (1, 0);
)sql";

// inbox: requests that programs submit in transactions of their own. Numbers rise in the order of insertion, so a request that was
// committed before another was submitted runs first. submit() runs with the rights of the tables' owner: a program needs no more
// than USAGE on the schema and EXECUTE on the function.
constexpr const char* kSecond = R"sql(
CREATE TABLE inbox (
  number bigint NOT NULL PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  request text NOT NULL,
  submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  status integer,
  error text
);
CREATE INDEX inbox_waiting ON inbox (number) WHERE status IS NULL;
CREATE INDEX inbox_refused ON inbox (number) WHERE status IS NOT NULL;
CREATE FUNCTION submit(request jsonb) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $body$
DECLARE
  made bigint;
BEGIN
  IF jsonb_typeof($1) IS DISTINCT FROM 'object' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request must be an object, got ' || coalesce($1::text, 'NULL');
  END IF;
  IF jsonb_typeof($1 -> 'kind') IS DISTINCT FROM 'string' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request.kind must be a string, got ' || coalesce(($1 -> 'kind')::text, 'none');
  END IF;
  IF jsonb_typeof($1 -> 'data') IS DISTINCT FROM 'object' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request.data must be an object, got ' || coalesce(($1 -> 'data')::text, 'none');
  END IF;
  INSERT INTO inbox (request) VALUES ($1::text) RETURNING inbox.number INTO made;
  RETURN made;
END
$body$;
)sql";

// Jobs that are cancelled with their awaiters (decision 28).
constexpr const char* kThird = R"sql(
ALTER TABLE promises ADD COLUMN cancels_jobs smallint NOT NULL DEFAULT 0;
ALTER TABLE edges ADD COLUMN cancelled_with text COLLATE "C";
CREATE INDEX edges_by_canceller ON edges (cancelled_with, owner) WHERE cancelled_with IS NOT NULL;
)sql";

// What people look at (decision 34). An hour that has ended is inserted once; the present one is in the body of its queue.
constexpr const char* kFourth = R"sql(
CREATE TABLE queue_hours (
  queue text COLLATE "C" NOT NULL,
  hour bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (queue, hour)
);
)sql";

// Schedules that people pause (decision 39).
constexpr const char* kFifth = R"sql(
ALTER TABLE schedules ADD COLUMN paused smallint NOT NULL DEFAULT 0;
)sql";

// A schema may be renamed, and another one may get its name: submit() inserts into the table that it was made with. The body of
// such a function is bound when it is made, so no search path changes its meaning; submission() looks at no table.
constexpr const char* kSixth = R"sql(
CREATE FUNCTION submission(request jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
BEGIN
  IF jsonb_typeof($1) IS DISTINCT FROM 'object' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request must be an object, got ' || coalesce($1::text, 'NULL');
  END IF;
  IF jsonb_typeof($1 -> 'kind') IS DISTINCT FROM 'string' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request.kind must be a string, got ' || coalesce(($1 -> 'kind')::text, 'none');
  END IF;
  IF jsonb_typeof($1 -> 'data') IS DISTINCT FROM 'object' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request.data must be an object, got ' || coalesce(($1 -> 'data')::text, 'none');
  END IF;
  RETURN $1::text;
END
$body$;
CREATE OR REPLACE FUNCTION submit(request jsonb) RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path TO pg_catalog, pg_temp
  BEGIN ATOMIC INSERT INTO inbox (request) VALUES (submission($1)) RETURNING inbox.number; END;
)sql";

// A program that may submit can do whatever the protocol can, so that is a right of the roles that an owner names. PUBLIC has
// nothing on what a store makes, whatever the default privileges of the owner are. The last migration of a fresh schema, too: a
// migration that adds a table or a function repeats it.
// A row of the inbox is bounded by itself, since a role may insert without submit(); NOT VALID: rows that wait are kept. For the
// same reason a trigger numbers it: a role that chose numbers (OVERRIDING SYSTEM VALUE) could take those of the next requests. The
// schema may be renamed, so the trigger asks the table for its sequence.
constexpr const char* kSeventh = R"sql(
CREATE OR REPLACE FUNCTION submission(request jsonb) RETURNS text LANGUAGE plpgsql IMMUTABLE SET search_path TO pg_catalog, pg_temp AS $body$
DECLARE
  written text := $1::text;
BEGIN
  IF octet_length(written) > 16777216 THEN
    RAISE program_limit_exceeded USING MESSAGE = 'request must have at most 16777216 bytes, got ' || octet_length(written);
  END IF;
  IF jsonb_typeof($1) IS DISTINCT FROM 'object' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request must be an object, got ' || coalesce(left(written, 100), 'NULL');
  END IF;
  IF jsonb_typeof($1 -> 'kind') IS DISTINCT FROM 'string' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request.kind must be a string, got ' || coalesce(left(($1 -> 'kind')::text, 100), 'none');
  END IF;
  IF jsonb_typeof($1 -> 'data') IS DISTINCT FROM 'object' THEN
    RAISE invalid_parameter_value USING MESSAGE = 'request.data must be an object, got ' || coalesce(left(($1 -> 'data')::text, 100), 'none');
  END IF;
  RETURN written;
END
$body$;
ALTER TABLE inbox DROP CONSTRAINT IF EXISTS inbox_request_bytes;
ALTER TABLE inbox ADD CONSTRAINT inbox_request_bytes CHECK (octet_length(request) <= 16777216) NOT VALID;
CREATE OR REPLACE FUNCTION number_submission() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path TO pg_catalog, pg_temp
AS $body$
BEGIN
  NEW.number := nextval(pg_get_serial_sequence(TG_RELID::regclass::text, 'number'));
  RETURN NEW;
END
$body$;
DROP TRIGGER IF EXISTS number_submission ON inbox;
CREATE TRIGGER number_submission BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION number_submission();
DO $body$
DECLARE
  made text;
BEGIN
  FOREACH made IN ARRAY ARRAY['promises', 'schedules', 'edges', 'messages', 'queues', 'queue_hours', 'counters', 'writers', 'inbox',
                              'write_lock', 'store_version'] LOOP
    EXECUTE format('REVOKE ALL ON TABLE %1$I FROM PUBLIC; REVOKE ALL ON TYPE %1$I FROM PUBLIC', made);
  END LOOP;
  EXECUTE 'REVOKE ALL ON SEQUENCE writer_ids, ' || pg_get_serial_sequence('inbox', 'number') || ' FROM PUBLIC';
END
$body$;
REVOKE ALL ON FUNCTION submit(jsonb), submission(jsonb), number_submission() FROM PUBLIC;
)sql";

// Jobs that wait (decision 47): edges of kind 2, keepers. job_state 1 is the state waiting.
constexpr const char* kEighth = R"sql(
ALTER TABLE edges DROP CONSTRAINT IF EXISTS edges_kind_check;
ALTER TABLE edges ADD CONSTRAINT edges_kind_check CHECK (kind IN (0, 1, 2));
)sql";

// Children and messages of jobs (decision 48).
constexpr const char* kNinth = R"sql(
ALTER TABLE promises ADD COLUMN parent text COLLATE "C";
ALTER TABLE promises ADD COLUMN child_kind smallint;
ALTER TABLE promises ADD COLUMN child_number bigint;
ALTER TABLE promises ADD COLUMN open_in text COLLATE "C";
CREATE INDEX promises_by_parent ON promises (parent, created_at, id) WHERE parent IS NOT NULL;
CREATE INDEX promises_open ON promises (open_in, child_number, id) WHERE open_in IS NOT NULL;
)sql";

// Where scans begin (decision 50): NULL, at the beginning.
// Writers beside each other (decision 51). writers.seen is the instant of a writer's last commit beside others, which does not
// change the counters. counters.seen was counters.now: a process of an earlier release, which locks no rows, fails at each
// transaction.
constexpr const char* kTenth = R"sql(
ALTER TABLE counters ADD COLUMN due_mark bigint;
ALTER TABLE counters ADD COLUMN claim_marks text COLLATE "C";
CREATE SEQUENCE shared_commits;
ALTER TABLE writers ADD COLUMN seen bigint NOT NULL DEFAULT 0;
CREATE INDEX writers_by_seen ON writers (seen);
ALTER TABLE counters RENAME COLUMN now TO seen;
REVOKE ALL ON SEQUENCE shared_commits FROM PUBLIC;
)sql";

// Jobs beside each other (decision 52). queue_deltas: what commits beside others have added to the counts of queues; its number is
// that of the commit. Those up to counters.folded are in the bodies of the queues.
// The number of the last job without an id is counters.jobs_made and what was taken from the sequence job_numbers since it had
// given counters.numbers_taken. jobs_made was jobs: a process of an earlier release, which adds up no deltas, fails at each
// transaction.
constexpr const char* kEleventh = R"sql(
CREATE TABLE queue_deltas (
  number bigint NOT NULL,
  queue text COLLATE "C" NOT NULL,
  deltas bigint[] NOT NULL,
  PRIMARY KEY (number, queue)
);
CREATE SEQUENCE job_numbers;
ALTER TABLE counters ADD COLUMN folded bigint NOT NULL DEFAULT 0;
ALTER TABLE counters ADD COLUMN numbers_taken bigint NOT NULL DEFAULT 0;
ALTER TABLE counters RENAME COLUMN jobs TO jobs_made;
REVOKE ALL ON TABLE queue_deltas FROM PUBLIC;
REVOKE ALL ON TYPE queue_deltas FROM PUBLIC;
REVOKE ALL ON SEQUENCE job_numbers FROM PUBLIC;
)sql";

// Callbacks that stay as keepers (decision 54): keptCallbacks and drainedThrough in `job`. An earlier release would drain such a
// callback again. So counters.folded is renamed to added_up, and each transaction of an earlier release fails.
constexpr const char* kTwelfth = R"sql(
ALTER TABLE counters RENAME COLUMN folded TO added_up;
)sql";

// PostgreSQL prepares all CHECKs of a table each time that a statement writes to it. These six took half of the time of a statement
// that writes one row. A process refuses such values when it reads them (column_reader.hpp).
constexpr const char* kThirteenth = R"sql(
ALTER TABLE promises DROP CONSTRAINT IF EXISTS promises_state_check;
ALTER TABLE promises DROP CONSTRAINT IF EXISTS promises_external_check;
ALTER TABLE promises DROP CONSTRAINT IF EXISTS promises_callbacks_check;
ALTER TABLE promises DROP CONSTRAINT IF EXISTS promises_listeners_check;
ALTER TABLE promises DROP CONSTRAINT IF EXISTS promises_task_check;
ALTER TABLE promises DROP CONSTRAINT IF EXISTS promises_job_state_check;
)sql";

std::vector<std::string> statements_of(const std::string& migration) {
  std::vector<std::string> statements;
  constexpr std::string_view kEnd = ";\n";
  constexpr std::string_view kBody = "$body$";  // around the body of a function, which has statements of its own
  for (std::size_t at = 0;;) {
    std::size_t end = migration.find(kEnd, at);
    if (const std::size_t body = migration.find(kBody, at); body < end)
      end = migration.find(kEnd, migration.find(kBody, body + kBody.size()));
    if (end == std::string::npos) return statements;
    statements.push_back(migration.substr(at, end - at));
    at = end + kEnd.size();
  }
}

}  // namespace

const std::vector<std::vector<std::string>>& postgres_migrations() {
  static const std::vector<std::vector<std::string>> all = {
      statements_of(kFirst),    statements_of(kSecond),  statements_of(kThird),     statements_of(kFourth), statements_of(kFifth),
      statements_of(kSixth),    statements_of(kSeventh), statements_of(kEighth),    statements_of(kNinth),  statements_of(kTenth),
      statements_of(kEleventh), statements_of(kTwelfth), statements_of(kThirteenth)};
  return all;
}

}  // namespace resonate
