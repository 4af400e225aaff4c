// Base64, standard alphabet with padding (RFC 4648, section 4): what clients put into a value's data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace resonate {

std::string base64_encode(std::string_view bytes);
// Empty for a text that no encoder writes: a foreign letter, a wrong length or padding, bits set behind the last byte.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace resonate
