#include <string>

#include "machine/calendar.hpp"

namespace resonate::detail {

std::string date_of_day(std::int64_t day) {
  const calendar::Date date = calendar::date_of(day);
  const auto padded = [](std::int64_t number, std::size_t digits) {
    std::string text = std::to_string(number);
    return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
  };
  return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2);
}

}  // namespace resonate::detail
