// Python arguments for structs that describe their members (resonate/described.hpp): dictionaries as the wire has them, and typed
// keywords under the members' Python names.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "arguments.hpp"
#include "codec/described_read.hpp"
#include "gil.hpp"
#include "python_node.hpp"
#include "resonate/requests.hpp"

namespace resonate::python {

using PolicyArgument = Shown<"collections.abc.Mapping[str, typing.Any] | None">;
using MembersArgument = Shown<"collections.abc.Mapping[str, typing.Any] | None">;
using Awaited = Shown<"str | resonate_core._core.Job | collections.abc.Iterable[str | resonate_core._core.Job]">;
using AwaitedArgument = Shown<"str | resonate_core._core.Job | collections.abc.Iterable[str | resonate_core._core.Job] | None">;
using ParentArgument = Shown<"resonate_core._core.Job | collections.abc.Mapping[str, typing.Any] | None">;
using StructsArgument = Shown<"collections.abc.Iterable[collections.abc.Mapping[str, typing.Any]]">;
using TextsArgument = Shown<"str | collections.abc.Iterable[str] | None">;
using RetentionArgument = Shown<"int | datetime.timedelta | typing.Literal['kept'] | None">;

// The ids of what a job is to wait for: given as ids or jobs, one or several.
std::vector<std::string> awaited_ids(py::handle given, const char* argument);
// A running job, or its id and version.
JobParent job_parent(py::handle given, const char* argument);
// A duration of 0 or more, or "kept".
Duration retention(py::handle given, const char* argument);

// The type of a member without std::optional and Setting: that of a value given for it.
template <class M>
struct OnceGiven {
  using Type = M;
};
template <class M>
struct OnceGiven<std::optional<M>> : OnceGiven<M> {};
template <class M>
struct OnceGiven<Setting<M>> : OnceGiven<M> {};
template <class T, std::size_t I>
using MemberType = typename OnceGiven<std::remove_reference_t<decltype(kField<T, I>.access(std::declval<T&>()))>>::Type;

// Throws for a name that is no member of T. On the wire unknown members are ignored, since a newer client may send them; a Python
// program that passes one has misspelt it.
template <class T>
void require_known(const py::dict& members, const std::string& argument) {
  for (const auto& item : members) {
    const std::string_view name = text(item.first, "name of a member");
    std::string names;
    bool known = false;
    each_field<T>([&]<std::size_t I>() {
      constexpr std::string_view kName = name_of(kField<T, I>.field);
      names += (names.empty() ? "" : ", ") + std::string(kName);
      if (name != kName) return;
      known = true;
      if constexpr (Described<MemberType<T, I>>) {
        if (PyDict_Check(item.second.ptr()))
          require_known<MemberType<T, I>>(py::reinterpret_borrow<py::dict>(item.second), argument + "." + std::string(kName));
      }
    });
    if (!known) raise(ErrorClass::invalid, argument + " has no member '" + std::string(name) + "'; there are " + names);
  }
}

// A mapping as the wire has it, read by the decoder of the wire.
template <class T>
T described_argument(py::handle given, const char* argument) {
  if (!py::hasattr(given, "keys")) wrong_type(argument, "a mapping", given);
  const py::dict copy = call(reinterpret_cast<PyObject*>(&PyDict_Type), given);  // of any mapping
  require_known<T>(copy, argument);
  try {
    return resonate::detail::read_described<T>(PythonNode(copy.ptr()), Path(std::string_view(argument), nullptr));
  } catch (const Malformed& malformed) {
    raise(ErrorClass::invalid, malformed.message);
  }
}

// The type of an argument for a member, as signatures show it.
template <class T, std::size_t I>
constexpr const char* keyword_type() {
  constexpr const auto& rules = kField<T, I>;
  using M = MemberType<T, I>;
  if constexpr (rules.presence == Presence::required) {
    if constexpr (rules.unit == Unit::duration) return DurationArgument::type_name();
    if constexpr (std::is_same_v<M, std::int64_t>) return Int::type_name();
    if constexpr (std::is_same_v<M, std::string>) return Str::type_name();
    if constexpr (std::is_same_v<M, std::vector<std::string>> && rules.names == Names::row) return Awaited::type_name();
    if constexpr (kIsA<std::vector, M> && !std::is_same_v<M, std::vector<std::string>>) return StructsArgument::type_name();
  }
  if constexpr (std::is_same_v<M, JobParent>) return ParentArgument::type_name();
  if constexpr (rules.null_is_kept) return RetentionArgument::type_name();
  if constexpr (rules.unit == Unit::duration) return OptionalDuration::type_name();
  if constexpr (rules.unit == Unit::instant) return OptionalInstant::type_name();
  if constexpr (std::is_same_v<M, std::int64_t>) return OptionalInt::type_name();
  if constexpr (std::is_same_v<M, bool>) return OptionalBool::type_name();
  if constexpr (std::is_same_v<M, double>) return OptionalNumber::type_name();
  if constexpr (std::is_same_v<M, std::vector<std::string>>)
    return rules.names == Names::row ? AwaitedArgument::type_name() : TextsArgument::type_name();
  if constexpr (std::is_same_v<M, std::string>) return OptionalStr::type_name();
  if constexpr (std::is_same_v<M, StringMap>) return StringMapping::type_name();
  if constexpr (Described<M>) return MembersArgument::type_name();
  return AnyValue::type_name();
}

// An argument that was given, or None: a Setting is then cleared, and another optional member stays as it is.
template <class T, std::size_t I>
void set_member(T& to, py::handle given, const char* name = identifier_of(kField<T, I>.field)) {
  constexpr const auto& rules = kField<T, I>;
  using M = MemberType<T, I>;
  auto& place = rules.access(to);
  if constexpr (kIsA<Setting, std::remove_reference_t<decltype(place)>>) place.given = true;
  if (rules.presence != Presence::required && given.is_none()) return;
  const auto put = [&](M value) {
    if constexpr (kIsA<Setting, std::remove_reference_t<decltype(place)>>) {
      place.value = std::move(value);
    } else {
      place = std::move(value);
    }
  };
  if constexpr (rules.null_is_kept) {
    put(retention(given, name));
  } else if constexpr (rules.unit == Unit::duration) {
    put(duration(given, name));
  } else if constexpr (rules.unit == Unit::instant) {
    put(instant(given, name));
  } else if constexpr (std::is_same_v<M, std::int64_t>) {
    put(integer(given, name));
  } else if constexpr (std::is_same_v<M, bool>) {
    put(boolean(given, name));
  } else if constexpr (std::is_same_v<M, double>) {
    put(number(given, name));
  } else if constexpr (std::is_same_v<M, std::vector<std::string>> && rules.names == Names::row) {
    put(awaited_ids(given, name));
  } else if constexpr (std::is_same_v<M, std::vector<std::string>>) {
    put(PyUnicode_Check(given.ptr()) ? std::vector{std::string(text(given, name))} : texts(given, name));
  } else if constexpr (std::is_same_v<M, std::string>) {
    put(std::string(text(given, name)));
  } else if constexpr (std::is_same_v<M, StringMap>) {
    put(string_map(given, name));
  } else if constexpr (std::is_same_v<M, JobParent>) {
    put(job_parent(given, name));
  } else {
    put(described_argument<M>(given, name));
  }
}

}  // namespace resonate::python
