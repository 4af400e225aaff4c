// Rows and schedules whose ids begin with a text, by id. A principal with a prefix is shown these alone, so no others are read:
// what a view examines must not depend on the rows of others.
#pragma once

#include <string>
#include <vector>

#include "resonate/storage.hpp"

namespace resonate {

// The most of them that one view reads.
inline constexpr std::size_t kMostOfPrefix = 10'000;

template <class Ref>
struct OfPrefix {
  std::vector<Ref> found;
  bool complete = true;  // false: more follow
};

// At most `most` (1 or more) rows of a group of an index that orders it by id, those after `after` if that is not empty.
OfPrefix<RowRef> rows_of_prefix(Storage& storage, RowRange group, const std::string& prefix, std::size_t most,
                                const std::string& after = {});
OfPrefix<ScheduleRef> schedules_of_prefix(Storage& storage, const std::string& prefix, std::size_t most);

}  // namespace resonate
