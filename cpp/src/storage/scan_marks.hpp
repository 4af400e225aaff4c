// ScanMarks: places of the indexes before which there is no row. An index of PostgreSQL keeps the entries of rows that have left it
// until no transaction can see them, and a scan from the beginning reads all of them.
//
// A mark is a lower bound: a scan that finds a later first row raises it, a row that is written before it lowers it. Each commit
// stores the marks beside the counters, so that they survive the commits of other processes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "resonate/instant.hpp"
#include "resonate/storage.hpp"

namespace resonate {

struct ScanMarks {
  Instant due = kAtOnce;  // no row and no schedule is due earlier
  // By queue: no job that can be claimed comes before this place.
  std::map<std::string, std::pair<std::int64_t, std::int64_t>, std::less<>> claims;

  // The claims as a text: "major minor bytes:queue", one after the other. A store may have many queues, and each commit writes the
  // text: it has at most 64 of them, first those of `changes`.
  std::string claims_text(const Changes& changes) const;
  // Reads such a text; without what cannot be read, since a missing mark costs only time.
  void read_claims(std::string_view text);
};

}  // namespace resonate
