// Globs of ids: compares them with the simplest matcher on random patterns, and the number of comparisons with its bound.
#include "machine/glob.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace resonate {
namespace {

bool matches(std::string_view pattern, std::string_view text) { return Glob(pattern).matches(text); }

// The definition: a star matches nothing, or one more character.
bool plainly_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*')
    return plainly_matches(pattern.substr(1), text) || (!text.empty() && plainly_matches(pattern, text.substr(1)));
  return !text.empty() && pattern.front() == text.front() && plainly_matches(pattern.substr(1), text.substr(1));
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Glob, StarsAlone) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("**", "a"));
  EXPECT_TRUE(matches("a*a*a", "aXaYaZa"));
  EXPECT_FALSE(matches("a*b", "aXbY"));
  EXPECT_TRUE(matches("*aab", "aaaaab"));
  EXPECT_FALSE(matches("[a]", "a"));
  EXPECT_FALSE(matches("aba*aba", "ababa"));  // beginning and end must not overlap
  EXPECT_FALSE(matches("*ab*b", "ab"));
  EXPECT_TRUE(matches(std::string_view("a\0*\0b", 5), std::string_view("a\0\n\0b", 5)));
}

TEST(Glob, AgreesWithThePlainestMatcher) {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto text_of = [&](std::string_view letters, std::size_t longest) {
    std::string text(random() % (longest + 1), ' ');
    for (char& one : text) one = letters[random() % letters.size()];
    return text;
  };
  std::size_t matched = 0;
  constexpr int kTrials = 60'000;
  for (int i = 0; i < kTrials; ++i) {
    const std::string pattern = text_of(i % 2 == 0 ? "aab*" : "ab**", 9);
    const std::string text = text_of("ab", 12);
    const bool expected = plainly_matches(pattern, text);
    ASSERT_EQ(matches(pattern, text), expected) << pattern << " on " << text;
    matched += expected;
  }
  EXPECT_GT(matched, kTrials / 20);
  EXPECT_LT(matched, kTrials - kTrials / 20);
}

TEST(Glob, ComparesEachCharacterAtMostTwice) {
  const std::string text = repeated("a", 2000);
  const std::string halves = repeated("a", 1000) + repeated("b", 1000);
  for (const std::size_t length : {1u, 10u, 100u, 1000u, 1990u})
    for (const std::string& id : {text, halves, repeated("ab", 1000), repeated("a", 1999) + "b"})
      for (const std::string& pattern :
           {"*" + repeated("a", length) + "b*", "*" + repeated("a", length) + "b", repeated("a", length) + "*b",
            repeated("*a", length) + "b", repeated("*a", length) + "*b*", repeated("*ab", length / 2) + "*aa*",
            "*" + repeated("ab", length / 2) + "b*", "*" + repeated("a", length / 2) + "b" + repeated("a", length / 2) + "*"}) {
        const Glob glob(pattern);
        std::size_t steps = 0;
        (void)glob.matches(id, steps);
        EXPECT_LE(steps, 2 * id.size()) << pattern.size() << " bytes of pattern";
        EXPECT_LE(glob.prepared_in(), 2 * pattern.size());
      }
}

}  // namespace
}  // namespace resonate
