#include "storage/postgres_schema.hpp"

#include <algorithm>
#include <sstream>

#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "storage/postgres_owners.hpp"

namespace resonate {

namespace {

// The names of the tables, indexes, sequences and functions that the migrations from this version on add.
std::vector<std::string> names_added_since(std::int64_t version) {
  std::vector<std::string> names;
  for (std::size_t next = static_cast<std::size_t>(version); next < postgres_migrations().size(); ++next)
    for (const std::string& statement : postgres_migrations()[next]) {
      std::istringstream words(statement);
      std::string word;
      if (!(words >> word) || word != "CREATE" || !(words >> word) || word == "OR") continue;  // OR REPLACE: one of ours
      for (; words && word != "TABLE" && word != "INDEX" && word != "SEQUENCE" && word != "FUNCTION"; words >> word) {
      }
      words >> word;
      names.push_back(word.substr(0, word.find('(')));
    }
  return names;
}

PostgresParameters schema_parameter(const PostgresAddress& address) {
  PostgresParameters schema;
  schema.text(address.schema);
  return schema;
}

// Another system may have tables in a schema of this name, or may have put some beside those of an older release.
void refuse_names_in_use(PostgresConnection& connection, const PostgresAddress& address, std::optional<std::int64_t> version) {
  static const PostgresStatement in_use{
      "names_in_use",
      "SELECT string_agg(found.name, ', ' ORDER BY found.name) FROM (SELECT relname::text AS name FROM pg_catalog.pg_class WHERE "
      "relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AND relname = ANY ($2::text[]) UNION SELECT "
      "typname::text FROM pg_catalog.pg_type WHERE typnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1) AND "
      "typname = ANY ($2::text[]) UNION SELECT proname::text FROM pg_catalog.pg_proc WHERE pronamespace = (SELECT oid FROM "
      "pg_catalog.pg_namespace WHERE nspname = $1) AND proname = ANY ($2::text[]) AND proargtypes = '3802'::oidvector) AS found"};
  const std::vector<std::string> added = names_added_since(version.value_or(0));
  const std::vector<std::string_view> names(added.begin(), added.end());
  const PostgresResult found = connection.run(in_use, schema_parameter(address).texts(names));
  if (!found.row(0).is_null(0))
    refuse_store(address,
                 "a store needs names that another program uses in the schema " + resonate::quoted(address.schema) + " (" +
                     found.row(0).text(0) + "), so nothing was changed: " +
                     (version ? "rename them, or move them to another schema" : "name another schema in the URL, as schema=NAME"));
}

// The migration that takes the right to submit from PUBLIC.
constexpr std::int64_t kSubmitOfNamedRoles = 7;

bool all_may_submit(PostgresConnection& connection) {
  static const PostgresStatement query{"all_submit",
                                       "SELECT coalesce(has_function_privilege('public', "
                                       "to_regprocedure('submit(jsonb)'), 'EXECUTE'), false)::integer"};
  return connection.run(query, PostgresParameters()).row(0).integer(0) != 0;
}

// Names the roles that could submit as everybody could, and now cannot.
std::string lost_right_to_submit(PostgresConnection& connection, const PostgresAddress& address) {
  static const PostgresStatement query{
      "lost_submit",
      "SELECT rolname::text, quote_ident(rolname)::text FROM pg_catalog.pg_roles WHERE NOT rolsuper AND rolname NOT LIKE 'pg\\_%' "
      "AND has_schema_privilege(oid, current_schema(), 'USAGE') AND NOT has_function_privilege(oid, 'submit(jsonb)', 'EXECUTE') "
      "ORDER BY rolname LIMIT 101"};
  const PostgresResult roles = connection.run(query, PostgresParameters());
  if (roles.rows() == 0) return {};
  constexpr int kMostNamed = 100;
  std::string names;
  std::string quoted_names;
  for (int at = 0; at < std::min(roles.rows(), kMostNamed); ++at) {
    names += (at ? ", " : "") + roles.row(at).text(0);
    quoted_names += (at ? ", " : "") + roles.row(at).text(1);
  }
  if (roles.rows() > kMostNamed) names += ", and more";
  return "store " + resonate::quoted(address.shown) +
         ": the migration took the right to submit requests from PUBLIC, so these roles lost it: " + names +
         ". A program that submits can do everything that the protocol can. For the roles that need it: GRANT EXECUTE ON "
         "FUNCTION " +
         address.quoted_schema() + ".submit(jsonb) TO " + quoted_names + ";";
}

// A role that may not create schemas may make the tables in one that exists.
void make_schema(PostgresConnection& connection, const PostgresAddress& address) {
  static const PostgresStatement exists{"has_schema", "SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1"};
  if (connection.run(exists, schema_parameter(address)).rows() == 0)
    connection.run(("CREATE SCHEMA IF NOT EXISTS " + address.quoted_schema()).c_str());
}

std::optional<std::int64_t> version_in_transaction(PostgresConnection& connection, const PostgresAddress& address) {
  require_owner_of_schema(connection, address);
  static const PostgresStatement exists{
      "exists",
      "SELECT (2 = (SELECT count(*) FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND (a.attname, a.atttypid) IN "
      "(('one', "
      "21), ('version', 20))))::integer FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE "
      "n.nspname = $1 AND c.relname = 'store_version'"};
  const PostgresResult table = connection.run(exists, schema_parameter(address));
  if (table.rows() == 0) return std::nullopt;
  if (table.row(0).integer(0) == 0) return std::nullopt;  // of another program: to make ours will refuse it
  require_own_objects(connection, address, names_added_since(0));
  const PostgresResult version = connection.run(("SELECT version FROM " + address.quoted_schema() + ".store_version").c_str());
  if (version.rows() != 1) refuse_store(address, "it is damaged: its schema has no version");
  return version.row(0).integer(0);
}

// Runs the body in a transaction, whose limits of time are lifted behind a pooler, too. The body commits it if it changes anything.
template <class Body>
auto in_transaction(PostgresConnection& connection, const PostgresStatement& begin, Body body) {
  connection.begin(begin);
  try {
    return body();
  } catch (...) {
    try {
      if (!connection.lost()) connection.run("ROLLBACK");
    } catch (const PostgresError&) {  // the cause is thrown
    }
    throw;
  }
}

}  // namespace

std::optional<std::int64_t> found_schema_version(PostgresConnection& connection, const PostgresAddress& address) {
  return in_transaction(connection, kBeginRead, [&] {
    const std::optional<std::int64_t> version = version_in_transaction(connection, address);
    connection.run(kCommit);
    return version;
  });
}

std::string prepare_postgres_schema(PostgresConnection& connection, const PostgresAddress& address, TablesAccess access) {
  const std::int64_t newest = postgres_schema_version();
  const auto require_known = [&](std::int64_t version) {
    if (version > newest)
      refuse_store(address, "its schema version must be at most " + std::to_string(newest) + ", got " + std::to_string(version) +
                                ": a newer release has written it");
  };
  std::optional<std::int64_t> version = found_schema_version(connection, address);
  if (version) require_known(*version);
  if (version == newest) return {};
  if (access == TablesAccess::check)
    refuse_store(address, version ? "a read-only store cannot migrate its tables: open it for writing once"
                                  : "it has no tables, and a read-only store creates none");
  if (!version && access == TablesAccess::migrate)
    refuse_store(address, "its tables are gone: the schema was dropped or renamed while the store was open. Open the store again");
  static const PostgresStatement lock{"migrate", "SELECT pg_advisory_xact_lock(hashtextextended('resonate_core ' || $1, 0))"};
  return in_transaction(connection, kBeginWrite, [&] {
    connection.run(lock, schema_parameter(address));
    version = version_in_transaction(connection, address);  // another process may have migrated it meanwhile
    if (version) require_known(*version);
    refuse_names_in_use(connection, address, version);
    if (!version) {
      make_schema(connection, address);
      require_owner_of_schema(connection, address);  // another role may have made it meanwhile
    }
    connection.run(("SET LOCAL search_path TO " + address.search_path()).c_str());
    // A schema that the role may not use is passed over: the tables would be temporary ones.
    if (const PostgresResult used = connection.run("SELECT current_schema()::text");
        used.row(0).is_null(0) || used.row(0).text(0) != address.schema)
      refuse_store(address, "permission denied for schema " + address.schema + ": the role needs USAGE and CREATE on it");
    const bool takes_right = version && *version < kSubmitOfNamedRoles && *version >= 2 && all_may_submit(connection);
    const std::string set_version = "UPDATE store_version SET version = " + std::to_string(newest);
    for (std::int64_t next = version.value_or(0); next < newest; ++next)
      for (const std::string& statement : postgres_migrations()[static_cast<std::size_t>(next)]) connection.send(statement.c_str());
    connection.send(set_version.c_str());
    (void)connection.run();
    std::string note = takes_right ? lost_right_to_submit(connection, address) : std::string();
    connection.run(kCommit);
    return note;
  });
}

}  // namespace resonate
