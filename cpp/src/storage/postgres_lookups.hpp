// PostgresLookups: the records that a transaction looks up by key, loaded in one round trip each time.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "machine/text_hash.hpp"
#include "storage/known_state.hpp"
#include "storage/postgres_connection.hpp"
#include "storage/written_rows.hpp"

namespace resonate {

class PostgresLookups {
 public:
  template <class Ref>
  using Loaded = std::unordered_map<std::string, Ref, TextHash, std::equal_to<>>;

  // Finds the records that this transaction has loaded or that are known, and lists the others for send(). Without `known`, all
  // that were not loaded are listed. Keys must be valid until take().
  void find(const Lookups& records, KnownState* known);
  bool missing() const noexcept {
    return !(ids_.empty() && names_.empty() && schedule_ids_.empty() && edge_kinds_.empty() && numbers_.empty());
  }
  // Adds the statements that load what is listed to the next round trip.
  void send(PostgresConnection& connection) const;
  // The same for a transaction that shares: it locks the rows. If all of them are `written`, it does not read them, and if they are
  // jobs that it completes and that are then deleted, it does not lock them: they are assumed(). If there are `jobs`, it also loads
  // the queues of the rows, but for only_queue(). There must be no other records.
  void send_locking(PostgresConnection& connection, const JobLookups& jobs, const WrittenRows& written);
  // Takes their results, the last ones of a round trip, and empties the list.
  void take(std::span<const PostgresResult> results, KnownState& known);
  // The only queue of a transaction that shares, if its name was known: the caller loads its body. Otherwise empty.
  std::string_view only_queue() const noexcept { return only_queue_; }
  // Takes the results of send_locking(), and the body of only_queue() if that exists. If a row is not as it was written, it is
  // forgotten, and the result is false.
  [[nodiscard]] bool take_locked(std::span<const PostgresResult> results, const std::string* body, WrittenRows& written);
  // Takes the listed rows for absent, and empties the list. Returns false if other records are listed: nothing is known of them.
  bool take_absent();
  // Adds a row that the transaction has found otherwise.
  void note(const RowRef& row) { rows_[row->id()] = row; }
  // Sets the records that find() has not found.
  void fill(const Lookups& records) const;
  // The rows that this transaction has asked for; null: the row does not exist.
  const Loaded<RowRef>& rows() const noexcept { return rows_; }
  const Loaded<QueueRef>& queues() const noexcept { return queues_; }
  // The rows that this transaction takes to be as they were written, without a lock. Its commit deletes them, and finds out.
  const std::vector<WrittenRows::One>& assumed() const noexcept { return assumed_; }
  // At the end of a transaction.
  void clear();

 private:
  void forget_listed();
  bool take_written(const PostgresResult& result, WrittenRows& written);
  void note_queue(const std::string& body, std::string_view name);

  using EdgeKey = std::tuple<EdgeKind, std::string, std::string>;
  // The loaded records by key; null if a record does not exist.
  Loaded<RowRef> rows_;
  Loaded<QueueRef> queues_;
  Loaded<ScheduleRef> schedules_;
  std::map<EdgeKey, EdgeRef> edges_;
  std::map<std::int64_t, MessageRef> messages_;
  // The keys of the records that send() loads.
  std::vector<std::string_view> ids_;
  std::vector<std::string_view> names_;
  std::vector<std::string_view> schedule_ids_;
  std::vector<std::int64_t> edge_kinds_;
  std::vector<std::string_view> edge_owners_;
  std::vector<std::string_view> edge_others_;
  std::vector<std::int64_t> numbers_;
  std::vector<WrittenRows::One> written_;  // all rows of ids_, or none
  std::vector<WrittenRows::One> assumed_;
  std::string_view only_queue_;
  bool sent_queues_ = false;  // by send_locking()
  // The last queue that was loaded with its text: between two exclusive transactions it is the same.
  std::string last_body_;
  QueueRef last_queue_;
};

}  // namespace resonate
