// The tables of a store's file, by schema version.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace resonate {

// The value of `PRAGMA application_id` that marks a file that a store has made: "Rsnt".
inline constexpr std::int64_t kSqliteApplicationId = 0x52736e74;
// The first version that is in a table of the store. Earlier ones are in `PRAGMA user_version`, of files that a store has made.
inline constexpr std::int64_t kVersionInTable = 6;

// A table or an index, with the table that it belongs to and the SQL that made it.
struct SqliteObject {
  std::string name;
  std::string table;
  std::string sql;
  std::string type;  // as SQLite names it: table, index, view, trigger
};
// Whether two objects of one name have the same kind and the same rules.
bool is_same(const SqliteObject& one, const SqliteObject& other);
// Whether an index computes something: an expression, or whether a row belongs to it.
bool computes(SQLite::Database& database, const SqliteObject& index);
std::vector<SqliteObject> sqlite_objects(SQLite::Database& database);

// sqlite_migrations()[v] migrates schema v to v + 1, in a file that a store has made; version 0 is an empty file.
std::span<const char* const> sqlite_migrations() noexcept;
inline std::int64_t sqlite_schema_version() noexcept { return static_cast<std::int64_t>(sqlite_migrations().size()); }
// The objects of the newest schema, and the SQL that makes them in a file that may hold other tables.
const std::vector<SqliteObject>& sqlite_schema();
const std::string& sqlite_creation();
// The indexes that a store has once a view asked for them (Storage::index_newest), and the SQL that makes them.
const std::vector<SqliteObject>& sqlite_optional_objects();
const char* sqlite_newest_indexes() noexcept;

}  // namespace resonate
