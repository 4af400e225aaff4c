// How rows are given to a statement: columns that are the same in all rows as one value, the others as arrays.
#include "storage/postgres_values.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "storage/postgres_statements.hpp"

namespace resonate {
namespace {

constexpr std::array kColumns = {"id"_text, "number"_integer, "note"_text};

PostgresColumns rows(std::initializer_list<std::array<std::string_view, 2>> given, std::int64_t number = 7) {
  PostgresColumns columns(kColumns);
  for (const auto& [id, note] : given) {
    columns.text(id).integer(number);
    note.empty() ? columns.null() : columns.text(note);
  }
  return columns;
}

std::string value(const PostgresParameters& parameters, std::size_t at) {
  return {parameters.values()[at], static_cast<std::size_t>(parameters.lengths()[at])};
}

std::string big_endian(std::int64_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(number >> shift & 0xff));
  return text;
}

std::string array_of(std::initializer_list<std::string_view> texts, bool has_null = false) {
  std::string array = big_endian(1, 4) + big_endian(has_null ? 1 : 0, 4) + big_endian(25, 4);
  array += big_endian(static_cast<std::int64_t>(texts.size()), 4) + big_endian(1, 4);
  for (const std::string_view text : texts)
    array += text.empty() ? big_endian(-1, 4) : big_endian(static_cast<std::int64_t>(text.size()), 4).append(text);
  return array;
}

TEST(PostgresColumns, OneRowHasNoArrays) {
  const PostgresColumns one = rows({{"a", ""}});
  EXPECT_EQ(one.differing(), 0U);
  const PostgresParameters parameters = one.parameters(0);
  EXPECT_EQ(value(parameters, 0), "a");
  EXPECT_EQ(value(parameters, 1), big_endian(7, 8));
  EXPECT_EQ(parameters.values()[2], nullptr);
  EXPECT_EQ(parameters.types(), (std::vector<Oid>{25, 20, 25}));
}

TEST(PostgresColumns, AColumnIsAnArrayIfAnyRowDiffers) {
  EXPECT_EQ(rows({{"a", "x"}, {"b", "x"}, {"c", "x"}}).differing(), 0b001U);
  EXPECT_EQ(rows({{"a", "x"}, {"b", "x"}, {"c", "y"}}).differing(), 0b101U);
  EXPECT_EQ(rows({{"a", "x"}, {"b", ""}}).differing(), 0b101U);
  EXPECT_EQ(rows({{"a", ""}, {"b", "x"}}).differing(), 0b101U);
  EXPECT_EQ(rows({{"a", "x"}, {"b", "xx"}}).differing(), 0b101U);
  EXPECT_EQ(rows({{"a", "x"}, {"a", "x"}}).differing(), 0b001U) << "two rows are made from an array of two";
}

TEST(PostgresColumns, AnArrayHasTheValuesOfAllRows) {
  const PostgresColumns three = rows({{"a", "x"}, {"b", "x"}, {"c", "yy"}});
  const PostgresParameters parameters = three.parameters(three.differing());
  EXPECT_EQ(value(parameters, 0), array_of({"a", "b", "c"}));
  EXPECT_EQ(value(parameters, 1), big_endian(7, 8));
  EXPECT_EQ(value(parameters, 2), array_of({"x", "x", "yy"}));
  const PostgresColumns last = rows({{"a", "x"}, {"b", "x"}, {"c", ""}});
  EXPECT_EQ(value(last.parameters(last.differing()), 2), array_of({"x", "x", ""}, true));
}

TEST(PostgresColumns, AColumnThatIsTheSameCanBeAnArray) {
  const PostgresColumns two = rows({{"a", "x"}, {"b", "x"}});
  EXPECT_EQ(value(two.parameters(), 2), array_of({"x", "x"}));
  EXPECT_EQ(value(two.parameters(), 2), value(two.parameters(0b101), 2));
  const PostgresColumns without = rows({{"a", ""}, {"b", ""}});
  EXPECT_EQ(value(without.parameters(), 2), array_of({"", ""}, true));
}

TEST(WritingStatement, TakesWhatDiffersAsArrays) {
  const WritingStatement& one = writing_statement(PostgresQuery::lease_messages, 0);
  EXPECT_EQ(one.arrays, 0U);
  EXPECT_EQ(one.statement.text.find("unnest"), std::string::npos) << one.statement.text;
  EXPECT_EQ(&one, &writing_statement(PostgresQuery::lease_messages, 0));
  const WritingStatement& first = writing_statement(PostgresQuery::insert_queues, 0b001);
  EXPECT_EQ(first.statement.text,
            "INSERT INTO queues (name, version, body) SELECT u.name, $2::bigint, $3::text FROM unnest($1::text[]) AS u (name)");
}

TEST(WritingStatement, ThereAreFew) {
  std::set<std::string> names;
  for (ColumnSet differing = 0; differing < 256; ++differing) {
    const WritingStatement& found = writing_statement(PostgresQuery::insert_edges, differing);
    EXPECT_EQ(differing & ~found.arrays, 0U);
    names.insert(found.statement.name);
  }
  EXPECT_LE(names.size(), 13U);
}

}  // namespace
}  // namespace resonate
