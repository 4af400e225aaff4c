// Addresses in the forms of other programs: each would be a valid name of a file, which no caller means.
#include "other_addresses.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "arguments.hpp"
#include "connection_strings.hpp"
#include "machine/ascii.hpp"
#include "resonate/postgres.hpp"

namespace resonate::python {

namespace {

constexpr std::string_view kSqliteUrl = "sqlite:///";
constexpr std::string_view kDigits = "0123456789";

enum class Family : std::uint8_t { postgres, sqlite, file, server, memory, other };

// The words before a colon that begin an address, without the driver that SQLAlchemy adds ("postgresql+psycopg").
constexpr std::array<std::pair<std::string_view, Family>, 52> kSchemes = {{
    {"postgres", Family::postgres}, {"postgresql", Family::postgres}, {"pg", Family::postgres},      {"psql", Family::postgres},
    {"pgsql", Family::postgres},    {"postgis", Family::postgres},    {"sqlite", Family::sqlite},    {"sqlite3", Family::sqlite},
    {"spatialite", Family::sqlite}, {"file", Family::file},           {"http", Family::server},      {"https", Family::server},
    {"memory", Family::memory},     {"mem", Family::memory},          {"amqp", Family::other},       {"amqps", Family::other},
    {"bigquery", Family::other},    {"cassandra", Family::other},     {"clickhouse", Family::other}, {"cockroach", Family::other},
    {"cockroachdb", Family::other}, {"couchdb", Family::other},       {"db2", Family::other},        {"duckdb", Family::other},
    {"dynamodb", Family::other},    {"etcd", Family::other},          {"firebird", Family::other},   {"ftp", Family::other},
    {"gs", Family::other},          {"jdbc", Family::other},          {"kafka", Family::other},      {"libsql", Family::other},
    {"mariadb", Family::other},     {"memcached", Family::other},     {"mongodb", Family::other},    {"mssql", Family::other},
    {"mysql", Family::other},       {"nats", Family::other},          {"neo4j", Family::other},      {"odbc", Family::other},
    {"oracle", Family::other},      {"redis", Family::other},         {"rediss", Family::other},     {"redshift", Family::other},
    {"s3", Family::other},          {"snowflake", Family::other},     {"sqlserver", Family::other},  {"tcp", Family::other},
    {"trino", Family::other},       {"unix", Family::other},          {"ws", Family::other},         {"wss", Family::other},
}};

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

bool is_plainly_a_path(std::string_view text) { return text.starts_with('/') || text.starts_with("./") || text.starts_with("../"); }

// `C:\app.db`, `C:/app.db`, `\\server\app.db`, `data\app.db`
bool is_of_windows(std::string_view text) {
  const bool has_drive = text.size() > 2 && text[1] == ':' && (text[2] == '\\' || text[2] == '/') &&
                         ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
  return has_drive || text.find('\\') != text.npos;
}

// `localhost:8001`, `127.0.0.1:5432/app`, `db.internal:5432`, `[::1]:8001`
bool is_host_and_port(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  const std::size_t colon = bracket == text.npos ? text.npos : text.find(':', bracket);
  if (colon == text.npos) return false;
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1, text.find('/', colon) - colon - 1);
  const bool named = bracket > 0 ? bracket + 1 == colon : lowered(host) == "localhost" || host.find('.') != host.npos;
  return named && host.find_first_of("/ ") == host.npos && !port.empty() && port.size() <= 5 &&
         port.find_first_not_of(kDigits) == port.npos;
}

// Raises the error of an argument that takes what `accepts` says.
class Refusal {
 public:
  Refusal(const char* argument, Accepts accepts) : argument_(argument), accepts_(accepts) {}

  [[noreturn]] void raise_about(ErrorClass error, const std::string& got, const std::string& advice) const {
    raise(error, std::string(argument_) + " must be the path of a SQLite file" +
                     (accepts_ == Accepts::stores ? " or a URL sqlite:/// or postgresql://" : "") + ", got " + got + advice);
  }
  [[noreturn]] void raise_rule(const std::string& rule, std::string_view text) const {
    raise(ErrorClass::invalid, std::string(argument_) + " must " + rule + ", got " + in_quotes(text));
  }
  // The advice for the address of a database.
  std::string database(const std::string& url) const {
    if (accepts_ == Accepts::stores) return ": write " + in_quotes(url);
    return ": for a database use `resonate-core copy` and `resonate-core check`";
  }
  std::string leave_out() const { return accepts_ == Accepts::stores ? ": leave it out for a store in memory" : ": name a file"; }
  std::string memory() const {
    return accepts_ == Accepts::stores ? "be left out for a store in memory" : "name a file, and not one in memory";
  }
  std::string empty() const {
    return accepts_ == Accepts::stores ? "name a file (Store() without a path is in memory)" : "name a file";
  }

 private:
  const char* argument_;
  Accepts accepts_;
};

constexpr const char* kOrAFile = ", or an absolute path for a file of that name";

// Refuses `scheme:rest`.
void refuse_scheme(const std::string& text, const Refusal& refusal) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return;
  const std::string scheme = lowered(text.substr(0, std::min(colon, text.find('+'))));
  const auto* const known = std::find_if(kSchemes.begin(), kSchemes.end(), [&](const auto& one) { return one.first == scheme; });
  const std::string shown = without_secrets(text);
  std::string rest = shown.substr(colon + 1);
  const bool is_url = rest.starts_with("//");
  if (known == kSchemes.end() && text.find("://") == std::string::npos) return;
  const ErrorClass error = is_url ? ErrorClass::unsupported : ErrorClass::invalid;
  const std::string or_a_file = is_url ? "" : kOrAFile;
  switch (known == kSchemes.end() ? Family::other : known->second) {
    case Family::postgres: {
      if (!is_url)
        if (const auto url = url_of_connection_string(std::string_view(text).substr(colon + 1)))
          refusal.raise_about(error, "a connection string", refusal.database(*url) + or_a_file);
      if (is_url) rest.erase(0, 2);
      if (!is_url) {
        rest.erase(0, rest.find_first_not_of('/'));
        if (rest.find('@') == std::string::npos) rest.insert(0, "/");
      }
      refusal.raise_about(error, in_quotes(shown), refusal.database("postgresql://" + rest) + or_a_file);
    }
    case Family::sqlite:
      rest.erase(0, rest.starts_with("///") ? 3 : (is_url ? 2 : 0));
      if (rest.empty() || rest == ":memory:") refusal.raise_about(error, in_quotes(shown), refusal.leave_out());
      refusal.raise_about(error, in_quotes(shown),
                          ": write " + in_quotes(rest) + " or " + in_quotes("sqlite:///" + rest) + or_a_file);
    case Family::file:
      if (!is_url) return;  // `file:app.db` is a name
      rest.erase(0, rest.starts_with("//localhost/") ? std::string_view("//localhost").size() : 2);
      refusal.raise_about(error, in_quotes(shown), ": write " + in_quotes(rest));
    case Family::server: refusal.raise_about(error, in_quotes(shown), ": to use a server, call resonate_core.connect" + or_a_file);
    case Family::memory: refusal.raise_about(error, in_quotes(shown), refusal.leave_out() + or_a_file);
    case Family::other: break;
  }
  refusal.raise_about(is_url || known == kSchemes.end() ? ErrorClass::unsupported : error, in_quotes(shown),
                      is_url || known == kSchemes.end() ? "" : ": give an absolute path for a file of that name");
}

void refuse_path_of_windows(const std::string& text, const Refusal& refusal) {
  if (!is_of_windows(text)) return;
  std::string ours = text;
  std::replace(ours.begin(), ours.end(), '\\', '/');
  const bool is_relative = ours.find(':') == ours.npos && !ours.starts_with('/');
  refusal.raise_about(ErrorClass::invalid, "a path of Windows, " + in_quotes(without_secrets(text)),
                      (is_relative ? ": write " + in_quotes(ours) : ": write the path that the file has here") + kOrAFile);
}

void refuse_other_addresses(const std::string& text, const Refusal& refusal) {
  if (const std::optional<std::string> url = url_of_connection_string(text))
    refusal.raise_about(ErrorClass::invalid, "a connection string", refusal.database(*url) + kOrAFile);
  refuse_scheme(std::string(trimmed(text)), refusal);
  if (is_host_and_port(trimmed(text)))
    refusal.raise_about(ErrorClass::invalid, "the address of a server, " + in_quotes(without_secrets(text)),
                        refusal.database("postgresql://HOST:PORT/DBNAME") +
                            ", or for a server call resonate_core.connect('http://HOST:PORT')" + kOrAFile);
  refuse_path_of_windows(text, refusal);
}

}  // namespace

// Where a text has no form that is known, a password may be anywhere before the last '@' and behind a '?' or ';'.
std::string without_secrets(const std::string& url) {
  const std::size_t begin = url.find_first_not_of('/', std::min(url.find(':'), url.size() - 1) + 1);
  if (begin == std::string::npos) return url;
  const std::size_t host = url.rfind('@');
  const std::size_t options = url.find_first_of("?;", begin);
  std::string shown = url.substr(0, begin);
  if (host != std::string::npos && host >= begin) {
    if (options < host) return shown + "...";  // of the password, or the '@' is in an option
    return shown + "..." + url.substr(host, options - host) + (options == std::string::npos ? "" : "?...");
  }
  return shown + url.substr(begin, options - begin) + (options == std::string::npos ? "" : "?...");
}

std::string place_of_store(std::string text, const char* argument, Accepts accepts) {
  const Refusal refusal(argument, accepts);
  const bool is_sqlite_url = text.starts_with(kSqliteUrl);
  if (is_sqlite_url) text.erase(0, kSqliteUrl.size());
  if (text.empty()) refusal.raise_rule(refusal.empty(), text);
  if (text == ":memory:" || text.starts_with("file::memory:")) refusal.raise_rule(refusal.memory(), text);
  if (text.find('\0') != std::string::npos) refusal.raise_rule("contain no NUL", without_secrets(text));
  if (is_sqlite_url) {
    if (const std::size_t query = text.find('?'); query != std::string::npos)
      refusal.raise_about(ErrorClass::invalid, "parameters after " + in_quotes(kSqliteUrl),
                          ": write " + in_quotes(text.substr(0, query)));
    if (!is_plainly_a_path(text)) refuse_path_of_windows(text, refusal);
    return text;
  }
  if (is_plainly_a_path(text)) return text;
  if (is_postgres_url(text)) {
    if (accepts == Accepts::files)
      refusal.raise_about(ErrorClass::invalid, in_quotes(without_secrets(text)), refusal.database(text));
    return text;
  }
  refuse_other_addresses(text, refusal);
  return text;
}

}  // namespace resonate::python
