// Converts a part of the state to a JSON text: a few rows, with a bounded number of their edges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "resonate/options.hpp"
#include "resonate/storage.hpp"

namespace resonate {

struct SnapshotPart {
  std::string document;
  std::vector<RowRef> cut;  // rows of which edges were left out, by id
};

// The form of a full snapshot, with these promises and schedules only: of each promise the first `most_edges` callbacks, listeners
// and keepers, all queues without their ended hours, and the messages about them, of executes those among the first `kMostExecutes`
// to their address. `options`: as of write_snapshot.
inline constexpr std::size_t kAllEdges = SIZE_MAX;
inline constexpr std::size_t kMostExecutes = 1000;
SnapshotPart write_part(Storage& storage, const std::vector<std::string>& ids, const Options& options, std::size_t most_edges);

}  // namespace resonate
