// The SQL statements of a store in PostgreSQL.
#pragma once

#include <cstdint>
#include <span>

#include "resonate/index_keys.hpp"
#include "storage/postgres_connection.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

enum class PostgresQuery : std::uint8_t {
  lock,          // the transaction becomes the only writer
  lock_at_once,  // the same, unless another one is
  lock_shared,   // it keeps out the only writer, and no other one
  lock_shared_at_once,
  lock_rows,       // load_rows, locked in the order of their ids; jobs that can be claimed are not locked
  lock_written,    // the ids of such rows, locked, and the numbers of the transactions that wrote them
  queues_of_rows,  // load_queues of the queues with these names and of those of the jobs with these ids, without deltas
  lock_keys,       // no other transaction that shares looks at these unique keys, until this one ends
  count_holders,   // how many of these unique keys a job has
  lock_claims,     // the first jobs of a queue that can be claimed and that no other transaction has locked, locked
  job_numbers,     // numbers of new jobs, which no other transaction gets
  load_deltas,     // the queues that have deltas, with their sums
  delete_deltas,
  load_counters,  // with the server's instant, whether a submission waits, and the schema that the tables are found in
  // load_counters, first_due up to an instant soon after the present, an unblock if there is one, how many of the first jobs of a
  // queue there are, and the body of a queue
  load_shared,
  store_counters,
  store_counters_if_known,
  store_counters_and_drop,  // also messages
  store_counters_and_drop_if_known,
  store_shared,             // what store_counters does, beside other writers
  store_shared_and_delete,  // also rows, if these transactions have written them
  store_created,            // store_shared for rows that were created without a look, if nothing speaks against it
  last_batch,
  new_writer,
  lock_timeout,  // of the session or of this transaction
  session,       // search_path and settings of the planner
  load_rows,
  load_queues,  // with the sums of their deltas
  load_schedules,
  load_edges,
  insert_rows,
  update_rows,
  delete_rows,
  count_rows,
  first_due,
  queues,
  insert_queues,
  delete_queues,
  hours,
  replace_hours,
  delete_hours,
  holders,
  replace_schedules,
  delete_schedules,
  schedules_by_id,
  schedules_by_due,
  schedules_set_aside,
  edges,
  edges_cancelled_with,
  insert_edges,
  delete_edges,
  messages,
  messages_to,
  messages_to_prefix,  // addresses from the prefix on: the reader stops at the first address without the prefix
  unblocks,
  unblocks_of,
  load_messages,
  insert_messages,
  lease_messages,
  waiting_submissions,
  refused_submissions,
  delete_submissions,
  refuse_submissions,
  count  // of PostgresQuery
};

// A statement for which columns_of() is empty. For another one it throws std::logic_error: writing_statement() has it.
const PostgresStatement& postgres_statement(PostgresQuery which);
// A statement that takes the columns of columns_of() as arrays, as far as `arrays` has them, and the others as one value for all
// rows.
struct WritingStatement {
  PostgresStatement statement;
  ColumnSet arrays;
};
// Returns a statement whose `arrays` has all columns of `differing`, and perhaps others. The statement lives as long as the
// process.
const WritingStatement& writing_statement(PostgresQuery which, ColumnSet differing);
// The rows of a range of the index.
const PostgresStatement& postgres_range(Index index);
// The columns that a statement takes, in order: insert_rows, update_rows, replace_schedules, insert_edges,
// insert_messages, insert_queues, replace_hours.
std::span<const SqlColumn> columns_of(PostgresQuery which);

}  // namespace resonate
