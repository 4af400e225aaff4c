#include "storage/postgres_statements.hpp"

#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "storage/message_columns.hpp"
#include "storage/queue_deltas.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

namespace {

constexpr auto kUpdated = joined(kStateColumns, kHolderColumns, kDueColumns, kOpenColumns, kJobColumns);
constexpr auto kUpdatedById = joined(kUpdated, std::array{"id"_text});
constexpr auto kInserted = joined(kPlainColumns, kJobColumns);
static_assert(kInserted.size() <= kMostColumns);
constexpr std::array kQueueColumns = {"name"_text, "version"_integer, "body"_text};
constexpr auto kInsertedEdges = joined(kEdgeColumns, kEdgeKeys);
constexpr auto kInsertedMessages = joined(kMessageColumns, kMessageKeys);
constexpr auto kLeases = joined(kLeaseColumns, std::array{"seq"_integer});

// The advisory lock of all that write to the schema.
constexpr const char* kWriters = "hashtextextended('resonate_core writers ' || ?::text, 0)";

// The newest body of the queue that `name` says.
std::string newest_body(const std::string& name) {
  return "(SELECT body FROM queues WHERE queues.name = " + name + " COLLATE \"C\" ORDER BY version DESC LIMIT 1)";
}

// The deltas that are not in the bodies of the queues yet.
constexpr const char* kDeltas = "queue_deltas WHERE number > (SELECT added_up FROM counters ORDER BY version DESC LIMIT 1)";

// The sums of the deltas of the queue that `name` says; NULL: it has none.
std::string sums_of(const std::string& name) {
  return "(SELECT " + sums_of_deltas() + " FROM " + kDeltas + " AND queue_deltas.queue = " + name +
         " COLLATE \"C\" HAVING count(*) > 0)";
}

// The values of rows that a statement takes by column: those in `arrays` as arrays, from which unnest() makes the rows, the others
// as one value for all rows. A function that returns rows costs the server much more than a value, so a column that is the same in
// all rows is no array. One row has no arrays at all.
class GivenRows {
 public:
  GivenRows(std::span<const SqlColumn> columns, ColumnSet arrays) {
    std::string names;
    std::string parameters;
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const char* const type = columns[at].type == SqlType::integer ? "::bigint" : "::text";
      const std::string parameter = "$" + std::to_string(at + 1) + type;
      const bool is_array = (arrays >> at & 1) != 0;
      values_.push_back(is_array ? std::string("u.") + columns[at].name : parameter);
      if (!is_array) continue;
      parameters += (parameters.empty() ? "" : ", ") + parameter + "[]";
      names += (names.empty() ? "" : ", ") + std::string(columns[at].name);
    }
    if (!names.empty()) from_ = " FROM unnest(" + parameters + ") AS u (" + names + ")";
  }

  const std::string& from() const noexcept { return from_; }
  const std::string& last() const { return values_.back(); }
  // The first values, so many, with commas.
  std::string values(std::size_t count) const {
    std::string all;
    for (std::size_t at = 0; at < count; ++at) all += (at == 0 ? "" : ", ") + values_[at];
    return all;
  }

 private:
  std::vector<std::string> values_;
  std::string from_;
};

std::string insert_into(const std::string& table, std::span<const SqlColumn> columns, ColumnSet arrays) {
  const GivenRows rows(columns, arrays);
  return "INSERT INTO " + table + " (" + list_of(columns) + ") SELECT " + rows.values(columns.size()) + rows.from();
}

// The condition that a column has a value of the rows that a statement takes (`u`). The statement is to look those rows up in a
// table, one by one. With an equation, the planner may walk through the whole table in the order of an index instead: it does so if
// the table was empty when autovacuum came, although it has filled since. An array has no order, so there is no such plan.
std::string is(const std::string& column, const std::string& taken) { return column + " = ANY (ARRAY[" + taken + "])"; }

// The row of a table that `taken` names by the columns of a key, or none: its place, and the columns of `more`. If two indexes
// share a column, the planner finds both equally good while the table is small, and may read all entries of the wrong one. The
// order of the whole key leaves one index.
std::string found_by(const std::string& table, const std::string& key, const std::string& taken, const std::string& more = {}) {
  return "(SELECT * FROM (SELECT ctid AS place, " + key + more + " FROM " + table + " WHERE (" + key + ") >= (" + taken +
         ") ORDER BY " + key + " LIMIT 1) AS first WHERE (" + key + ") = (" + taken + "))";
}

// The places of such rows, for all rows that the statement takes. Only for transactions that run alone: a row that another one
// replaced would have another place.
std::string places_of(const std::string& table, const std::string& key, const std::string& from, const std::string& taken) {
  return "ctid = ANY (ARRAY(SELECT found.place FROM " + from + ", LATERAL " + found_by(table, key, taken) + " AS found))";
}

// Sets columns of a table, `p`, to the first values of rows.
std::string update_columns(const std::string& table, std::span<const SqlColumn> columns, const GivenRows& rows) {
  return "UPDATE " + table + " AS p SET (" + list_of(columns) + ") = ROW (" + rows.values(columns.size()) + ")";
}

// The server ends the transaction of a process that stands still, before other processes give up their wait for it. Exclusive
// transactions wait for each other at the row of write_lock, if `wait` permits it; the first one then waits at the advisory lock
// until no shared transaction holds it. PostgreSQL queues new shared transactions behind that wait, so it is short (the first
// lock_timeout).
std::string lock(const std::string& wait) {
  return "SELECT set_config('idle_in_transaction_session_timeout', ?, true), set_config('lock_timeout', ?, true), "
         "pg_advisory_xact_lock(" +
         std::string(kWriters) + "), set_config('lock_timeout', ?, true) FROM (SELECT FROM write_lock FOR UPDATE" + wait +
         ") AS first";
}

// Question marks become $1, $2, ...
std::string numbered(std::string_view text) {
  std::string made;
  int count = 0;
  for (const char c : text) {
    if (c == '?') {
      made += "$" + std::to_string(++count);
    } else {
      made += c;
    }
  }
  return made;
}

// The rows of a range of an index. Here, too, the order of the whole key leaves one index; an equation would take its column out of
// that order.
std::string select_range(Index index) {
  const IndexColumns& columns = kIndexColumns[place_of(index)];
  if (!columns.text) return numbered(select_range("promises", index));
  std::string key = columns.text;
  std::string values = columns.queue ? "$2" : "$1";
  if (columns.queue) {
    key.append(", ").append(columns.queue);
    values.append(", $1");
  }
  const std::string after = columns.queue ? "$3" : "$2";
  const std::string limit = columns.queue ? "$4" : "$3";
  return select_from("promises", kRowColumns) + columns.text + " IS NOT NULL AND (" + key + ", id) > (" + values + ", " + after +
         ") AND (" + key + ") <= (" + values + ") ORDER BY " + key + ", id LIMIT " + limit;
}

// The clock of the database, in ms.
const std::string kClock = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

constexpr const char* kCounterColumns =
    "version, sequence, seen, dropped, jobs_made, messages, due_mark, claim_marks, added_up, numbers_taken";

// The columns of the counters that each transaction reads. The statement comes after the locks, so it sees the last commit, and the
// clock after that. A sequence is no part of its snapshot, and a role that only reads may not see one. A writer that is alone has 0
// as seen in each version of its row, so the search for the latest instant reads none of them.
std::string counters_at_once() {
  const auto last_of = [](const std::string& sequence) {
    return "CASE WHEN has_sequence_privilege('" + sequence + "', 'USAGE') THEN coalesce(pg_sequence_last_value('" + sequence +
           "'), 0) END";
  };
  return "version, sequence, greatest(seen, (SELECT w.seen FROM writers AS w WHERE w.seen > counters.seen ORDER BY w.seen DESC "
         "LIMIT 1)), dropped, jobs_made, messages, " +
         kClock + ", EXISTS (SELECT FROM inbox WHERE status IS NULL)::integer, current_schema()::text, " +
         last_of("shared_commits") + ", due_mark, claim_marks, added_up, numbers_taken, " + last_of("job_numbers");
}

// Where the search for the first timer begins. The stored mark counts too, since a process learns it in the same round trip.
constexpr const char* kDueFrom = "greatest(?, due_mark) AS due_from";
// When the first schedule is due.
constexpr const char* kScheduleDue = "(SELECT min(due_at) FROM schedules WHERE due_at >= counters.due_from)";
// When that timer is due, and its id if it has no kind. `until` is a further argument of least(), with a comma before it: the
// instant at which the search ends.
std::string due(const std::string& until = {}) {
  return "least(first.due_at, " + std::string(kScheduleDue) + until +
         "), CASE WHEN first.due_at IS NOT NULL AND first.due_kind IS NULL THEN first.id END";
}
// Searches for that timer. `until` is a further condition on due_at, with an AND before it.
std::string join_first_due(const std::string& until = {}) {
  return " LEFT JOIN LATERAL (SELECT due_at, due_kind, id FROM promises WHERE due_at >= counters.due_from" + until +
         " ORDER BY due_at, due_kind, id LIMIT 1) AS first ON true";
}

// Replaces the counters, and notes the batch of the writer. Without the row that this transaction has read, or if `and_only_if`
// does not hold, the new version is NULL, which the table refuses.
std::string store_counters(bool drops, const std::string& and_only_if) {
  const std::string gone = drops ? "gone AS (DELETE FROM messages WHERE " +
                                       places_of("messages", "seq", "unnest(?::bigint[]) AS u (seq)", "u.seq") + " RETURNING 1), "
                                 : "";
  return "WITH " + gone +
         "noted AS (INSERT INTO writers (id, batch) VALUES (?, ?)), forgotten AS (DELETE FROM writers WHERE id = ? AND batch = ?), "
         "old AS (DELETE FROM counters WHERE version = ?" +
         and_only_if + " RETURNING version, messages) INSERT INTO counters (" + kCounterColumns +
         ") SELECT (SELECT version FROM old) + 1 + extract(microseconds FROM "
         "clock_timestamp())::bigint % 1000000, ?, ?, ?, ?, (SELECT messages FROM old) + ?" +
         (drops ? " - (SELECT count(*) FROM gone)" : "") + ", ?, ?, ?, ? RETURNING version, messages, " + kClock;
}

// Under the lock, nothing has changed since this process knew the state, and its instant is not too old.
std::string if_known() {
  return " AND coalesce(pg_sequence_last_value('shared_commits'), 0) = ? AND " + kClock +
         " <= ? AND NOT EXISTS (SELECT FROM inbox WHERE status IS NULL)";
}

// Notes the batch of a writer beside others, its instant and its deltas. Counted before the commit and under the lock: the next
// writer that is alone sees the number, and drops its earlier knowledge. A row that it is to delete may be gone, or another
// transaction may have written it, even while this statement waited for that one. Then the instant is NULL, which the table
// refuses.
std::string store_shared(bool deletes) {
  const std::string gone = deletes ? "gone AS (DELETE FROM promises AS p USING unnest(?::text[], ?::bigint[]) AS u (id, writer) "
                                     "WHERE " +
                                         is("p.id", "u.id") + " AND p.xmin::text::bigint = u.writer RETURNING 1), "
                                   : "";
  const std::string seen = deletes ? "CASE WHEN (SELECT count(*) FROM gone) = ? THEN ?::bigint END" : "?";
  return "WITH " + gone +
         "numbered AS MATERIALIZED (SELECT nextval('shared_commits') AS number), counted AS (INSERT INTO queue_deltas (number, "
         "queue, deltas) SELECT numbered.number, added.queue, added.deltas::bigint[] FROM numbered, unnest(?::text[], ?::text[]) "
         "AS added (queue, deltas)), forgotten AS (DELETE FROM writers WHERE id = ? AND batch = ?) INSERT INTO writers (id, batch, "
         "seen) VALUES (?, ?, " +
         seen + ") RETURNING (SELECT number FROM numbered), pg_current_xact_id()::xid::text::bigint";
}

std::string replace_schedules(ColumnSet arrays) {
  return insert_into("schedules", kScheduleColumns, arrays) + " ON CONFLICT (id) DO UPDATE SET (" + list_of(kScheduleColumns) +
         ") = ROW (" + list_of(kScheduleColumns, "excluded.") + ")";
}

std::string text_of(PostgresQuery which, ColumnSet arrays) {
  const std::string rows = select_from("promises", kRowColumns);
  const std::string schedules = select_from("schedules", kScheduleColumns);
  const std::string edges = select_from("edges", kInsertedEdges);
  const std::string messages = select_from("messages", kMessageColumns);
  switch (which) {
    case PostgresQuery::lock: return lock("");
    case PostgresQuery::lock_at_once: return lock(" NOWAIT");
    case PostgresQuery::lock_shared:
      return "SELECT set_config('idle_in_transaction_session_timeout', ?, true), pg_advisory_xact_lock_shared(" +
             std::string(kWriters) + ")";
    case PostgresQuery::lock_shared_at_once:
      return "SELECT set_config('idle_in_transaction_session_timeout', ?, true), set_config('lock_timeout', ?, true), "
             "pg_advisory_xact_lock_shared(" +
             std::string(kWriters) + "), set_config('lock_timeout', ?, true)";
    // A claim passes over the rows that others have locked. So only claims lock jobs that can be claimed: a request that names one
    // finds it here without a lock, and runs alone. num_nulls: the planner would read all of the index of such jobs if it was empty
    // once.
    case PostgresQuery::lock_rows:
      return "WITH held AS MATERIALIZED (SELECT " + list_of(kRowColumns) +
             " FROM promises WHERE id = ANY ($1::text[]) AND enqueued_at IS NULL ORDER BY id FOR UPDATE) SELECT " +
             list_of(kRowColumns, {}, " AS _") + " FROM held UNION ALL " + rows +
             "id = ANY ($1::text[]) AND num_nulls(enqueued_at) = 0";
    // After a wait for another transaction this is the row that that one has left, and its xmin.
    case PostgresQuery::lock_written:
      return "SELECT id AS _, xmin::text::bigint AS _ FROM promises WHERE id = ANY (?::text[]) AND enqueued_at IS NULL ORDER BY id "
             "FOR UPDATE";
    case PostgresQuery::queues_of_rows:
      return "SELECT newest.body, wanted.name FROM (SELECT unnest(?::text[]) COLLATE \"C\" UNION SELECT queue FROM promises WHERE "
             "id = ANY (?::text[])) AS wanted (name), LATERAL " +
             newest_body("wanted.name") + " AS newest";
    // In one order, and before all rows, so that two transactions cannot wait for each other. Keys whose numbers are the same wait
    // for each other, too.
    case PostgresQuery::lock_keys:
      return "WITH keys AS MATERIALIZED (SELECT DISTINCT hashtextextended('resonate_core key ' || length(?::text) || ' ' || ? || "
             "length(asked.queue) || ' ' || asked.queue || asked.key, 0) AS number FROM unnest(?::text[], ?::text[]) AS asked "
             "(queue, key) ORDER BY number) SELECT pg_advisory_xact_lock(number) FROM keys";
    case PostgresQuery::count_holders:
      return "SELECT count((SELECT 1 FROM promises WHERE unique_key = asked.key COLLATE \"C\" AND promises.queue = asked.queue "
             "COLLATE "
             "\"C\" LIMIT 1)) FROM unnest(?::text[], ?::text[]) AS asked (queue, key)";
    case PostgresQuery::lock_claims: return select_range("promises", Index::claim) + " FOR UPDATE SKIP LOCKED";
    case PostgresQuery::job_numbers: return "SELECT nextval('job_numbers') FROM generate_series(1, ?)";
    case PostgresQuery::load_deltas:
      return "SELECT newest.body, total.queue, total.sums FROM (SELECT queue, " + sums_of_deltas() + " AS sums FROM " + kDeltas +
             " GROUP BY queue) AS total, LATERAL " + newest_body("total.queue") + " AS newest";
    case PostgresQuery::delete_deltas: return "DELETE FROM " + std::string(kDeltas);
    case PostgresQuery::load_counters: return "SELECT " + counters_at_once() + " FROM counters ORDER BY version DESC LIMIT 1";
    // The order of the unblock leaves one index. The search for the first timer ends soon after the present: behind it are the
    // entries of leases whose jobs were completed, and which the server has to pass over one by one.
    case PostgresQuery::load_shared:
      return "SELECT " + counters_at_once() + ", " + due(", counters.due_until") +
             ", (SELECT seq FROM messages WHERE unblock_of IS NOT NULL AND (unblock_of, seq) > ('', 0) ORDER BY unblock_of, seq "
             "LIMIT 1), (SELECT count(*) FROM (SELECT FROM promises WHERE queue = ? AND enqueued_at IS NOT NULL AND (priority, "
             "enqueued_at, id) > (?, ?, '') ORDER BY priority, enqueued_at, id LIMIT ?) AS first), " +
             newest_body("?") + " FROM (SELECT *, " + kDueFrom + ", greatest(?, " + kClock +
             " + ?) AS due_until FROM counters ORDER BY version DESC LIMIT 1) AS counters" +
             join_first_due(" AND due_at < counters.due_until");
    case PostgresQuery::store_counters: return store_counters(false, "");
    case PostgresQuery::store_counters_if_known: return store_counters(false, if_known());
    case PostgresQuery::store_counters_and_drop: return store_counters(true, "");
    case PostgresQuery::store_counters_and_drop_if_known: return store_counters(true, if_known());
    case PostgresQuery::store_shared: return store_shared(false);
    case PostgresQuery::store_shared_and_delete: return store_shared(true);
    // Without the instant the table refuses the row. The columns that it does not need have names that a migration may change,
    // which keeps out processes of an earlier release.
    case PostgresQuery::store_created:
      return std::string(
                 "WITH forgotten AS (DELETE FROM writers WHERE id = ? AND batch = ?) INSERT INTO writers (id, batch, seen) VALUES "
                 "(?, ?, (SELECT ?::bigint FROM (SELECT ") +
             kCounterColumns + ", " + kDueFrom + " FROM counters ORDER BY version DESC LIMIT 1) AS counters" + join_first_due() +
             " WHERE version = ? AND NOT EXISTS (SELECT FROM inbox WHERE status IS NULL) AND NOT EXISTS (SELECT FROM writers AS w "
             "WHERE w.seen > ?) AND " +
             kClock + " <= ? AND coalesce(least(first.due_at, " + kScheduleDue +
             ") > ?, true))) RETURNING nextval('shared_commits'), pg_current_xact_id()::xid::text::bigint, " + kClock;
    case PostgresQuery::last_batch: return "SELECT batch FROM writers WHERE id = ? ORDER BY batch DESC LIMIT 1";
    case PostgresQuery::new_writer:
      return "WITH unused AS (DELETE FROM writers WHERE used_at < now() - interval '30 days' AND seen <= (SELECT seen FROM "
             "counters "
             "ORDER BY version DESC LIMIT 1)) SELECT nextval('writer_ids')";
    case PostgresQuery::lock_timeout: return "SELECT set_config('lock_timeout', ?, ?::boolean)";
    // Every statement finds its rows by an index, one by one, in its order. Statistics must not change that: those of a new table,
    // and of one with many versions that an open transaction keeps, would make the planner read all of it, or sort all jobs of a
    // queue. An error ends a statement, and not the session.
    case PostgresQuery::session:
      return "SELECT set_config(name, setting, ?::boolean) FROM (VALUES ('search_path', ?), ('enable_seqscan', 'off'), "
             "('enable_bitmapscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('enable_sort', 'off'), "
             "('enable_incremental_sort', 'off'), ('jit', 'off'), "
             "('plan_cache_mode', 'force_generic_plan'), ('exit_on_error', 'off')) AS chosen (name, setting)";
    case PostgresQuery::load_rows: return rows + "id = ANY (?::text[])";
    case PostgresQuery::load_queues:
      return "SELECT newest.body, wanted.name, " + sums_of("wanted.name") + " FROM unnest(?::text[]) AS wanted (name), LATERAL " +
             newest_body("wanted.name") + " AS newest";
    case PostgresQuery::load_schedules: return schedules + "id = ANY (?::text[])";
    case PostgresQuery::load_edges:
      return "SELECT " + list_of(kInsertedEdges, "found.") +
             " FROM unnest(?::bigint[], ?::text[], ?::text[]) AS u (kind, owner, "
             "other), LATERAL " +
             found_by("edges", "kind, owner, other", "u.kind, u.owner, u.other", ", seq, dialect, cancelled_with") + " AS found";
    case PostgresQuery::insert_rows: return insert_into("promises", kInserted, arrays);
    case PostgresQuery::update_rows: {
      const GivenRows given(kUpdatedById, arrays);
      return update_columns("promises", kUpdated, given) + given.from() + " WHERE " + is("p.id", given.last());
    }
    case PostgresQuery::delete_rows: return "DELETE FROM promises WHERE id = ANY (?::text[])";
    case PostgresQuery::count_rows: return "SELECT count(*) FROM promises";
    case PostgresQuery::first_due:
      return "SELECT " + due() + " FROM (SELECT " + kDueFrom + " FROM counters ORDER BY version DESC LIMIT 1) AS counters" +
             join_first_due();
    case PostgresQuery::queues: return "SELECT body, name, " + sums_of("queues.name") + " FROM queues ORDER BY name LIMIT ?";
    case PostgresQuery::insert_queues: return insert_into("queues", kQueueColumns, arrays);
    // By the places of the rows: the planner cannot choose to read all versions of a queue.
    case PostgresQuery::delete_queues:
      return "DELETE FROM queues WHERE ctid = ANY (ARRAY(SELECT (SELECT newest.ctid FROM queues AS newest WHERE newest.name = "
             "changed.name COLLATE \"C\" ORDER BY version DESC LIMIT 1) FROM unnest(?::text[]) AS changed (name)))";
    case PostgresQuery::hours: return "SELECT body FROM queue_hours WHERE queue = ? AND hour >= ? ORDER BY hour";
    case PostgresQuery::replace_hours:
      return insert_into("queue_hours", kHourColumns, arrays) + " ON CONFLICT (queue, hour) DO UPDATE SET body = excluded.body";
    case PostgresQuery::delete_hours:
      return "DELETE FROM queue_hours USING unnest(?::text[], ?::bigint[]) AS u (queue, kept_from) WHERE " +
             is("queue_hours.queue", "u.queue COLLATE \"C\"") + " AND queue_hours.hour < u.kept_from";
    case PostgresQuery::holders: return select_holders("promises");
    case PostgresQuery::replace_schedules: return replace_schedules(arrays);
    case PostgresQuery::delete_schedules: return "DELETE FROM schedules WHERE id = ANY (?::text[])";
    case PostgresQuery::schedules_by_id: return schedules + "id > ? ORDER BY id LIMIT ?";
    case PostgresQuery::schedules_by_due: return schedules + "due_at <= ? AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?";
    case PostgresQuery::schedules_set_aside: return schedules + "problem IS NOT NULL AND id > ? ORDER BY id LIMIT ?";
    case PostgresQuery::edges: return edges + "kind = ? AND owner = ? AND seq > ? ORDER BY seq LIMIT ?";
    case PostgresQuery::edges_cancelled_with: return edges + "cancelled_with = ? AND owner > ? ORDER BY owner LIMIT ?";
    case PostgresQuery::insert_edges: return insert_into("edges", kInsertedEdges, arrays);
    case PostgresQuery::delete_edges:
      return "DELETE FROM edges WHERE " + places_of("edges", "kind, owner, seq",
                                                    "unnest(?::bigint[], ?::text[], ?::bigint[]) AS u (kind, owner, seq)",
                                                    "u.kind, u.owner, u.seq");
    case PostgresQuery::messages: return messages + "seq > ? ORDER BY seq LIMIT ?";
    case PostgresQuery::messages_to: return messages + "(address, seq) > ($1, $2) AND address <= $1 ORDER BY address, seq LIMIT $3";
    case PostgresQuery::messages_to_prefix: return messages + "(address, seq) > (?, ?) ORDER BY address, seq LIMIT ?";
    case PostgresQuery::unblocks: return messages + "unblock_of IS NOT NULL AND seq > ? ORDER BY seq LIMIT ?";
    case PostgresQuery::unblocks_of:
      return messages +
             "unblock_of IS NOT NULL AND (unblock_of, seq) > ($1, $2) AND unblock_of <= $1 ORDER BY unblock_of, seq LIMIT $3";
    case PostgresQuery::load_messages: return messages + "seq = ANY (?::bigint[]) ORDER BY seq";
    case PostgresQuery::insert_messages: return insert_into("messages", kInsertedMessages, arrays);
    case PostgresQuery::lease_messages: {
      const GivenRows given(kLeases, arrays);
      return update_columns("messages", kLeaseColumns, given) + (given.from().empty() ? " FROM " : given.from() + ", ") +
             "LATERAL " + found_by("messages", "seq", given.last()) + " AS found WHERE p.ctid = found.place";
    }
    case PostgresQuery::waiting_submissions:
      return "SELECT number, CASE WHEN bytes <= ?::bigint THEN request END, bytes FROM (SELECT number, request, "
             "octet_length(request) AS bytes, sum(octet_length(request)) OVER (ORDER BY number) - octet_length(request) AS before "
             "FROM (SELECT number, request FROM inbox WHERE status IS NULL ORDER BY number LIMIT ?) AS waiting) AS weighed WHERE "
             "before < ?::bigint ORDER BY number";
    case PostgresQuery::refused_submissions:
      return "SELECT number, status, coalesce(left(error, 1000), '') FROM inbox WHERE status IS NOT NULL ORDER BY number LIMIT ?";
    case PostgresQuery::delete_submissions: return "DELETE FROM inbox WHERE number = ANY (?::bigint[])";
    case PostgresQuery::refuse_submissions:
      return "UPDATE inbox SET status = u.status, error = u.error, request = CASE WHEN u.status = 413 THEN left(request, 1000) "
             "ELSE request END FROM unnest(?::bigint[], ?::bigint[], ?::text[]) AS u (number, status, error) WHERE " +
             is("inbox.number", "u.number");
    case PostgresQuery::count: break;
  }
  return "";
}

}  // namespace

const PostgresStatement& postgres_statement(PostgresQuery which) {
  static const auto all = [] {
    std::array<PostgresStatement, static_cast<std::size_t>(PostgresQuery::count)> made;
    for (std::size_t at = 0; at < made.size(); ++at) {
      const auto query = static_cast<PostgresQuery>(at);
      if (columns_of(query).empty()) made[at] = {"s" + std::to_string(at), numbered(text_of(query, kEveryColumn))};
    }
    return made;
  }();
  const PostgresStatement& statement = all[static_cast<std::size_t>(which)];
  if (statement.text.empty()) throw std::logic_error("a statement that takes columns is one of writing_statement()");
  return statement;
}

// Each is planned on each connection, so there are few. Beyond them a statement with more arrays than are needed serves.
const WritingStatement& writing_statement(PostgresQuery which, ColumnSet differing) {
  constexpr std::size_t kMostShapes = 12;  // of a query
  struct Known {
    std::mutex mutex;
    std::array<std::map<ColumnSet, WritingStatement>, static_cast<std::size_t>(PostgresQuery::count)> of;
  };
  static Known* const known = new Known;  // never destroyed: a connection may outlive every static object
  const std::lock_guard lock(known->mutex);
  std::map<ColumnSet, WritingStatement>& shapes = known->of[static_cast<std::size_t>(which)];
  const auto make = [&](ColumnSet arrays) -> const WritingStatement& {
    const std::string name = "w" + std::to_string(static_cast<int>(which)) + "_" + std::to_string(arrays);
    return shapes.try_emplace(arrays, WritingStatement{{name, numbered(text_of(which, arrays))}, arrays}).first->second;
  };
  if (const auto same = shapes.find(differing); same != shapes.end()) return same->second;
  if (shapes.size() < kMostShapes) return make(differing);
  const WritingStatement* best = &make(kEveryColumn);
  for (const auto& [arrays, statement] : shapes)
    if ((differing & ~arrays) == 0 && std::popcount(arrays) < std::popcount(best->arrays)) best = &statement;
  return *best;
}

const PostgresStatement& postgres_range(Index index) {
  static const auto all = [] {
    std::array<PostgresStatement, kIndexes> made;
    for (std::size_t at = 0; at < made.size(); ++at) made[at] = {"r" + std::to_string(at), select_range(static_cast<Index>(at))};
    return made;
  }();
  return all[place_of(index)];
}

std::span<const SqlColumn> columns_of(PostgresQuery which) {
  switch (which) {
    case PostgresQuery::insert_rows: return kInserted;
    case PostgresQuery::update_rows: return kUpdatedById;
    case PostgresQuery::replace_schedules: return kScheduleColumns;
    case PostgresQuery::insert_edges: return kInsertedEdges;
    case PostgresQuery::insert_messages: return kInsertedMessages;
    case PostgresQuery::lease_messages: return kLeases;
    case PostgresQuery::insert_queues: return kQueueColumns;
    case PostgresQuery::replace_hours: return kHourColumns;
    default: return {};
  }
}

}  // namespace resonate
