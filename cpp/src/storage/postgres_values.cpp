#include "storage/postgres_values.hpp"

#include <charconv>
#include <cstring>

#include "resonate/errors.hpp"

namespace resonate {

namespace {

// An element of an array begins with its length.
constexpr std::size_t kLengthBytes = 4;
constexpr std::int32_t kNullLength = -1;

template <class Integer>
void append_big_endian(std::string& to, Integer number) {
  for (int shift = static_cast<int>(sizeof(number) - 1) * 8; shift >= 0; shift -= 8)
    to.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> shift & 0xff));
}

void append_element(std::string& to, std::int64_t number) {
  append_big_endian<std::int32_t>(to, sizeof(number));
  append_big_endian(to, number);
}

void append_element(std::string& to, std::string_view text) {
  const std::size_t at = to.size();
  to.append(kLengthBytes, '\0');
  append_escaped(to, text);
  std::string length;
  append_big_endian(length, static_cast<std::int32_t>(to.size() - at - kLengthBytes));
  to.replace(at, kLengthBytes, length);
}

constexpr PostgresType element_of(PostgresType array) {
  return array == PostgresType::bigints ? PostgresType::bigint : PostgresType::text;
}

// An array of one dimension.
void append_array(std::string& to, PostgresType array, std::int32_t size, bool has_null, std::string_view elements) {
  append_big_endian<std::int32_t>(to, size > 0 ? 1 : 0);
  append_big_endian<std::int32_t>(to, has_null ? 1 : 0);
  append_big_endian<std::int32_t>(to, static_cast<std::int32_t>(element_of(array)));
  if (size == 0) return;
  append_big_endian<std::int32_t>(to, size);
  append_big_endian<std::int32_t>(to, 1);
  to.append(elements);
}

}  // namespace

void append_escaped(std::string& to, std::string_view text) {
  for (;;) {
    std::size_t clean = 0;
    while (clean < text.size() && static_cast<unsigned char>(text[clean]) > 1) ++clean;
    to.append(text.substr(0, clean));
    if (clean == text.size()) return;
    to.push_back('\1');
    to.push_back(text[clean] == '\0' ? '\1' : '\2');
    text.remove_prefix(clean + 1);
  }
}

std::string unescaped(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at)
    plain.push_back(text[at] == '\1' && at + 1 < text.size() ? (text[++at] == '\1' ? '\0' : '\1') : text[at]);
  return plain;
}

void PostgresParameters::begin(PostgresType type) {
  types_.push_back(static_cast<Oid>(type));
  begins_.push_back(bytes_.size());
}

void PostgresParameters::end() { lengths_.push_back(static_cast<int>(bytes_.size() - begins_.back())); }

PostgresParameters& PostgresParameters::integer(std::int64_t number) {
  begin(PostgresType::bigint);
  append_big_endian(bytes_, number);
  end();
  return *this;
}

PostgresParameters& PostgresParameters::text(std::string_view text) {
  begin(PostgresType::text);
  append_escaped(bytes_, text);
  end();
  return *this;
}

PostgresParameters& PostgresParameters::limit(std::size_t most) {
  if (most <= static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())) return integer(static_cast<std::int64_t>(most));
  return null(PostgresType::bigint);
}

template <class Element>
PostgresParameters& PostgresParameters::array(PostgresType type, const std::vector<Element>& all) {
  std::string elements;
  for (const Element one : all) append_element(elements, one);
  begin(type);
  append_array(bytes_, type, static_cast<std::int32_t>(all.size()), false, elements);
  end();
  return *this;
}

PostgresParameters& PostgresParameters::texts(const std::vector<std::string_view>& all) { return array(PostgresType::texts, all); }

PostgresParameters& PostgresParameters::integers(const std::vector<std::int64_t>& all) { return array(PostgresType::bigints, all); }

PostgresParameters& PostgresParameters::binary(PostgresType type, std::string_view value) {
  begin(type);
  bytes_.append(value);
  end();
  return *this;
}

PostgresParameters& PostgresParameters::null(PostgresType type) {
  begin(type);
  end();
  begins_.back() = SIZE_MAX;
  return *this;
}

std::vector<const char*> PostgresParameters::values() const {
  std::vector<const char*> values;
  values.reserve(begins_.size());
  for (const std::size_t at : begins_) values.push_back(at == SIZE_MAX ? nullptr : bytes_.data() + at);
  return values;
}

PostgresColumns::PostgresColumns(std::span<const SqlColumn> columns) {
  columns_.reserve(columns.size());
  for (const SqlColumn& one : columns)
    columns_.push_back({one.type == SqlType::integer ? PostgresType::bigints : PostgresType::texts});
}

// Keeps the element that was appended at this place.
void PostgresColumns::Column::take(std::size_t added_at) {
  if (++size == 1) {
    first = elements.size();
  } else if (!differs) {
    const std::string_view all(elements);
    if (all.substr(added_at) == all.substr(0, first)) return elements.resize(first);
    elements = repeated(size - 1).append(all.substr(added_at));
    differs = true;
  }
}

// The first element, so many times.
std::string PostgresColumns::Column::repeated(std::int32_t times) const {
  std::string all;
  all.reserve(first * static_cast<std::size_t>(times));
  for (; times > 0; --times) all.append(elements, 0, first);
  return all;
}

template <class Append>
PostgresColumns& PostgresColumns::add(Append append) {
  Column& column = columns_[at_];
  at_ = (at_ + 1) % columns_.size();
  const std::size_t at = column.elements.size();
  append(column);
  column.take(at);
  return *this;
}

PostgresColumns& PostgresColumns::integer(std::int64_t number) {
  return add([number](Column& column) { append_element(column.elements, number); });
}

PostgresColumns& PostgresColumns::text(std::string_view text) {
  return add([text](Column& column) { append_element(column.elements, text); });
}

PostgresColumns& PostgresColumns::null() {
  return add([](Column& column) {
    column.has_null = true;
    append_big_endian(column.elements, kNullLength);
  });
}

ColumnSet PostgresColumns::differing() const noexcept {
  ColumnSet found = 0;
  for (std::size_t at = 0; at < columns_.size(); ++at)
    if (columns_[at].differs) found |= ColumnSet{1} << at;
  return found == 0 && rows() > 1 ? ColumnSet{1} : found;
}

PostgresParameters PostgresColumns::parameters(ColumnSet arrays) const {
  PostgresParameters all;
  for (std::size_t at = 0; at < columns_.size(); ++at) {
    const Column& column = columns_[at];
    if (arrays >> at & 1) {
      std::string array;
      const std::string same = column.differs ? std::string() : column.repeated(column.size);
      append_array(array, column.type, column.size, column.has_null, column.differs ? column.elements : same);
      all.binary(column.type, array);
    } else if (column.has_null) {
      all.null(element_of(column.type));
    } else {
      all.binary(element_of(column.type), std::string_view(column.elements).substr(kLengthBytes));
    }
  }
  return all;
}

std::int64_t PostgresRow::integer(int column) const {
  const int length = libpq().PQgetlength(result_, row_, column);
  const char* const bytes = libpq().PQgetvalue(result_, row_, column);
  if (length != 2 && length != 4 && length != 8)
    throw Error(ErrorCode::storage, "a stored row is damaged: column " + std::to_string(column) + " is no integer");
  std::uint64_t number = static_cast<signed char>(bytes[0]) < 0 ? ~std::uint64_t{0} : 0;  // the sign
  for (int i = 0; i < length; ++i) number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<std::int64_t>(number);
}

std::string PostgresRow::text(int column) const {
  const std::string_view bytes(libpq().PQgetvalue(result_, row_, column),
                               static_cast<std::size_t>(libpq().PQgetlength(result_, row_, column)));
  return bytes.find('\1') == std::string_view::npos ? std::string(bytes) : unescaped(bytes);
}

std::int64_t PostgresResult::changed() const {
  const std::string_view digits(libpq().PQcmdTuples(result_));
  std::int64_t count = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return count;
}

}  // namespace resonate
