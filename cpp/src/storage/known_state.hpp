// KnownState: the part of the stored state that a storage keeps in memory: the rows that were used last, and the few values that
// every transaction reads. It equals the stored state until another connection commits; the storage then calls forget().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "resonate/storage.hpp"
#include "storage/row_cache.hpp"

namespace resonate {

struct KnownState {
  static constexpr std::size_t kCachedBytes = std::size_t{64} << 20;

  static constexpr std::int64_t kUnknown = -1;
  static constexpr std::size_t kUnblocksKept = 64;  // a store whose messages are delivered has few

  std::int64_t version = kUnknown;  // of the state, as the storage counts them; unknown: nothing else is known either
  Counters counters;
  std::int64_t messages = 0;  // the number of queued messages; stored, so that it need not be counted
  std::optional<Instant> first_due;
  std::map<std::string, QueueRef, std::less<>> queues;
  RowCache rows{kCachedBytes};
  bool changed_elsewhere = false;  // see Storage

  // Returns the messages of the range if they are known: every writing transaction asks for the oldest unblock, and the end of a
  // job's retention for those of its promise.
  std::optional<std::vector<MessageRef>> messages_of(const MessageRange& range) const;
  // Notes what was read for such a range.
  void read(const MessageRange& range, const std::vector<MessageRef>& found);
  // Notes what a transaction of this storage has committed, except `messages` and `version`.
  void keep(const Changes& changes);
  void forget();

 private:
  void keep_first_due(const Changes& changes);
  void keep_unblocks(const Changes& changes);

  std::vector<MessageRef> unblocks_;  // the first ones
  bool all_unblocks_ = false;         // there are no others
};

// Returns whether only the instant differs: a clock that moves is not worth a commit.
bool changes_only_instant(const Changes& changes, const Counters& before) noexcept;

}  // namespace resonate
