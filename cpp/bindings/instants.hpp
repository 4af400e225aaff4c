// Instants as Python says them: Unix ms, or an aware datetime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "resonate/instant.hpp"
#include "shown.hpp"

namespace resonate::python {

using InstantArgument = Shown<"int | datetime.datetime">;
using OptionalInstant = Shown<"int | datetime.datetime | None">;

bool is_datetime(py::handle given);

// Unix ms: an int, or an aware datetime, of which microseconds below a ms are cut off. A naive datetime is Invalid.
Instant instant(py::handle given, const char* argument);
std::optional<Instant> optional_instant(py::handle given, const char* argument);

// "2026-01-01T00:00:00.000Z", or the number where the instant does not look like Unix time: before 10^11 (March 1973), as on a
// manual clock that began at 0, or after the year 9999, as 2**63 - 1.
std::string shown_instant(Instant at);

}  // namespace resonate::python
