// Maps and lists of strings as the JSON text that a column holds, so that other tools can read it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "resonate/records.hpp"

namespace resonate {

// Whether every character is whole: what a store writes is, what it reads from a damaged file need not be.
bool is_utf8(std::string_view text) noexcept;

std::string to_json(const StringMap& strings);
std::string to_json(const std::vector<std::string>& strings);

// Error (storage): the text is not what to_json wrote.
StringMap string_map_of_json(std::string_view json);
std::vector<std::string> strings_of_json(std::string_view json);

}  // namespace resonate
