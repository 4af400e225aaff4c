// Finds tags that have no effect although they look like tags of the engine: a misspelt name, a value without meaning. Such tags
// are not refused, because clients can send any tag (PROTOCOL 1); the caller gets a warning.
#pragma once

#include <string>
#include <vector>

#include "resonate/requests.hpp"

namespace resonate {

// Returns one sentence for each such tag of the promises and jobs that a request creates. The text is safe for one line of a log.
std::vector<std::string> tag_advice(const Operation& operation);
std::vector<std::string> tag_advice(const StringMap& tags);

}  // namespace resonate
