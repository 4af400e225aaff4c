// The ids that a request names, so that the rows of a batch can be loaded together before it runs.
#pragma once

#include <string_view>
#include <vector>

#include "resonate/requests.hpp"

namespace resonate {

// Appends the ids; some may not exist. The views point into the operation.
void name_rows(const Operation& operation, std::vector<std::string_view>& ids);

}  // namespace resonate
