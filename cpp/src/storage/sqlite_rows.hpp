// Rows to columns and back.
#pragma once

#include "resonate/records.hpp"
#include "resonate/storage.hpp"
#include "storage/sqlite_statements.hpp"

namespace resonate {

// The parameters of insert_row.
void bind_new(Use& use, const Row& row);
// Those of update_row and its forms, up to the id.
void bind_state(Use& use, const Row& row);
void bind_holder(Use& use, const Row& row);
void bind_due(Use& use, const Row& row);
// The job and its keys; its course is what may change from one step to the next.
void bind_job(Use& use, const Row& row);
void bind_job_course(Use& use, const Row& row);

// The group of an index by batch as its column has it.
std::string batch_column(std::string_view text, std::string_view type);

// The row that a statement over the columns of promises stands at, and so on.
RowRef read_row(SQLite::Statement& at);

void bind_schedule(Use& use, const Schedule& schedule);
ScheduleRef read_schedule(SQLite::Statement& at);

void bind_message(Use& use, const OutboxMessage& message);
MessageRef read_message(SQLite::Statement& at);

std::int64_t dialect_number(DialectId dialect) noexcept;
DialectId dialect_of_number(std::int64_t number);

}  // namespace resonate
