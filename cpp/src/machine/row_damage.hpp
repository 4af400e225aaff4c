// The rules that the engine needs to hold in every row, however the row came into the store. Rules that the engine does not need
// are invariants (invariants.hpp): a row that breaks one of those can be read, and check() reports it.
#pragma once

#include "resonate/records.hpp"

namespace resonate {

// Returns what the row lacks; null if it can be used. A storage refuses to read a row that has this damage.
const char* damage_of(const Row& row) noexcept;

// Returns whether a row may have a timer of this kind: its step uses members that other rows do not have.
bool fits_timer(const Row& row, DueKind kind) noexcept;

}  // namespace resonate
