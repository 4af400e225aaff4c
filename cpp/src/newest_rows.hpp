// Rows of several groups of a reversed index, merged: the newest first.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "resonate/storage.hpp"

namespace resonate {

class NewestRows {
 public:
  // `expected`: how many rows are probably needed.
  NewestRows(Storage& storage, std::vector<RowRange> groups, std::size_t expected);
  // Returns the newest row that is left, or null.
  RowRef peek();
  void pop();

 private:
  struct Group {
    RowRange range;
    std::vector<RowRef> page = {};
    std::size_t next = 0;
    bool complete = false;
    const Row* front() const noexcept { return next < page.size() ? page[next].get() : nullptr; }
  };
  struct Older {
    const std::vector<Group>* groups;
    bool operator()(std::size_t a, std::size_t b) const noexcept;
  };
  void read(std::size_t group);

  Storage& storage_;
  std::vector<Group> groups_;
  std::vector<std::size_t> heap_;  // the groups that have a row
};

// When a row was created, then its id: the order of a reversed index.
inline std::pair<Instant, const std::string&> age_of(const Row& row) noexcept { return {row.promise_spec->created_at, row.id()}; }

}  // namespace resonate
