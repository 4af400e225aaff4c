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

template <class T>
Refusal refuse_fields(const T& given, std::string_view part = {});

namespace detail {

// `name` of `part`: "burst of rate".
inline std::string name_in(std::string_view name, std::string_view part) {
  return part.empty() ? std::string(name) : std::string(name) + " of " + std::string(part);
}

inline bool is_outside(std::int64_t value, const MemberRules& rules) noexcept { return value < rules.least || value > rules.most; }

Refusal refuse_number(const std::string& name, std::int64_t value, const MemberRules& rules);
Refusal refuse_real(const std::string& name, double value, const MemberRules& rules);

template <class T, std::size_t I, class M>
Refusal refuse_member(const M& value, std::string_view part) {
  constexpr const auto& rules = kField<T, I>;
  constexpr bool bounded = rules.least != std::numeric_limits<std::int64_t>::min();
  if constexpr (rules.apart && !bounded) {
    return std::nullopt;
  } else if constexpr (kIsA<Setting, M>) {
    return refuse_member<T, I>(value.value, part);
  } else if constexpr (kIsA<std::optional, M>) {
    return value ? refuse_member<T, I>(*value, part) : std::nullopt;
  } else if constexpr (std::is_same_v<M, std::string>) {
    if constexpr (rules.checked_text) {
      if (value.empty() || value.find('\0') != std::string::npos) return refuse_text(name_in(name_of(rules.field), part), value);
    }
    if constexpr (!rules.words.empty()) {  // not `known`: under UBSan, GCC does not compare a function with null while it compiles
      if (!rules.known(value))
        return name_in(name_of(rules.field), part) + " must be " + std::string(rules.words) + ", got " + quoted(value);
    }
    return std::nullopt;
  } else if constexpr (std::is_same_v<M, std::int64_t>) {
    if constexpr (bounded) {
      if (is_outside(value, rules) && !(rules.keeps && value == kKept))
        return refuse_number(name_in(name_of(rules.field), part), value, rules);
    }
    return std::nullopt;
  } else if constexpr (std::is_same_v<M, double>) {
    return refuse_real(name_in(name_of(rules.field), part), value, rules);
  } else if constexpr (kIsA<std::vector, M>) {
    if constexpr (bounded) {
      if (const auto size = static_cast<std::int64_t>(value.size()); is_outside(size, rules))
        return refuse_number("the number of " + std::string(name_of(rules.field)), size, rules);
    }
    if constexpr (!rules.apart) {
      for (const auto& element : value) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(element)>, std::string>) {
          if (Refusal refused = refuse_text(rules.element, element)) return refused;
        } else if constexpr (Described<std::remove_cvref_t<decltype(element)>>) {
          if (Refusal refused = refuse_fields(element)) return refused;
        }
      }
    }
    return std::nullopt;
  } else if constexpr (Described<M>) {
    return refuse_fields(value, rules.action ? std::string_view() : name_of(rules.field));
  } else {
    return std::nullopt;
  }
}

}  // namespace detail

template <class T>
Refusal refuse_fields(const T& given, std::string_view part) {
  Refusal refused;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (void)((kField<T, I>.applies(given) && (refused = detail::refuse_member<T, I>(kField<T, I>.access(given), part))) || ...);
  }
  (std::make_index_sequence<kSize<T>>());
  if constexpr (requires { refuse_between(given); }) {
    if (!refused) refused = refuse_between(given);
  }
  return refused;
}

}  // namespace resonate
