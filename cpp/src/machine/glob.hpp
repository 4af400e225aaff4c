// Glob: a pattern over ids. `*` matches any sequence of characters; no other character is special.
//
// The parts between the stars are searched from left to right with the Knuth-Morris-Pratt algorithm. A match takes at most 2
// comparisons per byte of the id, whatever the pattern, and the pattern is prepared once with at most 2 comparisons per byte. So
// the pattern of one tenant cannot delay the requests of others.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace resonate {

class Glob {
 public:
  explicit Glob(std::string_view pattern);

  bool matches(std::string_view text) const noexcept {
    std::size_t steps = 0;
    return matches(text, steps);
  }
  // Adds the number of character comparisons to `steps`.
  bool matches(std::string_view text, std::size_t& steps) const noexcept;

  // The number of comparisons that the preparation took.
  std::size_t prepared_in() const noexcept { return prepared_in_; }

 private:
  // The part of the pattern between two stars.
  struct Part {
    std::size_t from;
    std::size_t size;
  };

  std::string_view text_of(const Part& part) const noexcept { return std::string_view(pattern_).substr(part.from, part.size); }
  void prepare(const Part& part);
  std::size_t find_end(const Part& part, std::string_view text, std::size_t from, std::size_t& steps) const noexcept;

  std::string pattern_;
  Part beginning_{0, 0};  // before the first star
  Part end_{0, 0};        // after the last star
  std::vector<Part> parts_;
  // For each byte of a part: the length of the longest proper prefix of the part that ends at that byte.
  std::vector<std::size_t> border_;
  std::size_t shortest_ = 0;  // the number of bytes of the pattern without its stars
  std::size_t prepared_in_ = 0;
  bool has_star_ = false;
};

}  // namespace resonate
