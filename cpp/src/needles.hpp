// Needles: many texts, all occurrences of which are found in one pass over another text.
//
// They are searched with the algorithm of Aho and Corasick: a state is the longest beginning of a needle that ends at the present
// byte. A pass takes at most 2 moves per byte, whatever the number of needles is, so that many hidden values in one response cannot
// delay the requests of others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace resonate {

class Needles {
 public:
  // Only the first `kLongest` bytes of a needle are kept: the rest of a text from there on counts as its occurrence.
  static constexpr std::size_t kLongest = 256;
  // A text that was cut may end with the beginning of a needle, which counts if it has so many bytes.
  static constexpr std::size_t kBeginning = 4;

  explicit Needles(const std::vector<std::string_view>& needles);

  // Returns the text with each stretch of occurrences, which may overlap, replaced. `cut`: the text is the beginning of a longer
  // one.
  std::string replaced(std::string_view text, std::string_view with, bool cut) const {
    std::size_t moves = 0;
    return replaced(text, with, cut, moves);
  }
  // Adds the number of moves between states to `moves`.
  std::string replaced(std::string_view text, std::string_view with, bool cut, std::size_t& moves) const;

 private:
  using State = std::uint32_t;
  struct Node {
    State first_child = 0;
    State sibling = 0;
    State fallback = 0;         // the longest proper end of this beginning that is a beginning, too
    std::uint16_t depth = 0;    // the number of bytes of this beginning
    std::uint16_t longest = 0;  // the bytes of the longest needle that ends here; 0: none does
    unsigned char byte = 0;
    bool is_open = false;  // a needle was cut here
  };

  State child(State state, unsigned char byte) const noexcept;
  void link();

  std::vector<Node> nodes_;
  std::array<State, 256> first_{};  // the children of the root
};

}  // namespace resonate
