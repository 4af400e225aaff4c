// A cache of rows that were read or written recently, by id, with a memory limit.
//
// It keeps two generations. A row that is used moves to the young one. When the young one is full it becomes the old one, and the
// rows of the previous old one are freed, a few with each insertion. This approximates least-recently-used for the cost of a hash
// look-up.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "resonate/records.hpp"

namespace resonate {

class RowCache {
 public:
  explicit RowCache(std::size_t most_bytes) : most_bytes_(most_bytes / 2) {}

  // Null if the row is not cached; it may still exist in storage.
  RowRef find(std::string_view id);
  void put(const RowRef& row);
  void erase(std::string_view id);
  void clear();

 private:
  // Keys are views of the ids in the rows' promise specs. All versions of a row share the promise spec, so a key stays valid when a
  // new version replaces the row.
  using Generation = std::unordered_map<std::string_view, RowRef>;

  void insert(const RowRef& row);

  Generation young_;
  Generation old_;
  Generation dropped_;  // waits to be freed; never searched
  std::size_t young_bytes_ = 0;
  std::size_t most_bytes_;
};

}  // namespace resonate
