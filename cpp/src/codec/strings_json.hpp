// Converts maps and lists of strings to the JSON text of a column, which other tools can read, and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "resonate/records.hpp"

namespace resonate {

// Whether the text is valid UTF-8. A store writes only valid text, but a damaged file can contain invalid text.
bool is_utf8(std::string_view text) noexcept;

std::string to_json(const StringMap& strings);
std::string to_json(const std::vector<std::string>& strings);

// Throws Error (storage) for a text that to_json did not write.
StringMap string_map_of_json(std::string_view json);
std::vector<std::string> strings_of_json(std::string_view json);

}  // namespace resonate
