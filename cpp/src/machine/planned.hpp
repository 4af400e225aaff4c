// The check of tests that a request loads by name only what its plan names.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace resonate {

// Throws std::logic_error.
[[noreturn]] void refuse_unplanned(std::string_view what, const std::string& name);

template <class Lookup>
void require_named(std::span<Lookup> planned, std::string_view what, std::string_view name) {
  if (std::ranges::find(planned, name, &Lookup::key) == planned.end()) refuse_unplanned(what, std::string(name));
}

}  // namespace resonate
