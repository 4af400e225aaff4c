#include "storage/postgres_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "codec/hosts_in_url.hpp"
#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "resonate/interruption.hpp"

namespace resonate {

namespace {

constexpr int kInterruptCheck = 50;  // ms between two looks whether the caller wants to stop

// A message on one line.
std::string trimmed(const char* message) {
  std::string text;
  for (const char* at = message ? message : ""; *at; ++at) {
    const char c = *at == '\n' || *at == '\t' ? ' ' : *at;
    if (c != ' ' || (!text.empty() && text.back() != ' ')) text.push_back(c);
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// A text of libpq about a URL without what it quotes of the URL's user, password and values of parameters.
std::string without_secrets(const std::string& text, const std::string& url) {
  const std::size_t user = url.find("://");
  const std::size_t host = url.rfind('@');
  const std::string secret = user < host && host != std::string::npos ? url.substr(user, host - user) : std::string();
  const auto is_secret = [&](const std::string& quoted) {
    return quoted.find('@') != std::string::npos || secret.find(quoted) != std::string::npos ||
           url.find("=" + quoted) != std::string::npos;
  };
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t quote = std::min(text.find('"', at), text.size());
    const std::size_t end = std::min(text.find('"', quote + 1), text.size());
    kept.append(text, at, quote - at);
    if (quote == text.size()) break;
    const std::string quoted = text.substr(quote + 1, end - quote - 1);
    kept += is_secret(quoted) ? "\"...\"" : resonate::quoted(quoted);
    at = end + 1;
  }
  return kept;
}

[[noreturn]] void refuse_url(const std::string& why) {
  throw Error(ErrorCode::invalid, "path_or_url must be a URL that PostgreSQL's client accepts: " + why);
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned char byte = 0;
    const char* const digits = text.data() + at + 1;
    if (text[at] == '%' && at + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain += static_cast<char>(byte);
      at += 2;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// Takes a parameter out of the query of a URL.
std::optional<std::string> take_parameter(std::string& url, const std::string& name) {
  std::optional<std::string> value;
  std::size_t at = url.find('?');
  while (at != std::string::npos && at + 1 < url.size()) {
    const std::size_t begin = at + 1;
    const std::size_t end = std::min(url.find('&', begin), url.size());
    const std::string_view one(url.data() + begin, end - begin);
    if (one.substr(0, one.find('=')) == name && one.find('=') != std::string_view::npos) {
      value = without_escapes(one.substr(name.size() + 1));
      url.erase(begin, end < url.size() ? end + 1 - begin : end - begin);
      continue;
    }
    at = end < url.size() ? end : std::string::npos;
  }
  if (!url.empty() && (url.back() == '?' || url.back() == '&')) url.pop_back();
  return value;
}

// The server's processes of this process's connections: their notices are our own.
struct OwnBackends {
  std::mutex mutex;
  std::multiset<int> pids;
};
OwnBackends& own_backends() {
  static OwnBackends* const all = new OwnBackends;  // never destroyed: a connection may outlive every static object
  return *all;
}

// Sets where to listen: yes, no, or HOST:PORT.
void parse_listen(PostgresAddress& address, const std::string& listen) {
  address.listens = listen != "no";
  if (listen == "no" || listen == "yes") return;
  const std::size_t colon = listen.rfind(':');
  const bool has_port = colon != std::string::npos && colon + 1 < listen.size() &&
                        listen.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  std::string host = listen.substr(0, has_port ? colon : 0);
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const bool is_ipv6 = host.find(':') != std::string::npos;
  if (host.empty() || in_brackets != is_ipv6 || host.find_first_of("[]") != std::string::npos)
    refuse_url(
        "listen must be yes, no or HOST:PORT, got " + resonate::quoted(listen) +
        (listen.find(':') != colon || listen.starts_with('[') ? ": write an address of IPv6 in brackets, as [::1]:5432" : ""));
  address.listen_host = host;
  address.listen_port = listen.substr(colon + 1);
}

}  // namespace

PostgresAddress PostgresAddress::parse(const std::string& url) {
  PostgresAddress address;
  address.url = url;
  address.schema = take_parameter(address.url, "schema").value_or("resonate");
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (address.schema.empty() || address.schema.size() > 63 || !std::all_of(address.schema.begin(), address.schema.end(), plain))
    refuse_url("schema must be 1 to 63 of a-z, 0-9 and _, got " + resonate::quoted(address.schema));
  if (address.schema.starts_with("pg_") || address.schema == "information_schema")
    refuse_url("schema must not begin with pg_ or be information_schema, which are PostgreSQL's own, got " +
               resonate::quoted(address.schema));
  address.owner = take_parameter(address.url, "owner").value_or("");
  const std::string prepared = take_parameter(address.url, "prepared").value_or("yes");
  if (prepared != "yes" && prepared != "no") refuse_url("prepared must be yes or no, got " + resonate::quoted(prepared));
  address.prepared = prepared == "yes";
  parse_listen(address, take_parameter(address.url, "listen").value_or(prepared));
  const std::string writers = take_parameter(address.url, "writers").value_or("auto");
  if (writers == "shared") {
    address.writers = Writers::shared;
  } else if (writers == "alone") {
    address.writers = Writers::alone;
  } else if (writers == "optimistic") {
    address.writers = Writers::optimistic;
  } else if (writers != "auto") {
    refuse_url("writers must be auto, shared, alone or optimistic, got " + resonate::quoted(writers));
  }

  char* problem = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      libpq().PQconninfoParse(address.url.c_str(), &problem), libpq().PQconninfoFree);
  if (!options) {
    const std::string why = without_secrets(trimmed(problem), address.url);
    libpq().PQfreemem(problem);
    refuse_url(why);
  }
  std::string host;
  std::string port;
  std::string database;
  const char* timeout = std::getenv("PGCONNECT_TIMEOUT");
  for (const PQconninfoOption* one = options.get(); one->keyword; ++one) {
    const std::string_view keyword(one->keyword);
    if (!one->val) continue;
    if (keyword == "host" || (keyword == "hostaddr" && host.empty())) host = one->val;
    if (keyword == "port") port = one->val;
    if (keyword == "dbname") database = one->val;
    if (keyword == "connect_timeout") timeout = one->val;
  }
  if (timeout) {
    const std::string_view digits(timeout);
    int seconds = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
    if (error != std::errc() || end != digits.data() + digits.size() || seconds < 1)
      refuse_url("connect_timeout must be a number of seconds, at least 1, got " + resonate::quoted(digits));
    address.connect_timeout = Duration{1000} * seconds;
  }
  address.shown = "postgresql://" + hosts_in_url(host, port) + "/" + database + "?schema=" + address.schema;
  return address;
}

void refuse_store(const PostgresAddress& address, const std::string& why) {
  throw Error(ErrorCode::storage, "store " + resonate::quoted(address.shown) + ": " + why);
}

std::string PostgresAddress::quoted_schema() const { return '"' + schema + '"'; }

std::string PostgresAddress::search_path() const { return quoted_schema() + ", pg_temp"; }

PostgresAddress PostgresAddress::of_listener() const {
  PostgresAddress address = *this;
  if (listen_host.empty()) return address;
  address.prepared = true;                        // past the pooler
  (void)take_parameter(address.url, "hostaddr");  // libpq prefers it to a host
  address.host = listen_host;
  address.port = listen_port;
  return address;
}

PostgresConnection::PostgresConnection(const PostgresAddress& address, const std::atomic<bool>* given_up)
    : given_up_(given_up), prepares_(address.prepared) {
  try {
    connect(address);
    if (prepares_) lift_limits(address);  // else a pooler passes the session on
  } catch (...) {
    abandon();
    throw;
  }
}

PostgresConnection::~PostgresConnection() { abandon(); }

void PostgresConnection::abandon() noexcept {
  if (connection_) {
    {
      OwnBackends& own = own_backends();
      std::lock_guard lock(own.mutex);
      if (const auto one = own.pids.find(backend_); one != own.pids.end()) own.pids.erase(one);
    }
    libpq().PQfinish(connection_);
    --connection_counts.open_connections;
  }
  connection_ = nullptr;
  sent_.clear();
  results_ = 0;
  posted_ = 0;
}

void PostgresConnection::connect(const PostgresAddress& address) {
  const Libpq& pq = libpq();
  // libpq expands the URL at dbname: its parameters override those before it, and those behind it override the URL. All texts of a
  // store are UTF-8. tcp_user_timeout ends a connection whose packets nothing acknowledges for a minute.
  const auto given = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
  constexpr std::size_t kParameters = 10;
  constexpr std::array<const char*, kParameters> keywords = {"application_name",
                                                             "keepalives_idle",
                                                             "keepalives_interval",
                                                             "keepalives_count",
                                                             "tcp_user_timeout",
                                                             "dbname",
                                                             "host",
                                                             "port",
                                                             "client_encoding",
                                                             nullptr};
  const std::array<const char*, kParameters> values = {
      "resonate_core", "30", "10", "3", "60000", address.url.c_str(), given(address.host), given(address.port), "UTF8", nullptr};
  connection_ = pq.PQconnectStartParams(keywords.data(), values.data(), 1);
  if (!connection_) throw std::bad_alloc();
  ++connection_counts.open_connections;
  ++connection_counts.connections;
  pq.PQsetNoticeReceiver(
      connection_, [](void*, const PGresult*) {}, nullptr);  // the default prints them, those of the begin of a session, too
  Duration timeout = address.connect_timeout;
  for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;) {
    if (pq.PQstatus(connection_) == CONNECTION_BAD || next == PGRES_POLLING_FAILED)
      throw PostgresError("", trimmed(pq.PQerrorMessage(connection_)));
    wait(next == PGRES_POLLING_WRITING, timeout, true);
    next = pq.PQconnectPoll(connection_);
  }
  pq.PQsetnonblocking(connection_, 1);
  if (const int version = pq.PQserverVersion(connection_); version < 140000)
    throw PostgresError("0A000", "PostgreSQL must be version 14 or newer, got " + std::to_string(version / 10000));
  if (const char* const encoding = pq.PQparameterStatus(connection_, "server_encoding");
      encoding && encoding != std::string_view("UTF8"))
    throw PostgresError("0A000", "the encoding of the database must be UTF8, got " + std::string(encoding) +
                                     ": make another database WITH ENCODING 'UTF8' TEMPLATE template0");
  pq.PQenterPipelineMode(connection_);
  backend_ = pq.PQbackendPID(connection_);
  OwnBackends& own = own_backends();
  std::lock_guard lock(own.mutex);
  own.pids.insert(backend_);
}

// Waits until the socket is ready, and takes the time from `left`. It looks for an interrupt only if that takes long.
void PostgresConnection::wait(bool for_writing, Duration& left, bool connecting) {
  for (;; left = saturating_sub(left, kInterruptCheck)) {
    pollfd socket{libpq().PQsocket(connection_), static_cast<short>(for_writing ? POLLIN | POLLOUT : POLLIN), 0};
    if (connecting) socket.events = for_writing ? POLLOUT : POLLIN;
    const int ready = ::poll(&socket, 1, kInterruptCheck);
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw PostgresError("", "poll failed with errno " + std::to_string(errno));
    if (left <= 0) throw PostgresError(kNoAnswer, "the server has not answered in time");
    if (given_up_ && *given_up_) throw PostgresError(kNoAnswer, "the caller has stopped its wait for the server");
    allow_interrupt(Pause::waiting);
  }
}

// Closes the connection, as what was sent is unknown, and throws its error.
void PostgresConnection::give_up() {
  const std::string why = trimmed(libpq().PQerrorMessage(connection_));
  abandon();
  throw PostgresError("", why);
}

// A pooler takes the server away once it sees the end of what was posted, even if it has passed on a part of the next pipeline by
// then: the rest would reach another server. So that end is awaited first.
void PostgresConnection::begin_pipeline() {
  if (!connection_) throw PostgresError("", "the connection is closed");
  if (prepares_ || posted_ == 0 || !sent_.empty()) return;
  try {
    discard_posted();
  } catch (...) {
    abandon();
    throw;
  }
}

std::size_t PostgresConnection::send(const PostgresStatement& statement, const PostgresParameters& parameters) {
  const Libpq& pq = libpq();
  begin_pipeline();
  const std::vector<const char*> values = parameters.values();
  const std::vector<int> formats(values.size(), 1);
  int sent = 0;
  if (prepares_) {
    const auto same = [&statement](const Sent& one) { return one.prepares == &statement; };
    if (std::find(prepared_.begin(), prepared_.end(), &statement) == prepared_.end() &&
        std::none_of(sent_.begin(), sent_.end(), same)) {
      if (!pq.PQsendPrepare(connection_, statement.name.c_str(), statement.text.c_str(), parameters.count(),
                            parameters.types().data()))
        give_up();
      sent_.push_back({&statement});
    }
    sent = pq.PQsendQueryPrepared(connection_, statement.name.c_str(), parameters.count(), values.data(),
                                  parameters.lengths().data(), formats.data(), 1);
  } else {
    sent = pq.PQsendQueryParams(connection_, statement.text.c_str(), parameters.count(), parameters.types().data(), values.data(),
                                parameters.lengths().data(), formats.data(), 1);
  }
  if (!sent) give_up();
  sent_.push_back({});
  return results_++;
}

std::size_t PostgresConnection::send(const char* text) {
  begin_pipeline();
  if (!libpq().PQsendQueryParams(connection_, text, 0, nullptr, nullptr, nullptr, nullptr, 1)) give_up();
  sent_.push_back({});
  return results_++;
}

void PostgresConnection::post(const char* text) {
  const Libpq& pq = libpq();
  begin_pipeline();
  if (!pq.PQsendQueryParams(connection_, text, 0, nullptr, nullptr, nullptr, nullptr, 1) || !pq.PQpipelineSync(connection_) ||
      pq.PQflush(connection_) < 0)
    give_up();
  ++posted_;
}

void PostgresConnection::push() {
  if (libpq().PQflush(connection_) < 0) give_up();
}

// Reads the end of a pipeline, and returns whether it was there.
bool PostgresConnection::ends_pipeline() {
  const PostgresResult sync(next());
  return sync.get() && libpq().PQresultStatus(sync.get()) == PGRES_PIPELINE_SYNC;
}

void PostgresConnection::discard_posted() {
  for (; posted_ > 0; --posted_) {
    while (PGresult* const result = next()) libpq().PQclear(result);
    if (!ends_pipeline()) throw PostgresError("", trimmed(libpq().PQerrorMessage(connection_)));
  }
}

// The next result; null at the end of a statement's results.
PGresult* PostgresConnection::next() {
  const Libpq& pq = libpq();
  for (;;) {
    const int unsent = pq.PQflush(connection_);
    if (unsent < 0) throw PostgresError("", trimmed(pq.PQerrorMessage(connection_)));
    if (!pq.PQisBusy(connection_)) return pq.PQgetResult(connection_);
    Duration no_limit = kNever;
    wait(unsent > 0, no_limit, false);
    if (!pq.PQconsumeInput(connection_)) throw PostgresError("", trimmed(pq.PQerrorMessage(connection_)));
  }
}

std::vector<PostgresResult> PostgresConnection::run() {
  const Libpq& pq = libpq();
  if (!connection_) throw PostgresError("", "the connection is closed");
  ++connection_counts.round_trips;
  std::vector<PostgresResult> results;
  std::optional<PostgresError> failure;
  try {
    if (!pq.PQpipelineSync(connection_)) throw PostgresError("", trimmed(pq.PQerrorMessage(connection_)));
    discard_posted();
    for (const Sent& one : sent_) {
      PostgresResult result(next());
      if (!result.get()) throw PostgresError("", trimmed(pq.PQerrorMessage(connection_)));
      while (PGresult* const end = next()) pq.PQclear(end);
      const ExecStatusType status = pq.PQresultStatus(result.get());
      if (status == PGRES_FATAL_ERROR && !failure) {
        const char* const state = pq.PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        const char* const message = pq.PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
        failure.emplace(state ? state : "", trimmed(message ? message : pq.PQerrorMessage(connection_)));
      }
      if (failure) continue;
      if (one.prepares) {
        prepared_.push_back(one.prepares);
      } else {
        results.push_back(std::move(result));
      }
    }
    if (!ends_pipeline()) throw failure ? *failure : PostgresError("", trimmed(pq.PQerrorMessage(connection_)));
  } catch (const PostgresError&) {
    abandon();
    throw;
  } catch (...) {  // an interrupt: the server ends what it runs
    if (PGcancel* const cancel = pq.PQgetCancel(connection_)) {
      std::array<char, 256> ignored{};
      pq.PQcancel(cancel, ignored.data(), ignored.size());
      pq.PQfreeCancel(cancel);
    }
    abandon();
    throw;
  }
  sent_.clear();
  results_ = 0;
  if (failure) throw *failure;
  return results;
}

PostgresResult PostgresConnection::run(const PostgresStatement& statement, const PostgresParameters& parameters) {
  send(statement, parameters);
  return std::move(run().front());
}

PostgresResult PostgresConnection::run(const char* text) {
  send(text);
  return std::move(run().front());
}

int PostgresConnection::socket() const { return libpq().PQsocket(connection_); }

std::vector<std::string> PostgresConnection::take_notices() {
  const Libpq& pq = libpq();
  if (!pq.PQconsumeInput(connection_)) give_up();
  std::vector<std::string> payloads;
  while (PGnotify* const notice = pq.PQnotifies(connection_)) {
    {
      OwnBackends& own = own_backends();
      std::lock_guard lock(own.mutex);
      if (!own.pids.contains(notice->be_pid)) payloads.emplace_back(notice->extra);
    }
    pq.PQfreemem(notice);
  }
  return payloads;
}

bool PostgresConnection::closed_by_server() const {
#ifdef POLLRDHUP
  constexpr short kClosed = POLLRDHUP;
#else
  constexpr short kClosed = 0;  // poll() reports POLLHUP in any case
#endif
  pollfd socket{libpq().PQsocket(connection_), kClosed, 0};
  return ::poll(&socket, 1, 0) != 0;
}

bool PostgresConnection::lost() const { return !connection_ || libpq().PQstatus(connection_) == CONNECTION_BAD; }

}  // namespace resonate
