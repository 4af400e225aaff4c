#include "storage/written_rows.hpp"

#include "machine/derive.hpp"
#include "resonate/index_keys.hpp"

namespace resonate {

namespace {

// 8 MB at most. A worker has as many as it runs jobs.
constexpr std::size_t kMostRows = 512;
constexpr std::size_t kMostBytes = 16 * 1024;  // of the payload of a row

}  // namespace

const WrittenRows::One* WrittenRows::find(std::string_view id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? nullptr : &found->second;
}

void WrittenRows::keep(const Changes& changes, std::int64_t transaction) {
  for (const RowChange& change : changes.rows) {
    const RowRef& row = change.after;
    if (!row || !row->job || index_key<Index::claim>(*row) || payload_bytes(*row) > kMostBytes) {
      forget(row ? row->id() : change.before->id());
      continue;
    }
    if (rows_.size() >= kMostRows) rows_.clear();
    rows_.insert_or_assign(row->id(), One{row, transaction});
  }
}

void WrittenRows::forget(const Changes& changes) {
  if (changes.replaces_all) clear();
  for (const RowChange& change : changes.rows) forget(change.after ? change.after->id() : change.before->id());
}

void WrittenRows::forget(std::string_view id) {
  if (const auto found = rows_.find(id); found != rows_.end()) rows_.erase(found);
}

}  // namespace resonate
