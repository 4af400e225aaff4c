// The lengths of the index keys that a request makes: a storage may limit them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "resonate/requests.hpp"

namespace resonate {

// Returns which texts of a request are too long for the indexes of a storage that takes keys of `most` bytes, or nothing. The texts
// of one key count together. The worker of a claim is in one key with the id of a job that the request does not name, so both have
// limits of their own.
std::optional<std::string> exceeded_key(const Operation& operation, std::size_t most);

}  // namespace resonate
