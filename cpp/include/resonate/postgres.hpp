// Storage in a PostgreSQL database (version 14 or newer), which any number of processes share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/clock.hpp"
#include "resonate/sqlite.hpp"
#include "resonate/storage.hpp"

namespace resonate {

class Watch;

struct PostgresOptions {
  Durability durability = Durability::full;  // normal: synchronous_commit = off
  bool read_only = false;
  Duration busy_timeout = 5000;               // how long a transaction waits for another one
  std::shared_ptr<DatabaseClock> clock = {};  // learns the server's time in each transaction; may be null
};

// Returns whether it names a database and not a file.
inline bool is_postgres_url(std::string_view path_or_url) noexcept {
  return path_or_url.starts_with("postgresql://") || path_or_url.starts_with("postgres://");
}

// Connects, and creates or migrates the tables. The URL is one of libpq's, with parameters of ours: `schema` (default
// resonate), `prepared` (default yes; no: for a pooler that does not keep prepared statements) and `listen` (default as `prepared`;
// yes, no, or HOST:PORT), and `writers` (default auto: transactions on few rows run beside those of other processes if there are
// some; shared: always; alone: never; optimistic: never, and all transactions first run on what is known). Error (invalid): the URL
// cannot be parsed.
// Error (storage): the database cannot be reached, or its tables are not ours. Error (unsupported): libpq is missing.
std::unique_ptr<Storage> open_postgres_storage(const std::string& url, const PostgresOptions& options);

// Wakes watches soon after commits of other processes, by a connection of its own that begins with the first watch. A store
// whose URL has listen=no, or has prepared=no and no listen, neither notifies nor listens: its processes find commits by polling.
class CommitNotices {
 public:
  virtual ~CommitNotices() = default;
  // With queues: the watch is that of a worker that claims from them. Then notices of messages and of jobs in other queues do not
  // wake it, and of many workers of a queue a job wakes a few at once and the others one after the other.
  virtual void wake(std::shared_ptr<Watch> watch, const std::vector<std::string>& queues) = 0;

 protected:
  CommitNotices() = default;
};
// Null: there are none. Errors as above.
std::shared_ptr<CommitNotices> listen_to_commits(const std::string& url);

// Opens the connections again that close_connections_for_fork() has closed and no call will open. Call it in the parent.
void resume_connections_after_fork() noexcept;

// Reads only. Errors as above.
SchemaVersions postgres_schema_versions(const std::string& url);

// The use of databases by all stores of this process, since its start.
struct DatabaseCounts {
  std::int64_t open_connections = 0;  // at present
  std::int64_t connections = 0;       // opened; a store that lost its connection opens another one
  std::int64_t round_trips = 0;
  std::int64_t lock_timeouts = 0;  // transactions that waited for another writer longer than the busy timeout
  std::int64_t lost_commits = 0;   // commits whose answer was lost, so that the server was asked for their outcome
  // How many processes wait for jobs of a queue of a worker of this process, with the workers of the largest queue, as last
  // counted.
  std::int64_t listening_workers = 0;
  std::int64_t shared_commits = 0;      // commits beside other writers
  std::int64_t run_again = 0;           // transactions beside others or without a look that began again, most of them alone
  std::int64_t optimistic_commits = 0;  // commits in one round trip, without a look before
};
DatabaseCounts database_counts() noexcept;

}  // namespace resonate
