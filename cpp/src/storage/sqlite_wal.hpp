// Reads the header and frames of a write-ahead log (https://www.sqlite.org/fileformat2.html, "The Write-Ahead Log").
#pragma once

#include <optional>
#include <string>

namespace resonate {

// SQLite reads a log up to the first frame with a wrong checksum and silently ignores the commits behind it. Returns a description
// of those commits, or nothing if there are none. The log may be in use.
std::optional<std::string> commits_lost_in_log(const std::string& database);

}  // namespace resonate
