// Values in PostgreSQL's binary format: the parameters of a statement, columns of rows as arrays for unnest(), and results.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/instant.hpp"
#include "storage/libpq.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

enum class PostgresType : Oid { bigint = 20, text = 25, bigints = 1016, texts = 1009 };

// PostgreSQL's text holds no NUL. The bytes 0 and 1 are written as 1 1 and 1 2: every other text is unchanged, and the order of
// texts and their prefixes are kept.
void append_escaped(std::string& to, std::string_view text);
std::string unescaped(std::string_view text);

// The parameters of one statement, in order.
class PostgresParameters {
 public:
  PostgresParameters& integer(std::int64_t number);
  PostgresParameters& text(std::string_view text);
  PostgresParameters& copied(std::string_view given) { return text(given); }
  PostgresParameters& limit(std::size_t most);  // NULL for SIZE_MAX: no limit
  PostgresParameters& texts(const std::vector<std::string_view>& all);
  PostgresParameters& integers(const std::vector<std::int64_t>& all);
  // A whole value in binary format.
  PostgresParameters& binary(PostgresType type, std::string_view value);
  PostgresParameters& null(PostgresType type);

  int count() const noexcept { return static_cast<int>(types_.size()); }
  const std::vector<Oid>& types() const noexcept { return types_; }
  const std::vector<int>& lengths() const noexcept { return lengths_; }
  // Pointers to the values; valid until the next change.
  std::vector<const char*> values() const;

 private:
  void begin(PostgresType type);
  void end();
  template <class Element>
  PostgresParameters& array(PostgresType type, const std::vector<Element>& all);

  std::string bytes_;
  std::vector<Oid> types_;
  std::vector<std::size_t> begins_;  // SIZE_MAX: NULL
  std::vector<int> lengths_;
};

// Columns by their places: bit i is column i.
using ColumnSet = std::uint64_t;
inline constexpr std::size_t kMostColumns = 64;
inline constexpr ColumnSet kEveryColumn = ~ColumnSet{0};

// Rows by column, each column an array, or one value if it is the same in all rows. Values are given row by row: integer(), text()
// and so on are for the next column.
class PostgresColumns {
 public:
  explicit PostgresColumns(std::span<const SqlColumn> columns);

  PostgresColumns& integer(std::int64_t number);
  PostgresColumns& instant(Instant at) { return at == kUnset ? null() : integer(at); }
  PostgresColumns& text(std::string_view text);
  PostgresColumns& copied(std::string_view given) { return text(given); }
  PostgresColumns& text_or_null(const std::string* given) { return given ? text(*given) : null(); }
  PostgresColumns& null();

  std::size_t rows() const noexcept { return columns_.empty() ? 0 : columns_.front().size; }
  // The columns that are not the same in all rows; the first one, if several rows are all the same.
  ColumnSet differing() const noexcept;
  // The values in order of the columns. Columns in `arrays`, which has all that differ, are arrays; the others are single values.
  PostgresParameters parameters(ColumnSet arrays = kEveryColumn) const;

 private:
  struct Column {
    PostgresType type;
    std::int32_t size = 0;
    bool has_null = false;
    bool differs = false;
    std::size_t first = 0;      // the bytes of the first element
    std::string elements = {};  // while none differs from the first one: that alone

    void take(std::size_t added_at);
    std::string repeated(std::int32_t times) const;
  };
  template <class Append>
  PostgresColumns& add(Append append);

  std::vector<Column> columns_;
  std::size_t at_ = 0;
};

// A row of a result, for the readers of row_columns.hpp. Valid as long as the result.
class PostgresRow {
 public:
  PostgresRow(const PGresult* result, int row) noexcept : result_(result), row_(row) {}
  bool is_null(int column) const { return libpq().PQgetisnull(result_, row_, column) != 0; }
  std::int64_t integer(int column) const;
  std::string text(int column) const;
  std::string bytes(int column) const { return text(column); }  // the database is in UTF-8

 private:
  const PGresult* result_;
  int row_;
};

class PostgresResult {
 public:
  explicit PostgresResult(PGresult* result) noexcept : result_(result) {}
  PostgresResult(PostgresResult&& other) noexcept : result_(other.result_) { other.result_ = nullptr; }
  PostgresResult& operator=(PostgresResult&& other) noexcept {
    std::swap(result_, other.result_);
    return *this;
  }
  ~PostgresResult() {
    if (result_) libpq().PQclear(result_);
  }
  PostgresResult(const PostgresResult&) = delete;
  PostgresResult& operator=(const PostgresResult&) = delete;

  int rows() const { return libpq().PQntuples(result_); }
  PostgresRow row(int at) const { return {result_, at}; }
  // The number of rows that a statement has changed.
  std::int64_t changed() const;
  PGresult* get() const noexcept { return result_; }

 private:
  PGresult* result_;
};

}  // namespace resonate
