#include "codec/kinds.hpp"

namespace resonate {

namespace {

struct KindNames {
  std::string_view newer;
  std::string_view older;
};
constexpr KindNames kNames[] = {
#define RESONATE_KIND_NAMES(identifier, name, older_name) {name, older_name},
    RESONATE_KINDS(RESONATE_KIND_NAMES)
#undef RESONATE_KIND_NAMES
};

}  // namespace

std::string_view name_of(Kind kind, DialectId dialect) noexcept {
  const KindNames& names = kNames[static_cast<std::size_t>(kind)];
  return dialect == DialectId::k2026_04_01 ? names.newer : names.older;
}

std::optional<Kind> kind_named(std::string_view name, DialectId dialect) noexcept {
  if (name.empty()) return std::nullopt;  // what a dialect has not stands under an empty name
  for (std::size_t place = 0; place < kKindCount; ++place)
    if (const Kind kind = static_cast<Kind>(place); name_of(kind, dialect) == name) return kind;
  return std::nullopt;
}

std::optional<DialectId> dialect_named(std::string_view version) noexcept {
  for (const Dialect& known : kDialects) {
    if (known.version == version) return known.id;
  }
  return std::nullopt;
}

}  // namespace resonate
