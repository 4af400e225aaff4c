#pragma once

#include <string>
#include <string_view>

#include "resonate/described.hpp"

namespace resonate {

// Returns the name of a member for an error. The member of a member is named with both: "burst of rate".
inline std::string name_in(const MemberRules& rules, std::string_view part) {
  const std::string name(name_of(rules.field));
  return part.empty() ? name : name + " of " + std::string(part);
}

}  // namespace resonate
