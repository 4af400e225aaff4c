// The tables of a store in PostgreSQL, and their versions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/postgres_connection.hpp"

namespace resonate {

// The statements that lead from each version to the next; the first makes version 1 in an empty schema.
const std::vector<std::vector<std::string>>& postgres_migrations();
inline std::int64_t postgres_schema_version() { return static_cast<std::int64_t>(postgres_migrations().size()); }
// The version of the tables; none if there are no tables. It reads them in a transaction of its own. Throws Error (storage): they
// are damaged. Throws PostgresError.
std::optional<std::int64_t> found_schema_version(PostgresConnection& connection, const PostgresAddress& address);

enum class TablesAccess : std::uint8_t { check, migrate, make };

// Makes the tables, or brings them to the newest version, as far as `access` permits. Several processes may do it at once. Throws
// Error (storage): the tables are of a newer release or of another program, or must be changed and may not. Throws PostgresError.
// Returns what a person must know about a migration; empty: nothing.
std::string prepare_postgres_schema(PostgresConnection& connection, const PostgresAddress& address, TablesAccess access);

}  // namespace resonate
