// The jobs of all queues, added up for a scrape.
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "machine/working_set.hpp"
#include "resonate/views.hpp"

namespace resonate {

namespace {

std::int64_t pending(const QueueRef& queue) noexcept { return queue->counts[static_cast<std::size_t>(JobState::pending)]; }

}  // namespace

QueueTotals totals_of(Storage& storage, const std::vector<std::string>& named, std::size_t most, std::size_t aged, Instant now) {
  std::vector<QueueRef> queues = storage.queues();
  const std::unordered_set<std::string_view> kept(named.begin(), named.end());
  const auto deeper = [](const QueueRef& a, const QueueRef& b) {
    return pending(a) != pending(b) ? pending(a) > pending(b) : a->name < b->name;
  };
  const auto rest =
      std::stable_partition(queues.begin(), queues.end(), [&](const QueueRef& queue) { return kept.contains(queue->name); });
  const auto looked_at = static_cast<std::ptrdiff_t>(std::max(most, aged));
  std::partial_sort(rest, rest + std::min(looked_at, queues.end() - rest), queues.end(), deeper);
  QueueTotals totals;
  WorkingSet set(storage);
  for (std::size_t at = 0; at < queues.size(); ++at) {
    QueueRef& queue = queues[at];
    totals.paused += queue->paused ? 1 : 0;
    const Instant oldest = at < aged ? set.oldest_pending(*queue, now) : kUnset;
    if (at < most) {
      totals.shown.push_back({std::move(queue), oldest});
      continue;
    }
    totals.others += 1;
    for (std::size_t state = 0; state < kJobStates; ++state)
      totals.counts_of_others[state] = saturating_add(totals.counts_of_others[state], queue->counts[state]);
    if (oldest != kUnset)
      totals.oldest_of_others = totals.oldest_of_others == kUnset ? oldest : std::min(totals.oldest_of_others, oldest);
  }
  return totals;
}

}  // namespace resonate
