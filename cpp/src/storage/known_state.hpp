// KnownState: the part of the stored state that a storage keeps in memory: the rows that were used last, and the few values that
// every transaction reads. It equals the stored state until another connection commits; the storage then calls forget().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machine/text_hash.hpp"
#include "resonate/storage.hpp"
#include "storage/row_cache.hpp"
#include "storage/scan_marks.hpp"

namespace resonate {

struct KnownState {
  static constexpr std::size_t kCachedBytes = std::size_t{64} << 20;

  static constexpr std::int64_t kUnknown = -1;
  static constexpr std::size_t kUnblocksKept = 64;       // a store whose messages are delivered has few
  static constexpr std::size_t kCallbacksKept = 50'000;  // some MB
  static constexpr std::size_t kCallbacksOfOne = 64;     // a job for which more jobs wait reads them

  std::int64_t version = kUnknown;  // of the state, as the storage counts them; unknown: nothing else is known either
  std::int64_t shared = 0;          // the number of the last commit beside others
  Counters counters;
  std::int64_t messages = 0;  // the number of queued messages; stored, so that it need not be counted
  std::optional<Instant> first_due;
  ScanMarks marks;
  std::map<std::string, QueueRef, std::less<>> queues;
  RowCache rows{kCachedBytes};
  bool changed_elsewhere = false;  // see Storage
  // An instant that no commit has stored yet; the next commit stores it, or the destructor of the storage. kUnset: there is none.
  Instant unsaved_now = kUnset;

  // The counters with the unsaved instant.
  Counters present() const noexcept;
  // Keeps the instant of the changes if nothing else changes, since a clock that moves is not worth a commit. Returns whether it
  // did.
  bool keeps_instant(const Changes& changes) noexcept;
  // The changes that store the unsaved instant; none if a stored one is as late.
  std::optional<Changes> unsaved_changes() const;
  // Returns the queue; null if it is not known.
  QueueRef find_queue(std::string_view name) const;

  // Returns the messages of the range if they are known: every writing transaction asks for the oldest unblock, and the end of a
  // job's retention for those of its promise.
  std::optional<std::vector<MessageRef>> messages_of(const MessageRange& range) const;
  // Notes what was read for such a range.
  void read(const MessageRange& range, const std::vector<MessageRef>& found);
  // Returns the edges of the range if they are callbacks, and all of its promise are known: mostly the process that makes jobs wait
  // for another one also completes that one.
  std::optional<std::vector<EdgeRef>> callbacks_of(const EdgeRange& range);
  // The range without the places at its beginning that are known to be empty. An index of PostgreSQL keeps the entries of rows that
  // have left it until no transaction can see them, and a scan reads all of them.
  RowRange narrowed(RowRange range) const;
  void read(const RowRange& range, const std::vector<RowRef>& found);
  // Notes what a transaction of this storage has committed, except `messages` and `version`.
  void keep(const Changes& changes);
  // The marks after a transaction that changes this.
  ScanMarks marks_after(const Changes& changes) const;
  // Another connection has committed: only this is known now.
  void renew(std::int64_t committed, const Counters& stored, std::int64_t stored_messages, ScanMarks stored_marks = {});
  void forget();

 private:
  // After the marks were lowered; `was` is the first due instant before.
  void keep_first_due(const Changes& changes, Instant was);
  void keep_unblocks(const Changes& changes);
  void keep_callbacks(const Changes& changes);
  void forget_callbacks();

  std::vector<MessageRef> unblocks_;  // the first ones
  bool all_unblocks_ = false;         // there are no others
  // Some callbacks by owner, in order of registration. If an owner counts as many, with drained ones that stay, they are all of its
  // callbacks.
  std::unordered_map<std::string, std::vector<EdgeRef>, TextHash, std::equal_to<>> callbacks_;
  std::size_t callbacks_kept_ = 0;
};

}  // namespace resonate
