// Needles: compares them with the simplest search on random texts, and the number of moves with its bound.
#include "needles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace resonate {
namespace {

std::string replaced(const std::vector<std::string>& needles, std::string_view text, bool cut = false) {
  return Needles({needles.begin(), needles.end()}).replaced(text, "-", cut);
}

// The definition: each byte of an occurrence is hidden, and each stretch of hidden bytes is one replacement.
std::string plainly_replaced(const std::vector<std::string>& needles, const std::string& text, bool cut) {
  std::vector<bool> hidden(text.size() + 1);
  // Occurrences that touch are one stretch, as those that overlap.
  for (const std::string& needle : needles) {
    if (needle.empty()) continue;
    for (std::size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + 1))
      std::fill_n(hidden.begin() + static_cast<std::ptrdiff_t>(at), needle.size(), true);
    for (std::size_t size = needle.size() - 1; cut && size >= Needles::kBeginning; --size)
      if (text.ends_with(needle.substr(0, size)))
        std::fill_n(hidden.begin() + static_cast<std::ptrdiff_t>(text.size() - size), size, true);
  }
  std::string made;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!hidden[at]) made += text[at];
    if (hidden[at] && !hidden[at + 1]) made += '-';
  }
  return made;
}

TEST(Needles, OccurrencesMayOverlapAndTouch) {
  EXPECT_EQ(replaced({}, "abc"), "abc");
  EXPECT_EQ(replaced({""}, "abc"), "abc");
  EXPECT_EQ(replaced({"abcd", "cdef"}, "xabcdefx"), "x-x");
  EXPECT_EQ(replaced({"ab", "cd", "abXcdYZ"}, "abXcdYZ"), "-");
  EXPECT_EQ(replaced({"ab", "cd", "abXcdYZ"}, "abXcdY"), "-X-Y");
  EXPECT_EQ(replaced({"aa"}, "aaaaa b"), "- b");
  EXPECT_EQ(replaced({std::string("\0b", 2)}, std::string_view("a\0b", 3)), "a-");
}

TEST(Needles, ALongNeedleHidesTheRest) {
  const std::string needle(1000, 'n');
  EXPECT_EQ(replaced({needle}, "a" + needle + "b"), "a-");
  EXPECT_EQ(replaced({needle}, "a" + needle.substr(0, Needles::kLongest - 1) + "b"),
            "a" + needle.substr(0, Needles::kLongest - 1) + "b");
}

TEST(Needles, AnEndThatWasCut) {
  EXPECT_EQ(replaced({"secret"}, "a secr"), "a secr");
  EXPECT_EQ(replaced({"secret"}, "a secr", true), "a -");
  EXPECT_EQ(replaced({"secret"}, "a sec", true), "a sec");
  EXPECT_EQ(replaced({"secret"}, "a secret", true), "a -");
}

TEST(Needles, AgreesWithThePlainestSearch) {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto text_of = [&](std::size_t longest) {
    std::string text(random() % (longest + 1), ' ');
    for (char& one : text) one = "aab"[random() % 3];
    return text;
  };
  for (int i = 0; i < 30'000; ++i) {
    std::vector<std::string> needles(random() % 5);
    for (std::string& needle : needles) needle = text_of(7);
    const std::string text = text_of(24);
    const bool cut = random() % 2 == 0;
    ASSERT_EQ(replaced(needles, text, cut), plainly_replaced(needles, text, cut))
        << text << " " << ::testing::PrintToString(needles);
  }
}

TEST(Needles, MovesAtMostTwicePerByte) {
  std::vector<std::string> needles;
  for (std::size_t i = 0; i < 250; ++i) needles.push_back(std::string(i + 4, 'a') + "b");
  const Needles searched({needles.begin(), needles.end()});
  for (const std::string& text :
       {std::string(20'000, 'a'), std::string(20'000, 'b'), std::string(300, 'a') + std::string(300, 'c')}) {
    std::size_t moves = 0;
    EXPECT_EQ(searched.replaced(text, "-", false, moves), text);
    EXPECT_LE(moves, 2 * text.size());
  }
}

}  // namespace
}  // namespace resonate
