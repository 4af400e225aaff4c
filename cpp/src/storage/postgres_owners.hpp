// Which roles may own what a store in PostgreSQL works with: a view, a trigger or a default is code of its owner.
#pragma once

#include <string>
#include <vector>

#include "storage/postgres_connection.hpp"

namespace resonate {

// Refuses a schema of a role that the store has no reason to trust; to be called before anything of the schema is read. Throws
// Error (storage), PostgresError.
void require_owner_of_schema(PostgresConnection& connection, const PostgresAddress& address);

// Refuses an object that has the name of one of `ours` and is no table of a trusted role. Throws Error (storage), PostgresError.
void require_own_objects(PostgresConnection& connection, const PostgresAddress& address, const std::vector<std::string>& ours);

}  // namespace resonate
