// Converts records to columns and back.
#pragma once

#include "resonate/records.hpp"
#include "resonate/storage.hpp"
#include "storage/sqlite_statements.hpp"

namespace resonate {

// Binds the parameters of insert_row.
void bind_new(Use& use, const Row& row);
// Binds the parameters of update_row and its variants, up to the id.
void bind_state(Use& use, const Row& row);
void bind_holder(Use& use, const Row& row);
void bind_due(Use& use, const Row& row);
// Binds the job's columns and index keys. The course is the part of a job that steps can change.
void bind_job(Use& use, const Row& row);
void bind_job_course(Use& use, const Row& row);

// The text that the batch_key column stores for a group.
std::string batch_column(std::string_view text, std::string_view type);

// Each reads a record from the present row of a statement.
RowRef read_row(SQLite::Statement& at);

void bind_schedule(Use& use, const Schedule& schedule);
ScheduleRef read_schedule(SQLite::Statement& at);

void bind_message(Use& use, const OutboxMessage& message);
MessageRef read_message(SQLite::Statement& at);

std::int64_t dialect_number(DialectId dialect) noexcept;
DialectId dialect_of_number(std::int64_t number);

}  // namespace resonate
