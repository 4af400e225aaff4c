// PostgresConnection: one connection to a database. It sends statements in pipelines, one round trip each, and can be interrupted
// while it waits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "resonate/instant.hpp"
#include "storage/postgres_values.hpp"

namespace resonate {

// The SQLSTATE of an attempt to connect that took too long.
inline constexpr const char* kNoAnswer = "08001";

// An error that the server reported, or a failure of the connection to it.
class PostgresError : public std::runtime_error {
 public:
  PostgresError(std::string state, const std::string& message) : std::runtime_error(message), state_(std::move(state)) {}
  // The SQLSTATE; empty if the connection failed.
  const std::string& state() const noexcept { return state_; }
  bool is(std::string_view state) const noexcept { return state_ == state; }
  // Whether others are the reason that it could not be locked: deadlock_detected, out_of_memory (of the server's table of locks).
  bool by_others() const noexcept { return is("40P01") || is("53200"); }
  // Whether a limit of time has ended the statement (query_canceled) or the session (transaction_timeout, and those that stand
  // idle).
  bool by_limit() const noexcept { return is("57014") || is("25P04") || is("25P03") || is("57P05"); }

 private:
  std::string state_;
};

// A statement; it is prepared on each connection at its first use.
struct PostgresStatement {
  std::string name;
  std::string text;  // parameters are $1, $2, ...
};

// Begins a transaction that writes. Each of its statements must see the last commit, whatever level the role or the database begins
// with: after the wait for the writer before it, the snapshot of a whole transaction is outdated.
inline const PostgresStatement kBeginWrite{"begin_write", "BEGIN ISOLATION LEVEL READ COMMITTED"};

// Begins a transaction that reads what others write meanwhile as of one instant.
inline const PostgresStatement kBeginRead{"begin_read", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};

inline const PostgresStatement kCommit{"COMMIT", "COMMIT"};

// How often something is tried that a limit of time of the role can end before it is lifted. A limit of 1 ms, the least that there
// is, ends one try in some hundred.
inline constexpr int kTriesWithinLimits = 10;

// The channel of NOTIFY after commits; see CommitNotice.
inline constexpr const char* kCommitChannel = "resonate_core";

// A URL of libpq, without the parameters that are ours.
struct PostgresAddress {
  std::string url;   // for libpq
  std::string host;  // instead of the URL's, if not empty
  std::string port;
  std::string schema;  // the tables' schema
  std::string owner;   // a role that may own the schema and the tables, beside those that may in any case; empty: none
  bool prepared = true;
  bool listens = true;  // whether processes notify each other of commits
  enum class Writers : std::uint8_t { automatic, shared, alone, optimistic };
  // Whether transactions on few rows run beside those of others, or else on what the process knows: as others write or do not.
  Writers writers = Writers::automatic;
  std::string listen_host;  // a server to listen at, past a pooler; empty: that of the URL
  std::string listen_port;
  Duration connect_timeout = 10'000;
  std::string shown;  // without passwords, for messages

  // The schema as a name in SQL: it may be a reserved word, or begin with a digit.
  std::string quoted_schema() const;
  // Where its tables are found. pg_catalog is searched first, as it is not named. pg_temp is last: unless it is named, temporary
  // tables and types are found before all others, and behind a pooler they may be of another client.
  std::string search_path() const;
  // The address to listen at.
  PostgresAddress of_listener() const;

  // Error (invalid) names what is wrong.
  static PostgresAddress parse(const std::string& url);
};

// Refuses to open a store: Error (storage), which names it.
[[noreturn]] void refuse_store(const PostgresAddress& address, const std::string& why);

// As DatabaseCounts, for all connections of this process.
struct ConnectionCounts {
  std::atomic<std::int64_t> open_connections = 0;
  std::atomic<std::int64_t> connections = 0;
  std::atomic<std::int64_t> round_trips = 0;
  std::atomic<std::int64_t> lock_timeouts = 0;
  std::atomic<std::int64_t> lost_commits = 0;
  std::atomic<std::int64_t> listening_workers = 0;
  std::atomic<std::int64_t> shared_commits = 0;
  std::atomic<std::int64_t> run_again = 0;
  std::atomic<std::int64_t> optimistic_commits = 0;
};
inline ConnectionCounts connection_counts;

class PostgresConnection {
 public:
  // Waits for the server as long as connect_timeout says, or until another thread sets `given_up`. Throws PostgresError. The limits
  // of time of the role, the database and the URL are for people, since a store has its own, busy_timeout: none of them applies to
  // the connection, or behind a pooler to its transactions.
  explicit PostgresConnection(const PostgresAddress& address, const std::atomic<bool>* given_up = nullptr);
  ~PostgresConnection();
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;

  // Adds a statement to the next round trip, and returns the place of its result. The statement must exist until then.
  std::size_t send(const PostgresStatement& statement, const PostgresParameters& parameters = {});
  // Adds a statement without parameters, which is not prepared.
  std::size_t send(const char* text);
  // Passes to the server what send() has added, so that it runs that while the program prepares the rest of the round trip.
  void push();
  // Adds the begin of a transaction to the next round trip, and behind a pooler statements that lift the limits of time for it: so
  // few that only a limit of a few ms can end them.
  void send_begin(const PostgresStatement& begin);
  // Begins a transaction in a round trip of its own, and tries it again if a limit of time has ended that.
  void begin(const PostgresStatement& begin);
  // Sends a statement at once and does not wait for its result. The next run() discards it, or behind a pooler the next send().
  void post(const char* text);
  // Sends what was added, and returns the results in order. Throws PostgresError for the first statement that failed; the
  // statements after it were not run. An interrupt closes the connection.
  std::vector<PostgresResult> run();
  // One statement, one round trip.
  PostgresResult run(const PostgresStatement& statement, const PostgresParameters& parameters = {});
  PostgresResult run(const char* text);

  // For LISTEN: the descriptor that has input when notices arrive.
  int socket() const;
  // Reads the payloads of the notices that have arrived from other processes.
  std::vector<std::string> take_notices();
  // The server's process of this connection.
  int backend() const noexcept { return backend_; }

  // Whether the server has closed the connection, as the network says now.
  bool closed_by_server() const;
  // Whether the connection was lost, or closed by an interrupt.
  bool lost() const;

 private:
  struct Sent {
    const PostgresStatement* prepares = nullptr;  // the statement that this command prepares
  };
  void connect(const PostgresAddress& address);
  enum class Scope : std::uint8_t { session, transaction };
  void send_no_limits(Scope scope);
  void lift_limits(const PostgresAddress& address);
  void wait(bool for_writing, Duration& left, bool connecting);
  PGresult* next();
  void begin_pipeline();
  bool ends_pipeline();
  void discard_posted();
  void abandon() noexcept;
  [[noreturn]] void give_up();

  PGconn* connection_ = nullptr;
  const std::atomic<bool>* given_up_;
  bool prepares_ = true;
  std::vector<Sent> sent_;
  std::size_t results_ = 0;  // of sent_
  int backend_ = 0;          // the server's process
  int posted_ = 0;           // statements whose results were not read
  std::vector<const PostgresStatement*> prepared_;
};

}  // namespace resonate
