// Glob: a pattern over ids in which `*` stands for any run of characters and nothing else is special.
//
// The texts between the stars are found from left to right, each by the Knuth-Morris-Pratt search, which never looks at a character
// twice as often as it stands there. A match costs at most 2 steps for each byte of the id, whatever the pattern is, and the
// pattern is prepared once, in at most 2 steps for each of its bytes: no pattern of one tenant makes the requests of others wait.
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
  // Adds to `steps` how often two characters were compared.
  bool matches(std::string_view text, std::size_t& steps) const noexcept;

  // How many comparisons the preparation took.
  std::size_t prepared_in() const noexcept { return prepared_in_; }

 private:
  // What stands between two stars, as a piece of the pattern.
  struct Part {
    std::size_t from;
    std::size_t size;
  };

  std::string_view text_of(const Part& part) const noexcept { return std::string_view(pattern_).substr(part.from, part.size); }
  void prepare(const Part& part);
  std::size_t find_end(const Part& part, std::string_view text, std::size_t from, std::size_t& steps) const noexcept;

  std::string pattern_;
  Part beginning_{0, 0};  // before the first star
  Part end_{0, 0};        // after the last one
  std::vector<Part> parts_;
  // For each byte of a part: how long the longest proper prefix of the part is that ends there.
  std::vector<std::size_t> border_;
  std::size_t shortest_ = 0;  // the bytes of the pattern without its stars
  std::size_t prepared_in_ = 0;
  bool has_star_ = false;
};

}  // namespace resonate
