// Shown<"int | None">: an argument or result that is passed unconverted and names its type for signatures, documentation and stubs.
//
// The functions convert such arguments themselves (arguments.hpp), so that an error names the argument and the value, and a call
// pays only for the conversions that it needs.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstddef>

namespace resonate::python {

namespace py = pybind11;

template <std::size_t N>
struct Literal {
  char text[N]{};
  constexpr Literal(const char (&from)[N]) { std::copy_n(from, N, text); }  // NOLINT: implicit, for template arguments
};

inline bool anything(PyObject*) { return true; }

template <Literal Type>
class Shown : public py::object {
 public:
  PYBIND11_OBJECT_DEFAULT(Shown, object, anything)
  static constexpr const auto& type_name() { return kType.text; }

 private:
  static constexpr auto kType = Type;
};

// Types that many functions use.
using Str = Shown<"str">;
using OptionalStr = Shown<"str | None">;
using OptionalNumber = Shown<"float | None">;
using Int = Shown<"int">;
using OptionalInt = Shown<"int | None">;
using DurationArgument = Shown<"int | datetime.timedelta">;
using OptionalDuration = Shown<"int | datetime.timedelta | None">;
using StringMapping = Shown<"collections.abc.Mapping[str, str] | None">;
using OptionalBool = Shown<"bool | None">;
using AnyValue = Shown<"typing.Any">;
using JsonDict = Shown<"dict[str, typing.Any]">;

}  // namespace resonate::python

namespace pybind11::detail {
template <resonate::python::Literal Type>
struct handle_type_name<resonate::python::Shown<Type>> {
  static constexpr auto name = const_name(resonate::python::Shown<Type>::type_name());
};
}  // namespace pybind11::detail
