// The upkeep of the tables of a PostgresStorage: VACUUM, and the indexes of the dashboard.
#include "storage/postgres_storage.hpp"

namespace resonate {

void PostgresStorage::vacuum() {
  require_writable();
  guarded("vacuum", [&] {
    if (!connection_) connect();
    try {
      for (const char* table :
           {"promises", "schedules", "edges", "messages", "queues", "queue_hours", "queue_deltas", "counters", "writers", "inbox"})
        connection_->run(("VACUUM ANALYZE " + address_.quoted_schema() + "." + table).c_str());
    } catch (const PostgresError& error) {
      if (address_.prepared || !error.by_limit()) throw;
      // VACUUM runs in no transaction of ours, and the pooler gives each statement outside of one another session.
      throw PostgresError(error.state(), std::string(error.what()) +
                                             " (behind a pooler the limits of the role apply to VACUUM: name "
                                             "the server itself in the URL)");
    }
  });
}

void PostgresStorage::index_newest() {
  require_writable();
  guarded("index", [&] {
    if (!connection_) connect();
    const std::string promises = " ON " + address_.quoted_schema() + ".promises ";
    connection_->begin(kBeginWrite);
    in_transaction_ = true;
    try {
      if (!address_.prepared) send_settings(Scope::transaction);
      // Only the owner of the tables may say that an index is to be there, even if it is.
      static const PostgresStatement made{
          "newest_made",
          "SELECT count(*) FROM pg_catalog.pg_class WHERE relname IN ('newest_jobs', 'newest_roots') "
          "AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = $1)"};
      const std::size_t found = connection_->send(made, PostgresParameters().text(address_.schema));
      if (connection_->run()[found].row(0).integer(0) < 2) {
        connection_->send(
            ("CREATE INDEX IF NOT EXISTS newest_jobs" + promises + "(queue, created_at, id) WHERE queue IS NOT NULL").c_str());
        connection_->send(("CREATE INDEX IF NOT EXISTS newest_roots" + promises +
                           "(created_at, id) WHERE queue IS NULL AND (origin IS NULL OR origin = id)")
                              .c_str());
      }
      connection_->send(kCommit);
      (void)connection_->run();
      in_transaction_ = false;
    } catch (...) {
      end();
      throw;
    }
  });
}

}  // namespace resonate
