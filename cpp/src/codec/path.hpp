// The decoder's place in a document, for errors. Its text is built only when there is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "resonate/fields.hpp"

namespace resonate {

// A chain from a value up to the document. Lives on the decoder's stack.
struct Path {
  const Path* parent = nullptr;
  std::string_view name;      // of a member, or
  std::ptrdiff_t index = -1;  // of an element

  Path() = default;
  explicit Path(Field field, const Path* above = nullptr) : parent(above), name(name_of(field)) {}
  Path(std::string_view key, const Path* above) : parent(above), name(key) {}
  Path(std::ptrdiff_t element, const Path* above) : parent(above), index(element) {}
};

// `data.actions[2].awaited`.
std::string to_text(const Path& path);

// Quotes a value for an error: in double quotes, escaped, cut between two characters after 80 bytes.
std::string in_quotes(std::string_view text);

// Thrown by decoders for a document with a wrong member, and caught where the decoding began.
struct Malformed {
  std::string message;
};

// Throws Malformed. `at`: the place of the object that lacks the member; null: it is the document.
[[noreturn]] void refuse_missing(Field member, const Path* at);

}  // namespace resonate
