// Converts the options of Store(...) to those of the engine.
#pragma once

#include <memory>
#include <optional>

#include "resonate/engine.hpp"
#include "resonate/postgres.hpp"
#include "shown.hpp"

namespace resonate::python {

using RulesArgument = Shown<"typing.Literal['compatible', 'strict']">;
using RetryArgument = Shown<"int | datetime.timedelta | typing.Literal['ttl']">;
using CatchUpArgument = Shown<"typing.Literal['all', 'latest', 'none']">;

struct StoreOptions {
  const RulesArgument& rules;
  const RetryArgument& retry_timeout;
  const CatchUpArgument& catchup;
  bool check;
  const OptionalBool& debug;
  const DurationArgument& unblock_retention;
};

Options engine_options(const StoreOptions& given, bool manual_clock);

// The rule set's name as the user gave it.
std::string_view name_of_rules(const Options& options) noexcept;
std::string_view name_of_catchup(const Options& options) noexcept;

using DurabilityArgument = Shown<"typing.Literal['full', 'normal']">;

struct StorageOptions {
  const DurabilityArgument& durability;
  const DurationArgument& busy_timeout;
  bool read_only;
};

// A storage, the clock of its database if the caller gave none, and the notices of commits of other processes if there are any.
struct OpenedStorage {
  std::unique_ptr<Storage> storage;
  std::shared_ptr<Clock> clock = nullptr;
  std::shared_ptr<CommitNotices> notices = nullptr;
};

// Opens storage in memory for None, SQLite for a path, PostgreSQL for its URL. Other URLs are refused (Unsupported). `clock_given`:
// the store does not take the database's clock.
OpenedStorage open_storage(py::handle path_or_url, const StorageOptions& given, bool clock_given);

}  // namespace resonate::python
