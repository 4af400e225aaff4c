// PostgresConnection without the limits of time that a role, a database or a URL sets.
//
// They are lifted by statements, since a pooler refuses connections that set them in their first packet. Until then they hold.
#include <array>

#include "storage/libpq.hpp"
#include "storage/postgres_connection.hpp"

namespace resonate {

namespace {

struct SessionLimit {
  int since;  // the version of the server that has it
  const char* of_session;
  const char* of_transaction;
};

// First those that hold for these statements themselves. SET needs no catalogue, which a new session would have to read first.
constexpr std::array<SessionLimit, 5> kLimits = {{
    {0, "SET statement_timeout = 0", "SET LOCAL statement_timeout = 0"},
    {170000, "SET transaction_timeout = 0", "SET LOCAL transaction_timeout = 0"},
    {0, "SET idle_session_timeout = 0", nullptr},  // not within a transaction
    {0, "SET idle_in_transaction_session_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0"},
    {0, "SET lock_timeout = 0", "SET LOCAL lock_timeout = 0"},
}};

}  // namespace

void PostgresConnection::send_no_limits(Scope scope) {
  const int version = libpq().PQserverVersion(connection_);
  for (const SessionLimit& limit : kLimits) {
    const char* const lifted = scope == Scope::session ? limit.of_session : limit.of_transaction;
    if (lifted && version >= limit.since) send(lifted);
  }
}

void PostgresConnection::lift_limits(const PostgresAddress& address) {
  for (int left = kTriesWithinLimits;; --left) {
    try {
      send_no_limits(Scope::session);
      (void)run();
      return;
    } catch (const PostgresError& error) {
      // A session that was ended says why only if the message was read before the end: a pooler may have ended it as well.
      if (left == 1 || !(lost() || error.by_limit())) throw;
      if (lost()) {
        abandon();
        connect(address);
      }
    }
  }
}

void PostgresConnection::send_begin(const PostgresStatement& begin) {
  send(begin);
  if (prepares_) return;
  send_no_limits(Scope::transaction);
  send("SET LOCAL search_path TO pg_catalog, pg_temp");  // until the store sets its own: the pooler's may be of another client
}

void PostgresConnection::begin(const PostgresStatement& begin) {
  for (int left = kTriesWithinLimits;; --left) {
    try {
      send_begin(begin);
      (void)run();
      return;
    } catch (const PostgresError& error) {
      if (left == 1 || lost() || !error.by_limit()) throw;
      run("ROLLBACK");
    }
  }
}

}  // namespace resonate
