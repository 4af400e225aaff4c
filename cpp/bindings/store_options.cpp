#include "store_options.hpp"

#include <array>

#include "arguments.hpp"
#include "fork_safety.hpp"
#include "gil.hpp"
#include "other_addresses.hpp"
#include "resonate/clock.hpp"
#include "resonate/postgres.hpp"
#include "resonate/sqlite.hpp"

namespace resonate::python {

namespace {

constexpr std::array<std::pair<std::string_view, RulesId>, 2> kRulesNames = {{
    {"compatible", RulesId::compatible},
    {"strict", RulesId::strict},
}};
constexpr std::array<std::pair<std::string_view, CatchUp>, 3> kCatchUpNames = {{
    {"all", CatchUp::all},
    {"latest", CatchUp::latest},
    {"none", CatchUp::none},
}};

constexpr std::array<std::pair<std::string_view, Durability>, 2> kDurabilityNames = {{
    {"full", Durability::full},
    {"normal", Durability::normal},
}};

Duration at_least(Duration least, Duration given, const char* argument) {
  if (given < least) {
    raise(ErrorClass::invalid,
          std::string(argument) + " must be at least " + std::to_string(least) + " ms, got " + std::to_string(given));
  }
  return given;
}

std::optional<Duration> retry_timeout(const RetryArgument& given) {
  if (!PyUnicode_Check(given.ptr())) return at_least(1, duration(given, "retry_timeout"), "retry_timeout");
  const std::string_view word = text(given, "retry_timeout");
  if (word != "ttl") raise(ErrorClass::invalid, "retry_timeout must be a duration or 'ttl', got '" + std::string(word) + "'");
  return std::nullopt;
}

}  // namespace

Options engine_options(const StoreOptions& given, bool manual_clock) {
  Options options;
  options.rules = choice(given.rules, "rules", kRulesNames);
  options.retry_timeout = retry_timeout(given.retry_timeout);
  options.catchup = choice(given.catchup, "catchup", kCatchUpNames);
  options.unblock_retention = at_least(0, duration(given.unblock_retention, "unblock_retention"), "unblock_retention");
  options.check = given.check;
  if (!given.debug.is_none() && !PyBool_Check(given.debug.ptr())) wrong_type("debug", "bool or None", given.debug);
  options.debug = given.debug.is_none() ? manual_clock : given.debug.ptr() == Py_True;
  return options;
}

std::string_view name_of_rules(const Options& options) noexcept { return rules(options.rules).name; }

std::string_view name_of_catchup(const Options& options) noexcept {
  return kCatchUpNames[static_cast<std::size_t>(options.catchup)].first;
}

namespace {

std::string path_of(py::handle path_or_url) {
  if (py::isinstance<Clock>(path_or_url)) {
    throw py::type_error("path_or_url must be a path, a URL or None, got a clock; a clock is given by name: Store(clock=...)");
  }
  const auto os = imported("os");
  if (!PyUnicode_Check(path_or_url.ptr()) && !PyBytes_Check(path_or_url.ptr()) && !py::isinstance(path_or_url, os.attr("PathLike")))
    throw py::type_error(std::string("path_or_url must be str, os.PathLike or None, got ") + Py_TYPE(path_or_url.ptr())->tp_name);
  return place_of_store(std::string(text(call(os.attr("fsdecode"), path_or_url), "path_or_url")), "path_or_url", Accepts::stores);
}

}  // namespace

OpenedStorage open_storage(py::handle path_or_url, const StorageOptions& given, bool clock_given) {
  SqliteOptions options;
  options.durability = choice(given.durability, "durability", kDurabilityNames);
  options.busy_timeout = at_least(0, duration(given.busy_timeout, "busy_timeout"), "busy_timeout");
  options.read_only = given.read_only;
  if (path_or_url.is_none()) {
    if (given.read_only) raise(ErrorClass::invalid, "read_only must be False for a store in memory: it would stay empty");
    return {make_memory_storage()};
  }
  const std::string path = path_of(path_or_url);
  const OutsidePython outside;
  if (is_postgres_url(path)) {
    const auto clock = clock_given ? nullptr : std::make_shared<DatabaseClock>();
    return {open_postgres_storage(path, {.durability = options.durability,
                                         .read_only = options.read_only,
                                         .busy_timeout = options.busy_timeout,
                                         .clock = clock}),
            clock, listen_to_commits(path)};
  }
  return {open_sqlite_storage(path, options)};
}

}  // namespace resonate::python
