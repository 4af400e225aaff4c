// Which rows a request names, so that those of a batch can be loaded in one go before it runs.
#pragma once

#include <string_view>
#include <vector>

#include "resonate/requests.hpp"

namespace resonate {

// Appends their ids, some of which may not exist. They point into the operation.
void name_rows(const Operation& operation, std::vector<std::string_view>& ids);

}  // namespace resonate
