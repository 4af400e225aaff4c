// The limits of a struct from the descriptors of its members, in their order; then its rules between several members, which are
// overloads of `refuse_between` beside those who ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

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

inline bool is_outside(std::int64_t value, const MemberRules& rules) noexcept { return value < rules.least || value > rules.most; }
// Also true of a value that is not a number.
inline bool is_outside(double value, const MemberRules& rules) noexcept {
  return !(value >= static_cast<double>(rules.least) && value <= static_cast<double>(rules.most));
}
inline bool is_bad_text(std::string_view text) noexcept { return text.empty() || text.find('\0') != std::string_view::npos; }

// Each says in `why` that a value of the member refuses the struct, which is `part` of another or stands for itself. They are no
// templates: a limit is broken seldom, and there are hundreds.
void refuse_bad_text(const MemberRules& rules, std::string_view part, const std::string& value, Refusal& why);
void refuse_unknown(const MemberRules& rules, std::string_view part, const std::string& value, Refusal& why);
void refuse_number(const MemberRules& rules, std::string_view part, std::int64_t value, Refusal& why);
void refuse_number(const MemberRules& rules, std::string_view part, double value, Refusal& why);
void refuse_size(const MemberRules& rules, std::int64_t size, Refusal& why);
void refuse_bad_element(const MemberRules& rules, const std::string& element, Refusal& why);

template <class T, std::size_t I, class M>
bool refuses_member(const M& value, std::string_view part, Refusal& why) {
  constexpr const auto& rules = kField<T, I>;
  constexpr bool bounded = rules.least != std::numeric_limits<std::int64_t>::min();
  if constexpr (rules.judged_apart && !bounded) {
    return false;
  } else if constexpr (kIsA<Setting, M>) {
    return refuses_member<T, I>(value.value, part, why);
  } else if constexpr (kIsA<std::optional, M>) {
    return value && refuses_member<T, I>(*value, part, why);
  } else if constexpr (std::is_same_v<M, std::string>) {
    if constexpr (rules.checked_text) {
      if (is_bad_text(value)) refuse_bad_text(rules, part, value, why);
    }
    if constexpr (!rules.words.empty()) {  // not `known`: under UBSan, GCC does not compare a function with null while it compiles
      if (!why && !rules.known(value)) refuse_unknown(rules, part, value, why);
    }
  } else if constexpr (std::is_same_v<M, std::int64_t>) {
    if constexpr (bounded) {
      if (is_outside(value, rules) && !(rules.null_is_kept && value == kKept)) refuse_number(rules, part, value, why);
    }
  } else if constexpr (std::is_same_v<M, double>) {
    if (is_outside(value, rules)) refuse_number(rules, part, value, why);
  } else if constexpr (kIsA<std::vector, M>) {
    if constexpr (bounded) {
      if (const auto size = static_cast<std::int64_t>(value.size()); is_outside(size, rules)) refuse_size(rules, size, why);
    }
    if constexpr (!rules.judged_apart) {
      for (const auto& element : value) {
        if (why) break;
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(element)>, std::string>) {
          if (is_bad_text(element)) refuse_bad_element(rules, element, why);
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
