// Compiled instead of the storage in PostgreSQL if the build has not found libpq's header: every open is refused.
#include "resonate/errors.hpp"
#include "resonate/postgres.hpp"

namespace resonate {

namespace {

[[noreturn]] void refuse() {
  throw Error(
      ErrorCode::unsupported,
      "this build of resonate_core has no PostgreSQL: the header libpq-fe.h was missing (Debian: libpq-dev); install it and "
      "build the package again");
}

}  // namespace

std::unique_ptr<Storage> open_postgres_storage(const std::string&, const PostgresOptions&) { refuse(); }

std::shared_ptr<CommitNotices> listen_to_commits(const std::string&) { refuse(); }

SchemaVersions postgres_schema_versions(const std::string&) { refuse(); }

DatabaseCounts database_counts() noexcept { return {}; }

}  // namespace resonate
