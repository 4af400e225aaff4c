#include "storage/postgres_owners.hpp"

#include "machine/quoted.hpp"

namespace resonate {

namespace {

PostgresParameters names_of(const PostgresAddress& address) {
  PostgresParameters names;
  names.text(address.schema).text(address.owner);
  return names;
}

// The condition that the role `owner` may not own what a store works with: an owner can put code there that runs with the rights of
// the role that uses it. $2 is the role that the URL names. A superuser counts as a member of every role, so no membership counts
// for it; before version 15 a role could make any other its member.
std::string is_no_owner(const std::string& owner) {
  return owner +
         " NOT IN (SELECT r.oid FROM pg_catalog.pg_roles r, pg_catalog.pg_roles own WHERE own.rolname = current_user AND "
         "(r.rolsuper OR "
         "r.oid = own.oid OR r.rolname = 'pg_database_owner' OR r.rolname::text = $2 OR r.oid = (SELECT d.datdba FROM "
         "pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) OR (NOT own.rolsuper AND "
         "pg_catalog.current_setting('server_version_num')::integer >= 150000 AND pg_catalog.pg_has_role(r.oid, 'MEMBER'))))";
}

}  // namespace

void require_owner_of_schema(PostgresConnection& connection, const PostgresAddress& address) {
  static const PostgresStatement owner{"owner_of_schema",
                                       "SELECT pg_catalog.pg_get_userbyid(n.nspowner)::text FROM pg_catalog.pg_namespace n WHERE "
                                       "n.nspname = $1 AND " +
                                           is_no_owner("n.nspowner")};
  const PostgresResult found = connection.run(owner, names_of(address));
  if (found.rows() == 0) return;
  refuse_store(address,
               "the owner of the schema " + resonate::quoted(address.schema) +
                   " must be the role of the store, a role that it is a member of, the owner of the database or a superuser, "
                   "got " +
                   resonate::quoted(found.row(0).text(0)) +
                   ", which could run code with the rights of this store. Name another schema in the URL, as schema=NAME, or, if "
                   "you trust the role, name it, as owner=NAME");
}

void require_own_objects(PostgresConnection& connection, const PostgresAddress& address, const std::vector<std::string>& ours) {
  static const PostgresStatement others{
      "objects_of_others",
      "SELECT c.relname::text, c.relkind::text, pg_catalog.pg_get_userbyid(c.relowner)::text FROM pg_catalog.pg_class c JOIN "
      "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname::text = ANY ($3::text[]) AND "
      "c.relkind "
      "NOT IN ('i', 'I') AND (c.relkind <> CASE WHEN c.relname IN ('writer_ids', 'shared_commits', 'job_numbers') THEN "
      "'S'::\"char\" ELSE "
      "'r'::\"char\" END OR " +
          is_no_owner("c.relowner") + ") ORDER BY 1 LIMIT 1"};
  const std::vector<std::string_view> names(ours.begin(), ours.end());
  const PostgresResult found = connection.run(others, names_of(address).texts(names));
  if (found.rows() == 0) return;
  const std::string name = address.schema + "." + found.row(0).text(0);
  if (const std::string kind = found.row(0).text(1); kind != "r" && kind != "S")
    refuse_store(address, name + " must be a table of a store, got another object in its place, of the kind " +
                              resonate::quoted(kind) + " (pg_class.relkind)");
  refuse_store(
      address,
      "the owner of " + name + " must be one that the schema may have, got " + resonate::quoted(found.row(0).text(2)) +
          ", which could run code with the rights of this store. If you trust the role, name it in the URL, as owner=NAME");
}

}  // namespace resonate
