#include "connection_strings.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "codec/hosts_in_url.hpp"
#include "machine/ascii.hpp"

namespace resonate::python {

namespace {

// Of libpq. A text that begins with one of them and '=' is no name of a file.
constexpr std::array<std::string_view, 50> kKeywords = {"application_name",
                                                        "channel_binding",
                                                        "client_encoding",
                                                        "connect_timeout",
                                                        "dbname",
                                                        "fallback_application_name",
                                                        "gssdelegation",
                                                        "gssencmode",
                                                        "gsslib",
                                                        "host",
                                                        "hostaddr",
                                                        "keepalives",
                                                        "keepalives_count",
                                                        "keepalives_idle",
                                                        "keepalives_interval",
                                                        "krbsrvname",
                                                        "load_balance_hosts",
                                                        "max_protocol_version",
                                                        "min_protocol_version",
                                                        "oauth_client_id",
                                                        "oauth_client_secret",
                                                        "oauth_issuer",
                                                        "oauth_scope",
                                                        "options",
                                                        "passfile",
                                                        "password",
                                                        "port",
                                                        "replication",
                                                        "require_auth",
                                                        "requirepeer",
                                                        "scram_client_key",
                                                        "scram_server_key",
                                                        "service",
                                                        "servicefile",
                                                        "ssl_max_protocol_version",
                                                        "ssl_min_protocol_version",
                                                        "sslcert",
                                                        "sslcertmode",
                                                        "sslcompression",
                                                        "sslcrl",
                                                        "sslcrldir",
                                                        "sslkey",
                                                        "sslkeylogfile",
                                                        "sslmode",
                                                        "sslnegotiation",
                                                        "sslpassword",
                                                        "sslrootcert",
                                                        "sslsni",
                                                        "target_session_attrs",
                                                        "user"};

// Ours, in the query of a URL.
constexpr std::array<std::string_view, 5> kParameters = {"listen", "owner", "prepared", "schema", "writers"};

// The first words of connection strings that have semicolons (ODBC, ADO.NET, PDO).
constexpr std::array<std::string_view, 14> kWordsBeforeSemicolons = {
    "addr", "address",  "data source",     "database", "datasource", "driver", "dsn",
    "file", "filename", "initial catalog", "provider", "server",     "uid",    "user id"};

constexpr std::string_view kAnyUrl = "postgresql://HOST:PORT/DBNAME";

using Pairs = std::vector<std::pair<std::string, std::string>>;

template <class Words>
bool has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// As libpq reads them: spaces around '=', values in quotes, a backslash before any character. None from the first place on that is
// no pair.
struct Read {
  Pairs pairs;
  bool whole = false;
};

Read read_pairs(std::string_view text) {
  Read read;
  std::size_t at = 0;
  const auto skip_spaces = [&] {
    while (at < text.size() && is_space(text[at])) ++at;
  };
  for (skip_spaces(); at < text.size(); skip_spaces()) {
    const std::size_t begin = at;
    while (at < text.size() && text[at] != '=' && !is_space(text[at])) ++at;
    std::string key = lowered(text.substr(begin, at - begin));
    skip_spaces();
    if (key.empty() || at == text.size() || text[at] != '=') return read;
    ++at;
    skip_spaces();
    const bool in_quotes = at < text.size() && text[at] == '\'';
    if (in_quotes) ++at;
    std::string value;
    const auto ends = [&] { return in_quotes ? text[at] == '\'' : is_space(text[at]); };
    for (; at < text.size() && !ends(); ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      value += text[at];
    }
    if (in_quotes && at == text.size()) return read;
    if (in_quotes) ++at;
    read.pairs.emplace_back(std::move(key), std::move(value));
  }
  read.whole = true;
  return read;
}

bool looks_like_one(std::string_view text, const Read& read) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string word = lowered(trimmed(text.substr(0, equals)));
  if (has(kKeywords, word)) return true;
  if (text.find(';') != std::string_view::npos && has(kWordsBeforeSemicolons, word)) return true;
  return read.whole && read.pairs.size() > 1 && word.find(':') == word.npos &&
         std::any_of(read.pairs.begin(), read.pairs.end(), [](const auto& pair) { return has(kKeywords, pair.first); });
}

bool is_secret(std::string_view key) {
  return key.find("password") != key.npos || key.find("secret") != key.npos || key.starts_with("scram");
}

}  // namespace

std::optional<std::string> url_of_connection_string(std::string_view text) {
  const Read read = read_pairs(text);
  if (!looks_like_one(text, read)) return std::nullopt;
  std::string user;
  std::string host;
  std::string address;
  std::string port;
  std::string database;
  Pairs query;
  for (const auto& [key, value] : read.pairs) {
    // A password may stand behind a word that is no keyword, and in a name of a database that is a connection string itself.
    if (value.find(';') != std::string::npos || !(has(kKeywords, key) || has(kParameters, key))) return std::string(kAnyUrl);
    if (key == "dbname" && value.find_first_of(":@?=") != std::string::npos) return std::string(kAnyUrl);
    if (key == "user")
      user = value;
    else if (key == "host")
      host = value;
    else if (key == "hostaddr")
      address = value;
    else if (key == "port")
      port = value;
    else if (key == "dbname")
      database = value;
    else if (!is_secret(key))
      query.emplace_back(key, value);
  }
  if (!read.whole) return std::string(kAnyUrl);
  if (host.empty()) host = std::exchange(address, "");
  if (!address.empty()) query.emplace_back("hostaddr", address);
  if (host.empty() && !port.empty()) query.emplace_back("port", std::exchange(port, ""));
  std::string url = "postgresql://" + (user.empty() ? "" : escaped_in_url(user) + "@") + hosts_in_url(host, port) + "/" +
                    escaped_in_url(database);
  for (std::size_t at = 0; at < query.size(); ++at)
    url += (at == 0 ? "?" : "&") + query[at].first + "=" + escaped_in_url(query[at].second);
  return url;
}

}  // namespace resonate::python
