#include "instants.hpp"

#include <datetime.h>

#include <array>
#include <chrono>
#include <cstdio>

#include "arguments.hpp"
#include "gil.hpp"

namespace resonate::python {

namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

constexpr Instant kLooksLikeUnixTime = 100'000'000'000;
constexpr Instant kEndOfYear9999 = 253'402'300'799'999;

// It needs the GIL and runs once.
void import_datetime() {
  if (PyDateTimeAPI) return;
  PyDateTime_IMPORT;
  if (!PyDateTimeAPI) throw py::error_already_set();
}

// What its time zone adds to UTC. Any program's tzinfo may compute it.
microseconds utc_offset(py::handle given, const char* argument) {
  PyObject* const zone = PyDateTime_DATE_GET_TZINFO(given.ptr());
  if (zone == PyDateTime_TimeZone_UTC) return microseconds(0);
  if (zone != Py_None) {
    const py::object offset = call_method(given, "utcoffset");
    if (PyDelta_Check(offset.ptr())) {
      return days(PyDateTime_DELTA_GET_DAYS(offset.ptr())) + seconds(PyDateTime_DELTA_GET_SECONDS(offset.ptr())) +
             microseconds(PyDateTime_DELTA_GET_MICROSECONDS(offset.ptr()));
    }
  }
  raise(ErrorClass::invalid, std::string(argument) + " must be an aware datetime, got " + std::string(repr_of(given)) +
                                 ": give it a time zone, e.g. datetime.now(timezone.utc)");
}

Instant instant_of_datetime(py::handle given, const char* argument) {
  PyObject* const at = given.ptr();
  const sys_days day =
      std::chrono::year(PyDateTime_GET_YEAR(at)) / PyDateTime_GET_MONTH(at) / static_cast<int>(PyDateTime_GET_DAY(at));
  const auto local = day + hours(PyDateTime_DATE_GET_HOUR(at)) + minutes(PyDateTime_DATE_GET_MINUTE(at)) +
                     seconds(PyDateTime_DATE_GET_SECOND(at)) + microseconds(PyDateTime_DATE_GET_MICROSECOND(at));
  return floor<milliseconds>(local - utc_offset(given, argument)).time_since_epoch().count();
}

}  // namespace

bool is_datetime(py::handle given) {
  import_datetime();
  return PyDateTime_Check(given.ptr());
}

Instant instant(py::handle given, const char* argument) {
  if (PyLong_CheckExact(given.ptr())) return integer(given, argument);
  if (is_datetime(given)) return instant_of_datetime(given, argument);
  if (PyBool_Check(given.ptr()) || !PyIndex_Check(given.ptr()))
    wrong_type(argument, "an int of Unix milliseconds or an aware datetime", given);
  return integer(given, argument);
}

std::optional<Instant> optional_instant(py::handle given, const char* argument) {
  if (given.is_none()) return std::nullopt;
  return instant(given, argument);
}

std::string shown_instant(Instant at) {
  if (at < kLooksLikeUnixTime || at > kEndOfYear9999) return std::to_string(at);
  const std::chrono::sys_time<milliseconds> time{milliseconds(at)};
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::array<char, 40> text{};
  const int length = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int(date.year()),
                                   unsigned(date.month()), unsigned(date.day()), int(clock.hours().count()),
                                   int(clock.minutes().count()), int(clock.seconds().count()), int(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace resonate::python
