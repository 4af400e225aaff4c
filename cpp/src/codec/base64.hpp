// Base64, standard alphabet with padding (RFC 4648, section 4): the encoding of a value's data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace resonate {

std::string base64_encode(std::string_view bytes);
// Returns nothing for invalid text: a character outside the alphabet, a wrong length or padding, unused bits that are not 0.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace resonate
