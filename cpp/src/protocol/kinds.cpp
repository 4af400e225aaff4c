#include "protocol/kinds.hpp"

#include "protocol/dialect_2025_01_15.hpp"
#include "protocol/dialect_2026_04_01.hpp"

namespace resonate {

std::string_view name_of(Kind kind, DialectId dialect) noexcept {
  const auto place = static_cast<std::size_t>(kind);
  return dialect == DialectId::k2026_04_01 ? dialect_2026_04_01::kKindNames[place] : dialect_2025_01_15::kKindNames[place];
}

std::optional<Kind> kind_named(std::string_view name, DialectId dialect) noexcept {
  if (name.empty()) return std::nullopt;  // what a dialect has not stands under an empty name
  const KindNames& names = dialect == DialectId::k2026_04_01 ? dialect_2026_04_01::kKindNames : dialect_2025_01_15::kKindNames;
  for (std::size_t place = 0; place < kKindCount; ++place) {
    if (names[place] == name) return static_cast<Kind>(place);
  }
  return std::nullopt;
}

std::optional<DialectId> dialect_named(std::string_view version) noexcept {
  for (const Dialect& known : kDialects) {
    if (known.version == version) return known.id;
  }
  return std::nullopt;
}

}  // namespace resonate
