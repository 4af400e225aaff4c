// The tables of a store's file, by schema version.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace resonate {

// The value of `PRAGMA application_id` that marks a file as a store: "Rsnt".
inline constexpr std::int64_t kSqliteApplicationId = 0x52736e74;

// kMigrations[v] migrates schema v to v + 1; version 0 is an empty file.
std::span<const char* const> sqlite_migrations() noexcept;
inline std::int64_t sqlite_schema_version() noexcept { return static_cast<std::int64_t>(sqlite_migrations().size()); }

}  // namespace resonate
