#include "storage/row_cache.hpp"

#include <utility>

#include "machine/derive.hpp"

namespace resonate {

namespace {

// Rows of an outdated generation are freed a few at a time: freeing all at once would block one caller for about 50 ms.
constexpr std::size_t kFreedPerInsertion = 8;

// The approximate memory of a row, including the overhead of the cache's tables.
std::size_t size_of(const Row& row) {
  constexpr std::size_t kFixed = 512;
  std::size_t size = kFixed + payload_bytes(row) + row.promise_spec->tags.size() * sizeof(StringMap::Entry);
  if (row.resumes)
    for (const std::string& id : row.resumes->items) size += id.size() + sizeof(std::string);
  return size;
}

}  // namespace

RowRef RowCache::find(std::string_view id) {
  if (const auto found = young_.find(id); found != young_.end()) return found->second;
  const auto found = old_.find(id);
  if (found == old_.end()) return nullptr;
  RowRef row = std::move(found->second);
  old_.erase(found);
  insert(row);
  return row;
}

void RowCache::put(const RowRef& row) {
  const std::size_t size = size_of(*row);
  if (const auto found = young_.find(row->id()); found == young_.end()) {
    if (!old_.empty()) old_.erase(row->id());
  } else {
    const std::size_t bytes = young_bytes_ - size_of(*found->second) + size;
    if (found->second->promise_spec == row->promise_spec && size <= most_bytes_ / 8 && bytes <= most_bytes_) {
      found->second = row;  // a new version of the row: the key of the old one stays valid
      young_bytes_ = bytes;
      return;
    }
    young_bytes_ = bytes - size;
    young_.erase(found);
  }
  insert(row);
}

void RowCache::insert(const RowRef& row) {
  const std::size_t size = size_of(*row);
  if (size > most_bytes_ / 8) return;  // a very large row must not displace the other rows
  if (young_bytes_ + size > most_bytes_) {
    dropped_ = std::exchange(old_, std::exchange(young_, {}));
    young_.reserve(old_.size());
    young_bytes_ = 0;
  }
  for (std::size_t i = 0; i < kFreedPerInsertion && !dropped_.empty(); ++i) dropped_.erase(dropped_.begin());
  young_.emplace(row->id(), row);
  young_bytes_ += size;
}

void RowCache::erase(std::string_view id) {
  if (const auto found = young_.find(id); found != young_.end()) {
    young_bytes_ -= size_of(*found->second);
    young_.erase(found);
  } else if (const auto older = old_.find(id); older != old_.end()) {
    old_.erase(older);
  }
}

void RowCache::clear() {
  // New tables in place of empty ones: clear() keeps the buckets of the most rows that a table had, and writes all of them each
  // time. A process that shares the store with others clears its cache in each transaction.
  for (Generation* generation : {&dropped_, &young_, &old_}) *generation = Generation();
  young_bytes_ = 0;
}

}  // namespace resonate
