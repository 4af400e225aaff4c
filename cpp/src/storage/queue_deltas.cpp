#include "storage/queue_deltas.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include "codec/jobs_json.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

constexpr std::size_t kDeltaPlaces = kJobStates + kHourCounters.size() + 2;
constexpr std::int64_t kLargest = std::int64_t{1} << 40;  // of a delta: a queue near the largest number saturates, and sums do not

// Calls visit(number) for each number that a delta has, in order.
template <class Visit>
void each_number(Queue& queue, Visit visit) {
  for (std::int64_t& count : queue.counts) visit(count);
  QueueHour no_hour;
  QueueHour* const hour = queue.hour ? &*queue.hour : &no_hour;
  for (const auto counter : kHourCounters) visit(hour->*counter);
  QueueDay no_day;
  QueueDay* const day = queue.days.empty() ? &no_day : &queue.days.back();
  visit(day->processed);
  visit(day->failed);
}

using Numbers = std::array<std::int64_t, kDeltaPlaces>;

// Takes the numbers out of the queue, which then has zeros.
Numbers taken_from(Queue& queue) {
  Numbers numbers{};
  std::size_t at = 0;
  each_number(queue, [&](std::int64_t& number) { numbers[at++] = std::exchange(number, 0); });
  return numbers;
}

}  // namespace

std::optional<std::string> delta_of(const Queue& before, const Queue& after) {
  Queue old = before;
  Queue changed = after;
  const Numbers from = taken_from(old);
  const Numbers to = taken_from(changed);
  if (queue_to_json(old) != queue_to_json(changed)) return std::nullopt;
  std::string text;
  for (std::size_t at = 0; at < kDeltaPlaces; ++at) {
    const std::int64_t by = saturating_sub(to[at], from[at]);
    if (by > kLargest || by < -kLargest || saturating_add(from[at], by) != to[at] || saturating_add(to[at], kLargest) == kNever)
      return std::nullopt;
    text += (text.empty() ? "{" : ",") + std::to_string(by);
  }
  return text + "}";
}

QueueRef with_deltas(QueueRef queue, std::string_view sums) {
  if (sums.empty()) return queue;
  Shared<Queue> summed(new Queue(*queue));
  const auto damaged = [&] {
    return Error(ErrorCode::storage, "a stored row is damaged: the deltas of a queue are " + std::string(sums));
  };
  std::string_view left = sums;
  each_number(*summed, [&](std::int64_t& number) {
    std::int64_t by = 0;
    if (!left.empty()) left.remove_prefix(1);  // the brace or a comma
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), by);
    if (error != std::errc()) throw damaged();
    left.remove_prefix(static_cast<std::size_t>(end - left.data()));
    number = saturating_add(number, by);
  });
  if (left != "}") throw damaged();
  return summed;
}

std::string sums_of_deltas() {
  std::string sums;
  for (std::size_t at = 1; at <= kDeltaPlaces; ++at)
    sums += (sums.empty() ? "ARRAY[sum(deltas[" : ", sum(deltas[") + std::to_string(at) + "])";
  return sums + "]::bigint[]::text";
}

}  // namespace resonate
