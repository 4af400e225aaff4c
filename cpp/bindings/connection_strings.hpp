// Connection strings: `host=db dbname=app`, as libpq takes them, and `Server=db;Database=app`, as others do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace resonate::python {

// The nearest URL of a text that looks like one, without its passwords; none if it looks like none.
std::optional<std::string> url_of_connection_string(std::string_view text);

}  // namespace resonate::python
