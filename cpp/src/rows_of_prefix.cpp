#include "rows_of_prefix.hpp"

#include <algorithm>

namespace resonate {

namespace {

// Appends what `page(after, limit)` returns, until an id does not begin with the prefix.
template <class Ref, class Page, class Id>
void read_on(OfPrefix<Ref>& all, const std::string& prefix, std::size_t most, std::string after, Page page, Id id) {
  for (;;) {
    const std::size_t limit = std::min(kLongPage, most + 1 - all.found.size());  // one more shows that more follow
    std::vector<Ref> read = page(after, limit);
    for (Ref& one : read) {
      if (!id(*one).starts_with(prefix)) return;
      if (all.found.size() == most) {
        all.complete = false;
        return;
      }
      all.found.push_back(std::move(one));
    }
    if (read.size() < limit) return;
    after = id(*all.found.back());
  }
}

}  // namespace

OfPrefix<RowRef> rows_of_prefix(Storage& storage, RowRange group, const std::string& prefix, std::size_t most,
                                const std::string& after) {
  OfPrefix<RowRef> all;
  if (after.empty()) {  // the pages begin after the prefix itself
    const RowRef row = storage.load(prefix);
    const std::optional<IndexKey> key = row ? index_key(*row, group.index) : std::nullopt;
    if (key && group.has(*key) && key->major >= group.after.major) all.found.push_back(row);
  }
  const auto page = [&](const std::string& from, std::size_t limit) {
    group.after.id = from;
    group.limit = limit;
    return storage.rows(group);
  };
  read_on(all, prefix, most, after.empty() ? prefix : after, page, [](const Row& row) -> const std::string& { return row.id(); });
  return all;
}

OfPrefix<ScheduleRef> schedules_of_prefix(Storage& storage, const std::string& prefix, std::size_t most) {
  OfPrefix<ScheduleRef> all;
  if (ScheduleRef one = storage.load_schedule(prefix)) all.found.push_back(std::move(one));
  const auto page = [&](const std::string& from, std::size_t limit) { return storage.schedules({.after = from, .limit = limit}); };
  read_on(all, prefix, most, prefix, page, [](const Schedule& one) -> const std::string& { return one.id; });
  return all;
}

}  // namespace resonate
