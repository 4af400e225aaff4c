#include "storage/scan_marks.hpp"

#include <charconv>
#include <system_error>

namespace resonate {

namespace {

constexpr std::size_t kStored = 64;        // claims
constexpr std::size_t kLongestName = 256;  // bytes of a queue

}  // namespace

std::string ScanMarks::claims_text(const Changes& changes) const {
  std::map<std::string_view, std::pair<std::int64_t, std::int64_t>> chosen;
  const auto choose = [&](std::string_view queue, const std::pair<std::int64_t, std::int64_t>& place) {
    if (chosen.size() < kStored && queue.size() <= kLongestName) chosen.emplace(queue, place);
  };
  if (claims.size() > kStored)
    for (const QueueChange& change : changes.queues)
      if (const auto one = change.after ? claims.find(change.after->name) : claims.end(); one != claims.end())
        choose(one->first, one->second);
  for (const auto& [queue, place] : claims) choose(queue, place);
  std::string text;
  for (const auto& [queue, place] : chosen) {
    text += std::to_string(place.first) + " " + std::to_string(place.second) + " " + std::to_string(queue.size()) + ":";
    text += queue;
  }
  return text;
}

void ScanMarks::read_claims(std::string_view text) {
  const auto number = [&text](auto& read, char end) {
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), read);
    if (error != std::errc() || at == text.data() + text.size() || *at != end) return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
    return true;
  };
  while (!text.empty()) {
    std::pair<std::int64_t, std::int64_t> place;
    std::size_t bytes = 0;
    if (!number(place.first, ' ') || !number(place.second, ' ') || !number(bytes, ':') || bytes > text.size()) return;
    claims[std::string(text.substr(0, bytes))] = place;
    text.remove_prefix(bytes);
  }
}

}  // namespace resonate
