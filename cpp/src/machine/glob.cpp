#include "machine/glob.hpp"

namespace resonate {

namespace {

bool equal(std::string_view a, std::string_view b, std::size_t& steps) noexcept {
  for (std::size_t at = 0; at < a.size(); ++at) {
    ++steps;
    if (a[at] != b[at]) return false;
  }
  return true;
}

}  // namespace

Glob::Glob(std::string_view pattern) : pattern_(pattern), border_(pattern.size(), 0) {
  std::size_t star = pattern.find('*');
  has_star_ = star != std::string_view::npos;
  beginning_ = {0, has_star_ ? star : pattern.size()};
  shortest_ = beginning_.size;
  while (star != std::string_view::npos) {
    const std::size_t next = pattern.find('*', star + 1);
    const Part part{star + 1, (next == std::string_view::npos ? pattern.size() : next) - star - 1};
    shortest_ += part.size;
    if (next == std::string_view::npos) {
      end_ = part;
    } else if (part.size > 0) {
      prepare(part);
      parts_.push_back(part);
    }
    star = next;
  }
}

void Glob::prepare(const Part& part) {
  const std::string_view wanted = text_of(part);
  std::size_t* const border = &border_[part.from];
  for (std::size_t at = 1, known = 0; at < wanted.size(); ++at) {
    while (++prepared_in_, wanted[at] != wanted[known] && known > 0) known = border[known - 1];
    if (wanted[at] == wanted[known]) ++known;
    border[at] = known;
  }
}

// Returns the end of the first occurrence at or after `from`; npos if there is none.
std::size_t Glob::find_end(const Part& part, std::string_view text, std::size_t from, std::size_t& steps) const noexcept {
  const std::string_view wanted = text_of(part);
  const std::size_t* const border = &border_[part.from];
  for (std::size_t at = from, known = 0; at < text.size(); ++at) {
    while (++steps, text[at] != wanted[known] && known > 0) known = border[known - 1];
    if (text[at] == wanted[known] && ++known == wanted.size()) return at + 1;
  }
  return std::string_view::npos;
}

bool Glob::matches(std::string_view text, std::size_t& steps) const noexcept {
  if (has_star_ ? text.size() < shortest_ : text.size() != shortest_) return false;
  if (!equal(text_of(beginning_), text, steps)) return false;
  const std::size_t last = text.size() - end_.size;
  if (!equal(text_of(end_), text.substr(last), steps)) return false;
  const std::string_view middle = text.substr(0, last);
  std::size_t at = beginning_.size;
  for (const Part& part : parts_) {
    at = find_end(part, middle, at, steps);
    if (at == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace resonate
