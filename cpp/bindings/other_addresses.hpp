// The text that names a store: the path of a file, or the URL of a database.
#pragma once

#include <cstdint>
#include <string>

namespace resonate::python {

enum class Accepts : std::uint8_t { files, stores };  // a database is a store, too

// A text that looks like an address, without what may be its user and its passwords.
std::string without_secrets(const std::string& url);

// Returns the path or the URL of PostgreSQL that a text names. A text that begins with `/`, `./` or `../`, or with `sqlite:///`, is
// a path. Any other that looks like the address of something else, or like one of ours in another form, is refused, and the error
// names the nearest form of ours: else it would make a file of that name.
std::string place_of_store(std::string text, const char* argument, Accepts accepts);

}  // namespace resonate::python
