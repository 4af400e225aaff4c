// Checks a store's file below the level of rows: log, pages, schema, and columns that cannot be decoded.
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "codec/jobs_json.hpp"
#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "storage/row_columns.hpp"
#include "storage/sqlite_file.hpp"
#include "storage/sqlite_schema.hpp"
#include "storage/sqlite_statements.hpp"
#include "storage/sqlite_wal.hpp"

namespace resonate {

namespace {

// Other tables belong to the application that has its file with the store.
void compare_schemas(SQLite::Database& database, std::vector<std::string>& problems) {
  std::map<std::string, const SqliteObject*> expected;
  for (const SqliteObject& object : sqlite_schema()) expected[object.name] = &object;
  std::map<std::string, const SqliteObject*> allowed = expected;
  for (const SqliteObject& object : sqlite_optional_objects()) allowed[object.name] = &object;
  std::set<std::string> found;
  for (const SqliteObject& object : sqlite_objects(database)) {
    found.insert(object.name);
    if (const auto ours = allowed.find(object.name); ours == allowed.end()) {
      if (expected.contains(object.table)) problems.push_back("schema: " + object.name + " does not belong to a store");
    } else if (ours->second->sql != object.sql) {
      problems.push_back("schema: " + object.name + " differs from this version's schema");
    }
  }
  for (const auto& [name, object] : expected)
    if (!found.contains(name)) problems.push_back("schema: " + name + " is missing");
}

// The most rows that are reported; SQLite's integrity_check also reports at most 100 problems.
constexpr std::size_t kMostRows = 100;

// Reports each row of a table that read(row) cannot decode, with the error that a user of the store would get. The first column
// names the row.
template <class Read>
void read_each(Query& rows, const std::string& table, Read read, std::vector<std::string>& problems) {
  for (std::size_t named = 0; named < kMostRows && rows.step();) {
    try {
      read();
    } catch (const Error& error) {
      ++named;
      problems.push_back("rows: " + table + " " + resonate::quoted(rows.row().bytes(0)) + ": " + error.what());
    }
  }
}

void check_rows(SQLite::Database& database, std::vector<std::string>& problems) {
  SqliteStatements statements(database);
  constexpr std::int64_t kAll = -1;
  const auto each = [&](Query& rows, const std::string& table, auto read) { read_each(rows, table, read, problems); };
  {
    const RowRange all;
    Query rows(statements.range(Index::id));
    bind_range(rows, all);
    each(rows, "promise", [&] { (void)read_row(rows.row()); });
  }
  {
    Query rows(statements[Sql::schedules_by_id]);
    rows.copied(std::string_view()).integer(kAll);
    each(rows, "schedule", [&] { (void)read_schedule(rows.row()); });
  }
  {
    Query rows(statements[Sql::messages]);
    rows.integer(0).integer(kAll);
    each(rows, "message", [&] { (void)read_message(rows.row()); });
  }
  SQLite::Statement of_queues(database, "SELECT name, body FROM resonate_queues");
  Query queues(of_queues);
  each(queues, "queue", [&] { (void)queue_of_json(queues.text_at(1)); });
  SQLite::Statement of_hours(database, "SELECT queue, body FROM resonate_queue_hours");
  Query hours(of_hours);
  each(hours, "queue_hour", [&] { (void)hour_of_json(hours.text_at(0), hours.text_at(1)); });
  SQLite::Statement of_edges(database, "SELECT owner, other, dialect FROM resonate_edges");
  Query edges(of_edges);
  each(edges, "edge of", [&] {
    (void)edges.text_at(0);
    (void)edges.text_at(1);
    (void)dialect_of_number(edges.integer_at(2));
  });
}

}  // namespace

std::vector<std::string> check_sqlite_file(const std::string& given) {
  const std::string path = real_path(given);
  std::vector<std::string> problems;
  const std::optional<std::string> lost = commits_lost_in_log(path);
  if (lost) problems.push_back(*lost);
  std::unique_ptr<SqliteFile> file;
  try {
    file = SqliteFile::open(path, {.durability = Durability::full, .read_only = true});
  } catch (const Error& error) {
    if (!lost || error.code() != ErrorCode::storage) throw;
    problems.push_back(std::string("schema: ") + error.what());  // the commits that made it may be among the lost ones
    return problems;
  }
  try {
    SQLite::Statement integrity(file->database(), "PRAGMA integrity_check");
    while (integrity.executeStep())
      if (std::string said = integrity.getColumn(0).getString(); said != "ok") problems.push_back("integrity: " + said);
    compare_schemas(file->database(), problems);
    // Reads the rows only if pages and schema are sound: otherwise every finding would be a guess.
    if (problems.size() == (lost ? 1u : 0u)) check_rows(file->database(), problems);
  } catch (const SQLite::Exception& error) {
    file->throw_interrupt();
    problems.push_back(std::string("integrity: ") + error.getErrorStr());
  }
  return problems;
}

}  // namespace resonate
