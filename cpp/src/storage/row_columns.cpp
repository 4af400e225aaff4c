#include "storage/row_columns.hpp"

namespace resonate {

std::string list_of(std::span<const SqlColumn> columns, std::string_view prefix, std::string_view suffix) {
  std::string list;
  for (const SqlColumn& column : columns) {
    if (!list.empty()) list += ", ";
    list.append(prefix).append(column.name).append(suffix);
  }
  return list;
}

std::string select_from(std::string_view table, std::span<const SqlColumn> columns) {
  return "SELECT " + list_of(columns, {}, " AS _") + " FROM " + std::string(table) + " WHERE ";
}

std::string select_range(std::string_view table, Index index) {
  const IndexColumns& columns = kIndexColumns[place_of(index)];
  std::string sql = select_from(table, kRowColumns);
  std::string order;
  std::string place;
  for (const char* column : {columns.queue, columns.text})
    if (column) sql.append(column).append(" = ? AND ");
  if (columns.minor) sql.append(columns.minor).append(" IS NOT NULL AND ");  // without it SQLite does not use the partial index
  if (columns.condition) sql.append(columns.condition).append(" AND ");
  const bool reversed = is_reversed(index);
  if (columns.major) sql.append(columns.major).append(reversed ? " >= ? AND " : " <= ? AND ");
  std::string parts;
  const char* const direction = reversed ? " DESC" : "";
  for (const char* column : {columns.major, columns.minor}) {
    if (!column) continue;
    order.append(column).append(direction).append(", ");
    parts.append(column).append(", ");
    place.append("?, ");
  }
  return sql + "(" + parts + "id) " + (reversed ? "<" : ">") + " (" + place + "?) ORDER BY " + order + "id" + direction +
         " LIMIT ?";
}

std::string select_holders(std::string_view table) {
  const std::string next = "SELECT min(pid) FROM " + std::string(table) + " WHERE pid > ";
  return "WITH RECURSIVE held (pid) AS (" + next + "? UNION ALL SELECT (" + next +
         "held.pid) FROM held WHERE held.pid IS NOT NULL) SELECT pid FROM held WHERE pid IS NOT NULL LIMIT ?";
}

std::int64_t dialect_number(DialectId dialect) noexcept { return dialect == DialectId::k2025_01_15 ? 20250115 : 20260401; }

DialectId dialect_of_number(std::int64_t number) {
  for (const DialectId dialect : {DialectId::k2026_04_01, DialectId::k2025_01_15})
    if (dialect_number(dialect) == number) return dialect;
  throw Error(ErrorCode::storage, "a stored row is damaged: its dialect is " + std::to_string(number));
}

void refuse_number(int at, std::int64_t number) {
  throw Error(ErrorCode::storage, "a stored row is damaged: column " + std::to_string(at) + " holds " + std::to_string(number));
}

std::string batch_column(std::string_view text, std::string_view type) {
  std::string column(type.empty() ? "b" : "g" + std::to_string(type.size()) + ":");
  return column.append(type).append(text);
}

Shared<const JobTemplate> read_template(std::string json) {
  try {
    return order_of_json(json);
  } catch (const Error& error) {
    Shared<JobTemplate> unread(new JobTemplate);
    unread->unread = std::move(json);
    unread->problem = error.what();
    return unread;
  }
}

}  // namespace resonate
