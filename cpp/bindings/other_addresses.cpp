// Addresses in the forms of other programs: each would be a valid name of a file, which no caller means.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "store_options.hpp"

namespace resonate::python {

namespace {

constexpr std::array<std::string_view, 14> kKeywords = {"host",
                                                        "hostaddr",
                                                        "port",
                                                        "dbname",
                                                        "user",
                                                        "service",
                                                        "password",
                                                        "passfile",
                                                        "sslmode",
                                                        "options",
                                                        "connect_timeout",
                                                        "application_name",
                                                        "client_encoding",
                                                        "target_session_attrs"};

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// `host=db dbname=app` as a URL, without its password; none if it is no such text.
std::optional<std::string> url_of_connection_string(const std::string& text) {
  const std::string_view first = trimmed(std::string_view(text).substr(0, text.find('=')));
  if (text.find('=') == std::string::npos || std::find(kKeywords.begin(), kKeywords.end(), first) == kKeywords.end()) return {};
  std::map<std::string, std::string> values;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (const std::size_t equals = word.find('='); equals != std::string::npos)
      values[word.substr(0, equals)] = word.substr(equals + 1);
  if (text.find_first_of("'\\") != std::string::npos || values["host"].starts_with('/') ||
      values["dbname"].find_first_of(":@?=") != std::string::npos)  // libpq accepts a URL there
    return "postgresql://HOST:PORT/DBNAME";
  const std::string& host = values["host"].empty() ? values["hostaddr"] : values["host"];
  return "postgresql://" + (values["user"].empty() ? "" : values["user"] + "@") +
         (host.find(':') == std::string::npos ? host : "[" + host + "]") + (values["port"].empty() ? "" : ":" + values["port"]) +
         "/" + values["dbname"];
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

void refuse_other_addresses(const std::string& path, const char* argument) {
  const auto refuse = [argument](ErrorClass error, const std::string& got, const std::string& advice) {
    raise(error,
          std::string(argument) + " must be the path of a SQLite file or a URL sqlite:/// or postgresql://, got " + got + advice);
  };
  if (const std::optional<std::string> url = url_of_connection_string(path))
    refuse(ErrorClass::invalid, "a connection string of libpq", ": write '" + *url + "'");
  const std::size_t colon = path.find(':');
  if (colon == std::string::npos) return;
  std::string scheme = path.substr(0, std::min(colon, path.find('+')));  // SQLAlchemy adds the name of a driver
  for (char& c : scheme)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::string shown = without_secrets(path);
  const std::string got = "'" + shown + "'";
  std::string rest = shown.substr(colon + 1);
  const bool is_url = rest.starts_with("//");
  const ErrorClass error = is_url ? ErrorClass::unsupported : ErrorClass::invalid;
  const std::string or_a_file = is_url ? "" : ", or an absolute path for a file of that name";
  if (is_one_of(scheme, {"postgres", "postgresql", "pg", "psql"})) {
    if (is_url) rest.erase(0, 2);
    if (!is_url) {
      rest.erase(0, rest.find_first_not_of('/'));
      if (rest.find('@') == std::string::npos) rest.insert(0, "/");
    }
    refuse(error, got, ": write 'postgresql://" + rest + "'" + or_a_file);
  }
  if (is_one_of(scheme, {"sqlite", "sqlite3"})) {
    rest.erase(0, rest.starts_with("///") ? 3 : (is_url ? 2 : 0));
    if (rest.empty() || rest == ":memory:") refuse(error, got, ": leave it out for a store in memory");
    refuse(error, got, ": write '" + rest + "' or 'sqlite:///" + rest + "'" + or_a_file);
  }
  if (is_one_of(scheme, {"http", "https"})) refuse(error, got, ": to use a server, call resonate_core.connect");
  if (path.find("://") != std::string::npos) refuse(ErrorClass::unsupported, got, "");
}

}  // namespace resonate::python
