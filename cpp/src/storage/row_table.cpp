#include "storage/row_table.hpp"

#include <functional>
#include <memory>

namespace resonate {

RowTable::RowTable() : directory_{new Segment} { directory_[0]->retain(); }

RowTable::RowTable(const RowTable& other) : directory_(other.directory_), depth_(other.depth_), size_(other.size_) {
  for (std::size_t i = 0; i < directory_.size(); i += span_of(*directory_[i])) directory_[i]->retain();
}

RowTable::~RowTable() { drop_all(); }

void RowTable::drop(Segment* segment) noexcept {
  if (segment->release()) delete segment;
}

void RowTable::drop_all() noexcept {
  for (std::size_t i = 0; i < directory_.size();) {
    Segment* segment = directory_[i];
    i += span_of(*segment);
    drop(segment);
  }
}

void RowTable::clear() {
  auto fresh = std::make_unique<Segment>();
  drop_all();
  fresh->retain();
  directory_.assign(1, fresh.release());
  depth_ = 0;
  size_ = 0;
}

std::uint64_t RowTable::hash_of(std::string_view id) noexcept {
  // Mixes the hash: its low bits choose the slot and its high bits the segment, so both must vary.
  std::uint64_t h = std::hash<std::string_view>{}(id);
  h ^= h >> 32;
  h *= 0x9E3779B97F4A7C15ULL;
  return h ^ (h >> 29);
}

const RowRef* RowTable::find(std::string_view id) const noexcept {
  const std::uint64_t hash = hash_of(id);
  const Segment& segment = *directory_[place_of(hash)];
  for (unsigned i = hash % kSlots;; i = (i + 1) % kSlots) {
    const Slot& slot = segment.slots[i];
    if (!slot.row) return nullptr;
    if (slot.hash == hash && slot.row->id() == id) return &slot.row;
  }
}

void RowTable::replace(std::uint64_t hash, Segment* segment) noexcept {
  const std::size_t span = span_of(*segment);
  const std::size_t start = place_of(hash) & ~(span - 1);
  for (std::size_t i = 0; i < span; ++i) directory_[start + i] = segment;
}

RowTable::Segment* RowTable::own(std::uint64_t hash) {
  Segment* segment = directory_[place_of(hash)];
  if (segment->is_unshared()) return segment;
  auto* clone = new Segment(*segment);
  clone->retain();
  replace(hash, clone);
  drop(segment);
  return clone;
}

void RowTable::put(const RowRef& row) {
  const std::uint64_t hash = hash_of(row->id());
  for (;;) {
    Segment* segment = own(hash);
    for (unsigned i = hash % kSlots;; i = (i + 1) % kSlots) {
      Slot& slot = segment->slots[i];
      if (!slot.row) {
        if (segment->count >= kFull) break;
        slot.hash = hash;
        slot.row = row;
        ++segment->count;
        ++size_;
        return;
      }
      if (slot.hash == hash && (slot.row->promise_spec == row->promise_spec || slot.row->id() == row->id())) {
        slot.row = row;
        return;
      }
    }
    split(hash);
  }
}

void RowTable::split(std::uint64_t hash) {
  Segment* full = own(hash);
  if (full->depth == depth_) {
    std::vector<Segment*> doubled(directory_.size() * 2);
    for (std::size_t i = 0; i < directory_.size(); ++i) doubled[2 * i] = doubled[2 * i + 1] = directory_[i];
    directory_.swap(doubled);
    ++depth_;
  }
  auto low = std::make_unique<Segment>();
  auto high = std::make_unique<Segment>();
  low->depth = high->depth = full->depth + 1;
  const std::uint64_t bit = std::uint64_t{1} << (63 - full->depth);
  for (Slot& slot : full->slots) {
    if (!slot.row) continue;
    Segment& half = slot.hash & bit ? *high : *low;
    unsigned i = slot.hash % kSlots;
    while (half.slots[i].row) i = (i + 1) % kSlots;
    half.slots[i].hash = slot.hash;
    half.slots[i].row = std::move(slot.row);
    ++half.count;
  }
  low->retain();
  high->retain();
  const std::uint64_t prefix = hash & ~((bit << 1) - 1);
  replace(prefix, low.release());
  replace(prefix | bit, high.release());
  drop(full);
}

bool RowTable::erase(std::string_view id) {
  if (!find(id)) return false;
  const std::uint64_t hash = hash_of(id);
  Segment* segment = own(hash);
  unsigned hole = hash % kSlots;
  while (segment->slots[hole].hash != hash || segment->slots[hole].row->id() != id) hole = (hole + 1) % kSlots;
  segment->slots[hole].row = nullptr;
  // Moves later rows of the probe run back into the hole, so that no search ends at it.
  for (unsigned i = (hole + 1) % kSlots; segment->slots[i].row; i = (i + 1) % kSlots) {
    const unsigned home = segment->slots[i].hash % kSlots;
    const bool stays = hole < i ? (home > hole && home <= i) : (home > hole || home <= i);
    if (stays) continue;
    segment->slots[hole] = std::move(segment->slots[i]);
    segment->slots[i].row = nullptr;
    hole = i;
  }
  --segment->count;
  --size_;
  return true;
}

}  // namespace resonate
