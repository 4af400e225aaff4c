// The limits of a struct from the descriptors of its members, in their order; then its rules between several members, which are
// overloads of `refuse_between` beside those who ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "machine/quoted.hpp"
#include "machine/refusals.hpp"
#include "resonate/requests.hpp"

namespace resonate {

Refusal refuse_between(const RetryPolicy& policy);

// Returns why a limit refuses the struct, or nothing.
template <class T>
Refusal refuse_fields(const T& given);

namespace detail {

// Whether a limit refuses a struct, or a member of it; `why` then says why. (A result of the text itself would be built and moved
// once for each member, and every request is checked.)
template <class T>
bool refuses(const T& given, std::string_view part, Refusal& why);

// `name` of `part`: "burst of rate".
inline std::string name_in(std::string_view name, std::string_view part) {
  return part.empty() ? std::string(name) : std::string(name) + " of " + std::string(part);
}

inline bool is_outside(std::int64_t value, const MemberRules& rules) noexcept { return value < rules.least || value > rules.most; }
// Also true of a value that is not a number.
inline bool is_outside(double value, const MemberRules& rules) noexcept {
  return !(value >= static_cast<double>(rules.least) && value <= static_cast<double>(rules.most));
}
inline bool is_bad_text(std::string_view text) noexcept { return text.empty() || text.find('\0') != std::string_view::npos; }

std::string why_outside(const std::string& name, std::int64_t value, const MemberRules& rules);
std::string why_outside(const std::string& name, double value, const MemberRules& rules);

template <class T, std::size_t I, class M>
bool refuses_member(const M& value, std::string_view part, Refusal& why) {
  constexpr const auto& rules = kField<T, I>;
  constexpr bool bounded = rules.least != std::numeric_limits<std::int64_t>::min();
  const auto name = [&] { return name_in(name_of(rules.field), part); };
  if constexpr (rules.apart && !bounded) {
    return false;
  } else if constexpr (kIsA<Setting, M>) {
    return refuses_member<T, I>(value.value, part, why);
  } else if constexpr (kIsA<std::optional, M>) {
    return value && refuses_member<T, I>(*value, part, why);
  } else if constexpr (std::is_same_v<M, std::string>) {
    if constexpr (rules.checked_text) {
      if (is_bad_text(value)) why = refuse_text(name(), value);
    }
    if constexpr (!rules.words.empty()) {  // not `known`: under UBSan, GCC does not compare a function with null while it compiles
      if (!why && !rules.known(value)) why = name() + " must be " + std::string(rules.words) + ", got " + quoted(value);
    }
  } else if constexpr (std::is_same_v<M, std::int64_t>) {
    if constexpr (bounded) {
      if (is_outside(value, rules) && !(rules.keeps && value == kKept)) why = why_outside(name(), value, rules);
    }
  } else if constexpr (std::is_same_v<M, double>) {
    if (is_outside(value, rules)) why = why_outside(name(), value, rules);
  } else if constexpr (kIsA<std::vector, M>) {
    if constexpr (bounded) {
      if (const auto size = static_cast<std::int64_t>(value.size()); is_outside(size, rules))
        why = why_outside("the number of " + std::string(name_of(rules.field)), size, rules);
    }
    if constexpr (!rules.apart) {
      for (const auto& element : value) {
        if (why) break;
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(element)>, std::string>) {
          if (is_bad_text(element)) why = refuse_text(rules.element, element);
        } else if constexpr (Described<std::remove_cvref_t<decltype(element)>>) {
          refuses(element, {}, why);
        }
      }
    }
  } else if constexpr (Described<M>) {
    return refuses(value, rules.action ? std::string_view() : name_of(rules.field), why);
  }
  return why.has_value();
}

template <class T>
bool refuses(const T& given, std::string_view part, Refusal& why) {
  const bool refused = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((kField<T, I>.applies(given) && refuses_member<T, I>(kField<T, I>.access(given), part, why)) || ...);
  }
  (std::make_index_sequence<kSize<T>>());
  if constexpr (requires { refuse_between(given); }) {
    if (!refused) why = refuse_between(given);
  }
  return why.has_value();
}

}  // namespace detail

template <class T>
Refusal refuse_fields(const T& given) {
  Refusal why;
  detail::refuses(given, {}, why);
  return why;
}

}  // namespace resonate
