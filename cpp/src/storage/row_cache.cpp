#include "storage/row_cache.hpp"

#include <utility>

namespace resonate {

namespace {

std::size_t size_of(const StringMap& strings) {
  std::size_t size = 0;
  for (const auto& [name, text] : strings) size += name.size() + text.size() + sizeof(StringMap::Entry);
  return size;
}

std::size_t size_of(const Value& value) {
  return (value.data ? value.data->size() : 0) + (value.headers ? size_of(*value.headers) : 0);
}

// About what a row holds, its own tables' overhead included.
std::size_t size_of(const Row& row) {
  constexpr std::size_t kFixed = 512;
  std::size_t size = kFixed + row.id().size() + size_of(row.birth->param) + size_of(row.birth->tags);
  if (row.value) size += size_of(row.value->value);
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
  erase(row->id());
  insert(row);
}

void RowCache::insert(const RowRef& row) {
  const std::size_t size = size_of(*row);
  if (size > most_bytes_ / 8) return;  // one giant must not push everybody out
  if (young_bytes_ + size > most_bytes_) {
    old_ = std::exchange(young_, {});
    young_bytes_ = 0;
  }
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
  young_.clear();
  old_.clear();
  young_bytes_ = 0;
}

}  // namespace resonate
