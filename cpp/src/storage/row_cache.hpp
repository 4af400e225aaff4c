// Rows that were read or written lately, by id, within a bound of memory.
//
// Two generations: what is used moves to the young one; when that is full it becomes the old one, and what was still old goes, a
// few rows with each that comes. Close to least-recently-used, for the price of a hash look-up.
#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "resonate/records.hpp"

namespace resonate {

class RowCache {
 public:
  explicit RowCache(std::size_t most_bytes) : most_bytes_(most_bytes / 2) {}

  // Null where it is not known: the row may still exist.
  RowRef find(std::string_view id);
  void put(const RowRef& row);
  void erase(std::string_view id);
  void clear();

 private:
  // Keys are views of the ids of the rows' births. A change of a row shares its birth, so a key outlives the row it came with.
  using Generation = std::unordered_map<std::string_view, RowRef>;

  void insert(const RowRef& row);

  Generation young_;
  Generation old_;
  Generation dropped_;  // never looked at
  std::size_t young_bytes_ = 0;
  std::size_t most_bytes_;
};

}  // namespace resonate
