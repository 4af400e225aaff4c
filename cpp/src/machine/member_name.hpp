#pragma once

#include <string>
#include <string_view>

#include "resonate/described.hpp"

namespace resonate {

// What an error calls a member that may be part of another: "burst of rate".
inline std::string name_in(const MemberRules& rules, std::string_view part) {
  const std::string name(name_of(rules.field));
  return part.empty() ? name : name + " of " + std::string(part);
}

}  // namespace resonate
