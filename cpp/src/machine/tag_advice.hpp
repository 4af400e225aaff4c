// Tags that mean nothing though they look as if they did: a misspelt name, a value that no rule knows. Nothing is refused for them,
// since clients may send any tag (PROTOCOL 1); who sends one is warned.
#pragma once

#include <string>
#include <vector>

#include "resonate/requests.hpp"

namespace resonate {

// One sentence for each such tag of the promises and jobs that a request creates. What it quotes is fit for a line of a log.
std::vector<std::string> tag_advice(const Operation& operation);
std::vector<std::string> tag_advice(const StringMap& tags);

}  // namespace resonate
