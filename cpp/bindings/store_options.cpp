#include "store_options.hpp"

#include <array>

#include "arguments.hpp"

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

Duration at_least(Duration least, Duration given, const char* argument) {
  if (given < least) {
    raise(ErrorClass::invalid,
          std::string(argument) + " is " + std::to_string(given) + " ms; it has to be " + std::to_string(least) + " or more");
  }
  return given;
}

std::optional<Duration> retry_timeout(const RetryArgument& given) {
  if (!PyUnicode_Check(given.ptr())) return at_least(1, duration(given, "retry_timeout"), "retry_timeout");
  const std::string_view word = text(given, "retry_timeout");
  if (word != "ttl") raise(ErrorClass::invalid, "retry_timeout is '" + std::string(word) + "'; it has to be a duration or 'ttl'");
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

std::unique_ptr<Storage> open_storage(py::handle path_or_url) {
  if (path_or_url.is_none()) return make_memory_storage();
  const auto path = py::module_::import("os").attr("fspath")(path_or_url);
  raise(ErrorClass::unsupported, "a store in " + std::string(py::repr(path)) +
                                     " is not supported by this version: it keeps stores in memory only, Store() without a path");
}

}  // namespace resonate::python
