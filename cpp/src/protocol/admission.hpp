// What a server asks of a request before it lets it in: which ids it touches, and whether it is larger than it may be.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/requests.hpp"

namespace resonate {

struct RequestLimits {
  std::size_t id_bytes = SIZE_MAX;     // ids, pids, addresses, names of tags
  std::size_t tags = SIZE_MAX;         // tags of a promise, headers of a value
  std::size_t list_length = SIZE_MAX;  // tasks of a heartbeat, actions of a suspend
};

// Every id that a request names, those of the actions inside it among them; of a schedule also how the ids of its promises begin.
// What it finds by itself is Request::scope's to bound.
std::vector<std::string_view> touched_ids(const Operation& operation, std::string& room);

// The first limit that the request goes beyond, in words.
std::optional<std::string> beyond(const Operation& operation, const RequestLimits& limits);

// Whether brackets of a JSON text nest deeper than that. The text may be anything.
bool nests_deeper(std::string_view json, std::size_t limit) noexcept;

}  // namespace resonate
