// Converts records to columns and back.
#pragma once

#include "resonate/records.hpp"
#include "resonate/storage.hpp"
#include "storage/sqlite_statements.hpp"

namespace resonate {

// Returns whether the change moves the row in the index.
template <Index index>
bool moves(const Row& before, const Row& after) {
  return index_key<index>(before) != index_key<index>(after);
}

// Binds the parameters of insert_row.
void bind_new(Query& query, const Row& row);
// Binds the parameters of update_row and its variants, up to the id.
void bind_state(Query& query, const Row& row);
void bind_holder(Query& query, const Row& row);
void bind_due(Query& query, const Row& row);
// Binds the job's columns and index keys. The course is the part of a job that steps can change.
void bind_job(Query& query, const Row& row);
void bind_job_progress(Query& query, const Row& row);
// Returns whether an update of the course is enough for a change of a job.
bool changes_course_alone(const Row& before, const Row& after);

// Binds the parameters of a statement over a range of an index.
void bind_range(Query& query, const RowRange& range);

// Each reads a record from the present row of a statement.
RowRef read_row(SQLite::Statement& at);

void bind_schedule(Query& query, const Schedule& schedule);
ScheduleRef read_schedule(SQLite::Statement& at);

void bind_message(Query& query, const OutboxMessage& message);
MessageRef read_message(SQLite::Statement& at);

std::int64_t dialect_number(DialectId dialect) noexcept;
DialectId dialect_of_number(std::int64_t number);

}  // namespace resonate
