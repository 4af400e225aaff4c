#include "resonate/fields.hpp"

#include <array>

namespace resonate {
namespace {

// A hash table with open addressing, filled at compile time. It has four times as many slots as names, so that probes are short.
constexpr std::size_t kSlots = 1024;
constexpr std::uint8_t kFree = 0xff;
static_assert(kFieldCount < kFree && kFieldCount * 4 <= kSlots);

constexpr std::size_t slot_of(std::string_view name) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(name[at])); };
  return (name.size() * 67 + byte(0) * 31 + byte(name.size() / 2) * 13 + byte(name.size() - 1) * 131) % kSlots;
}

constexpr std::array<std::uint8_t, kSlots> make_slots() {
  std::array<std::uint8_t, kSlots> places{};
  places.fill(kFree);
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    std::size_t place = slot_of(detail::kFieldNames[field]);
    while (places[place] != kFree) place = (place + 1) % kSlots;
    places[place] = static_cast<std::uint8_t>(field);
  }
  return places;
}

constexpr std::array<std::uint8_t, kSlots> kFieldsInSlots = make_slots();

}  // namespace

std::optional<Field> field_named(std::string_view name) noexcept {
  if (name.empty()) return std::nullopt;
  for (std::size_t place = slot_of(name); kFieldsInSlots[place] != kFree; place = (place + 1) % kSlots) {
    const std::uint8_t field = kFieldsInSlots[place];
    if (detail::kFieldNames[field] == name) return static_cast<Field>(field);
  }
  return std::nullopt;
}

}  // namespace resonate
