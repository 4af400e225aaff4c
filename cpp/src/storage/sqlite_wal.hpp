// What a write-ahead log says of itself (https://www.sqlite.org/fileformat2.html, "The Write-Ahead Log").
#pragma once

#include <optional>
#include <string>

namespace resonate {

// SQLite reads a log up to the first frame whose checksum is wrong, and says nothing of the commits behind it. This names them;
// nothing where there are none. The log may be in use.
std::optional<std::string> commits_lost_in_log(const std::string& database);

}  // namespace resonate
