// What is wrong with a store's file below the level of rows.
#include <map>

#include "resonate/errors.hpp"
#include "storage/sqlite_file.hpp"
#include "storage/sqlite_schema.hpp"

namespace resonate {

namespace {

// What a schema consists of, by name: tables and indexes with the SQL that made them.
std::map<std::string, std::string> schema_of(SQLite::Database& database) {
  std::map<std::string, std::string> found;
  SQLite::Statement rows(database, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL");
  while (rows.executeStep()) found[rows.getColumn(0).getString()] = rows.getColumn(1).getString();
  return found;
}

std::map<std::string, std::string> expected_schema() {
  SQLite::Database scratch(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  for (const char* migration : sqlite_migrations()) scratch.exec(migration);
  return schema_of(scratch);
}

void compare_schemas(SQLite::Database& database, std::vector<std::string>& problems) {
  const auto expected = expected_schema();
  const auto found = schema_of(database);
  for (const auto& [name, sql] : expected) {
    const auto at = found.find(name);
    if (at == found.end()) {
      problems.push_back("schema: " + name + " is missing");
    } else if (at->second != sql) {
      problems.push_back("schema: " + name + " is not as this version makes it");
    }
  }
  for (const auto& [name, sql] : found)
    if (!expected.contains(name)) problems.push_back("schema: " + name + " is not of a store");
}

}  // namespace

std::vector<std::string> check_sqlite_file(const std::string& path) {
  std::vector<std::string> problems;
  const auto file = SqliteFile::open(path, {.durability = Durability::full, .read_only = true});
  try {
    SQLite::Statement integrity(file->database(), "PRAGMA integrity_check");
    while (integrity.executeStep())
      if (std::string said = integrity.getColumn(0).getString(); said != "ok") problems.push_back("integrity: " + said);
    compare_schemas(file->database(), problems);
  } catch (const SQLite::Exception& error) {
    file->throw_interrupt();
    problems.push_back(std::string("integrity: ") + error.getErrorStr());
  }
  return problems;
}

}  // namespace resonate
