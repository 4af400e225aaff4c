#include "storage/postgres_notices.hpp"

#include <algorithm>
#include <charconv>

#include "resonate/index_keys.hpp"

namespace resonate {

namespace {

constexpr std::size_t kQueuesOfPayload = 64;  // a payload has less than 8,000 bytes
constexpr Duration kBetweenTurns = 20;        // ms: about as long as a claim takes, with the round trips of a real network
constexpr Duration kLongestBetweenTurns = 500;
constexpr int kHalved = 2;  // s

bool claimable(const RowRef& row) { return row && index_key<Index::claim>(*row); }

// Spreads the bits (splitmix64).
std::uint64_t spread(std::uint64_t bits) noexcept {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

template <class Number>
bool read(std::string_view text, Number& number, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::uint32_t queue_key(std::string_view schema, std::string_view queue) noexcept {
  std::uint32_t hash = 2166136261U;  // FNV-1a: all builds agree on it
  const auto add = [&hash](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  };
  add(schema);
  add(" ");
  add(queue);
  return hash & 0x7fffffffU;
}

std::string CommitNotice::payload() const {
  if (everybody) return schema;
  std::string text = schema + " " + std::to_string(seed);
  if (messages) text += " m";
  for (const Jobs& one : jobs) text += " " + std::to_string(one.key) + ":" + std::to_string(one.count);
  return text;
}

std::optional<CommitNotice> CommitNotice::parse(std::string_view payload, std::string_view schema) {
  CommitNotice notice;
  notice.schema = schema;
  notice.everybody = payload == schema;
  if (notice.everybody) return notice;
  if (!payload.starts_with(schema) || payload[schema.size()] != ' ') return std::nullopt;
  payload.remove_prefix(schema.size() + 1);
  for (bool first = true; !payload.empty(); first = false) {
    const std::size_t end = std::min(payload.find(' '), payload.size());
    const std::string_view word = payload.substr(0, end);
    payload.remove_prefix(std::min(end + 1, payload.size()));
    const std::size_t colon = word.find(':');
    Jobs jobs{};
    if (first) {
      if (!read(word, notice.seed)) return std::nullopt;
    } else if (word == "m") {
      notice.messages = true;
    } else if (colon != std::string_view::npos && read(word.substr(0, colon), jobs.key) &&
               read(word.substr(colon + 1), jobs.count)) {
      notice.jobs.push_back(jobs);
    } else {
      return std::nullopt;
    }
  }
  return notice;
}

Duration CommitNotice::turn(std::int64_t seed, int connection, std::size_t workers, std::size_t jobs, Duration between) noexcept {
  const std::uint64_t bits = spread(spread(static_cast<std::uint64_t>(seed)) ^ static_cast<std::uint64_t>(connection));
  const double place = static_cast<double>(bits >> 11U) * 0x1p-53 * static_cast<double>(workers);
  const double behind = place - static_cast<double>(jobs) - 1;
  return behind <= 0 ? 0 : static_cast<Duration>(behind * static_cast<double>(between));
}

void LockWaits::add(Duration waited, std::chrono::steady_clock::time_point now) noexcept {
  waited_ = waited;
  at_ = now.time_since_epoch().count();
}

Duration LockWaits::between(std::chrono::steady_clock::time_point now) const noexcept {
  const std::chrono::steady_clock::time_point last{std::chrono::steady_clock::duration(at_.load())};
  const auto halvings = std::chrono::duration_cast<std::chrono::seconds>(now - last).count() / kHalved;
  const Duration waited = halvings < 0 || halvings >= 63 ? 0 : waited_.load() >> halvings;
  return std::clamp<Duration>(3 * waited, kBetweenTurns, kLongestBetweenTurns);
}

std::optional<CommitNotice> notice_of(const Changes& changes, const std::string& schema, std::int64_t seed) {
  CommitNotice notice;
  notice.schema = schema;
  notice.seed = seed;
  notice.messages = !changes.messages_added.empty();
  for (const RowChange& change : changes.rows) {
    if (!claimable(change.after) || claimable(change.before)) continue;
    const std::uint32_t key = queue_key(schema, change.after->job->spec->queue);
    const auto known = std::ranges::find(notice.jobs, key, &CommitNotice::Jobs::key);
    if (known != notice.jobs.end()) {
      ++known->count;
    } else if (notice.jobs.size() < kQueuesOfPayload) {
      notice.jobs.push_back({key, 1});
    } else {
      notice.everybody = true;
    }
  }
  if (notice.jobs.empty() && !notice.messages) return std::nullopt;
  return notice;
}

}  // namespace resonate
