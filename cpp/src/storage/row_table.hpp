// Rows by id: an extendible hash table. Copies share segments; a write clones the shared segment.
//
// A copy costs one pointer per segment (about 150 rows). Nothing iterates over the table, so no result depends on a hash.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "resonate/records.hpp"

namespace resonate {

class RowTable {
 public:
  RowTable();
  RowTable(const RowTable& other);
  RowTable(RowTable&&) = delete;
  RowTable& operator=(const RowTable&) = delete;
  ~RowTable();

  const RowRef* find(std::string_view id) const noexcept;
  void put(const RowRef& row);
  bool erase(std::string_view id);
  std::size_t size() const noexcept { return size_; }
  void clear();

  template <class Visit>
  void visit_all(Visit visit) const {
    for (std::size_t i = 0; i < directory_.size(); i += span_of(*directory_[i]))
      for (const Slot& slot : directory_[i]->slots)
        if (slot.row) visit(slot.row);
  }

 private:
  static constexpr unsigned kSlots = 256;
  static constexpr unsigned kFull = 224;

  struct Slot {
    std::uint64_t hash = 0;
    RowRef row;
  };
  struct Segment final : Counted {
    unsigned depth = 0;  // the number of leading hash bits that all rows of the segment share
    unsigned count = 0;
    Slot slots[kSlots];
  };

  static std::uint64_t hash_of(std::string_view id) noexcept;
  std::size_t place_of(std::uint64_t hash) const noexcept { return depth_ == 0 ? 0 : hash >> (64 - depth_); }
  std::size_t span_of(const Segment& segment) const noexcept { return std::size_t{1} << (depth_ - segment.depth); }
  Segment* own(std::uint64_t hash);
  void replace(std::uint64_t hash, Segment* segment) noexcept;
  void split(std::uint64_t hash);
  static void drop(Segment* segment) noexcept;
  void drop_all() noexcept;

  // Entries that name the same segment are adjacent; the table holds one reference to each segment.
  std::vector<Segment*> directory_;
  unsigned depth_ = 0;
  std::size_t size_ = 0;
};

}  // namespace resonate
