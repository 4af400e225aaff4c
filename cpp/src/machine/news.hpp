// Whether a commit creates work for servers and workers that wait.
#pragma once

#include <algorithm>

#include "resonate/index_keys.hpp"
#include "resonate/storage.hpp"

namespace resonate {

// Returns whether it queues a message, or makes a job claimable.
inline bool brings_work(const Changes& changes) noexcept {
  const auto claimable = [](const RowRef& row) { return row && index_key<Index::claim>(*row); };
  return !changes.messages_added.empty() || std::ranges::any_of(changes.rows, [&](const RowChange& change) {
    return claimable(change.after) && !claimable(change.before);
  });
}

}  // namespace resonate
