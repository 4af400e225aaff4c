#include "resonate/fields.hpp"

#include <array>

namespace resonate {
namespace {

// A hash table with open addressing, filled at compile time. It has four times as many slots as names, so that probes are short.
constexpr std::size_t kPlaces = 1024;
constexpr std::uint8_t kFree = 0xff;
static_assert(kFieldCount < kFree && kFieldCount * 4 <= kPlaces);

constexpr std::size_t place_of(std::string_view name) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(name[at])); };
  return (name.size() * 67 + byte(0) * 31 + byte(name.size() / 2) * 13 + byte(name.size() - 1) * 131) % kPlaces;
}

constexpr std::array<std::uint8_t, kPlaces> make_places() {
  std::array<std::uint8_t, kPlaces> places{};
  places.fill(kFree);
  for (std::size_t field = 0; field < kFieldCount; ++field) {
    std::size_t place = place_of(detail::kFieldNames[field]);
    while (places[place] != kFree) place = (place + 1) % kPlaces;
    places[place] = static_cast<std::uint8_t>(field);
  }
  return places;
}

constexpr std::array<std::uint8_t, kPlaces> kPlacesOfFields = make_places();

}  // namespace

std::optional<Field> field_named(std::string_view name) noexcept {
  if (name.empty()) return std::nullopt;
  for (std::size_t place = place_of(name); kPlacesOfFields[place] != kFree; place = (place + 1) % kPlaces) {
    const std::uint8_t field = kPlacesOfFields[place];
    if (detail::kFieldNames[field] == name) return static_cast<Field>(field);
  }
  return std::nullopt;
}

}  // namespace resonate
