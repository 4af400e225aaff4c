#include "needles.hpp"

#include <algorithm>

namespace resonate {

Needles::Needles(const std::vector<std::string_view>& needles) : nodes_(1) {
  for (const std::string_view needle : needles) {
    const std::string_view kept = needle.substr(0, kLongest);
    if (kept.empty()) continue;
    State state = 0;
    for (const char c : kept) {
      const auto byte = static_cast<unsigned char>(c);
      State next = child(state, byte);
      if (next == 0) {
        next = static_cast<State>(nodes_.size());
        Node made;
        made.byte = byte;
        made.depth = static_cast<std::uint16_t>(nodes_[state].depth + 1);
        made.sibling = nodes_[state].first_child;
        nodes_.push_back(made);
        nodes_[state].first_child = next;
        if (state == 0) first_[byte] = next;
      }
      state = next;
    }
    nodes_[state].longest = nodes_[state].depth;
    nodes_[state].is_open = nodes_[state].is_open || kept.size() < needle.size();
  }
  link();
}

Needles::State Needles::child(State state, unsigned char byte) const noexcept {
  if (state == 0) return first_[byte];
  State found = nodes_[state].first_child;
  while (found != 0 && nodes_[found].byte != byte) found = nodes_[found].sibling;
  return found;
}

// Sets the fallbacks, the shorter beginnings first.
void Needles::link() {
  std::vector<State> waiting;
  for (const State state : first_)
    if (state != 0) waiting.push_back(state);
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    const State state = waiting[at];
    for (State next = nodes_[state].first_child; next != 0; next = nodes_[next].sibling) {
      State above = nodes_[state].fallback;
      while (above != 0 && child(above, nodes_[next].byte) == 0) above = nodes_[above].fallback;
      nodes_[next].fallback = child(above, nodes_[next].byte);
      const Node& shorter = nodes_[nodes_[next].fallback];
      nodes_[next].longest = std::max(nodes_[next].longest, shorter.longest);
      nodes_[next].is_open = nodes_[next].is_open || shorter.is_open;
      waiting.push_back(next);
    }
  }
}

std::string Needles::replaced(std::string_view text, std::string_view with, bool cut, std::size_t& moves) const {
  struct Stretch {
    std::size_t from;
    std::size_t to;
  };
  std::vector<Stretch> found;  // apart from each other, in order
  const auto add = [&found](std::size_t from, std::size_t to) {
    for (; !found.empty() && found.back().to >= from; found.pop_back()) from = std::min(from, found.back().from);
    found.push_back({from, to});
  };
  State state = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    State next = child(state, byte);
    while (++moves, next == 0 && state != 0) {
      state = nodes_[state].fallback;
      next = child(state, byte);
    }
    state = next;
    const Node& node = nodes_[state];
    if (node.longest == 0) continue;
    add(at + 1 - node.longest, node.is_open ? text.size() : at + 1);
    if (node.is_open) break;
  }
  const std::size_t beginning = nodes_[state].depth;
  if (cut && beginning >= kBeginning) add(text.size() - beginning, text.size());
  std::string made;
  std::size_t copied = 0;
  for (const Stretch& stretch : found) {
    made.append(text.substr(copied, stretch.from - copied)).append(with);
    copied = stretch.to;
  }
  return made.append(text.substr(copied));
}

}  // namespace resonate
