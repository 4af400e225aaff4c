#include "codec/kinds.hpp"

#include "codec/dialect_2025_01_15.hpp"
#include "codec/dialect_2026_04_01.hpp"

namespace resonate {

namespace {
constexpr std::array<std::string_view, kJobKinds> kJobKindNames = {
    "job.enqueue",   "job.enqueue_many", "job.get",           "job.claim",    "job.start",   "job.start_many",
    "job.heartbeat", "job.complete",     "job.complete_many", "job.fail",     "job.release", "job.snooze",
    "job.cancel",    "job.run",          "job.archive",       "job.delete",   "job.search",  "job.stats",
    "queue.set",     "queue.get",        "queue.pause",       "queue.resume", "queue.list",
};
}  // namespace

std::string_view name_of(Kind kind, DialectId dialect) noexcept {
  auto place = static_cast<std::size_t>(kind);
  if (is_job(kind)) return kJobKindNames[place - static_cast<std::size_t>(Kind::job_enqueue)];
  if (is_debug(kind)) place -= kJobKinds;
  return dialect == DialectId::k2026_04_01 ? dialect_2026_04_01::kKindNames[place] : dialect_2025_01_15::kKindNames[place];
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
