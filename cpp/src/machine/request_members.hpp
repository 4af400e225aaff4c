// Finds the records that a request names, by the descriptors of its members. Checks at compile time that each descriptor decides
// it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "resonate/requests.hpp"

namespace resonate {
namespace detail {

constexpr bool is_record(Names names) noexcept {
  return names != Names::undecided && names != Names::nothing && names != Names::addresses;
}

// A member without what may be absent or several.
template <class M>
struct Single {
  using Type = M;
};
template <class M>
struct Single<std::optional<M>> : Single<M> {};
template <class M>
struct Single<Setting<M>> : Single<M> {};
template <class M>
struct Single<Box<M>> : Single<M> {};
template <class M>
struct Single<std::vector<M>> : Single<M> {};

template <class M>
inline constexpr bool kIsSeveral = kIsA<std::vector, M>;
template <class M>
inline constexpr bool kIsSeveral<std::optional<M>> = kIsSeveral<M>;
template <class M>
inline constexpr bool kIsSeveral<Setting<M>> = kIsSeveral<M>;

template <class T>
constexpr bool each_is_decided();

template <class M>
inline constexpr bool kActionsAreDecided = true;
template <class... Actions>
inline constexpr bool kActionsAreDecided<std::variant<Actions...>> = (each_is_decided<Actions>() && ...);

template <class T, std::size_t I>
constexpr bool is_decided() {
  constexpr const auto& rules = kField<T, I>;
  using M = std::remove_cvref_t<decltype(rules.access(std::declval<T&>()))>;
  using One = typename Single<M>::Type;
  constexpr bool kLimited = rules.limit != Limit::undecided;
  if constexpr ((kIsSeveral<M> || rules.unit != Unit::none) && !kLimited) {
    return false;
  } else if constexpr (std::is_same_v<One, std::string> || std::is_same_v<One, StringMap>) {
    return (rules.names != Names::undecided && kLimited) || !rules.words.empty();
  } else if constexpr (Described<One>) {
    return each_is_decided<One>();
  } else {
    return kActionsAreDecided<One>;
  }
}

template <class T>
constexpr bool each_is_decided() {
  return []<std::size_t... I>(std::index_sequence<I...>) { return (is_decided<T, I>() && ...); }
  (std::make_index_sequence<kSize<T>>());
}

template <class Request>
struct RequireDecisions {
  static_assert(
      each_is_decided<DescriptionOf<Request>>(),
      "a descriptor of this request does not say what a text names, or which limit of a server holds: see Names and Limit");
};
template <class... Requests>
constexpr bool require_decisions(const std::variant<Requests...>*) {
  return (sizeof(RequireDecisions<Requests>) && ...);
}
static_assert(require_decisions(static_cast<const Operation*>(nullptr)));

// Whether a text is of this request. The job of a schedule gets its id later.
enum class Made : bool { now, later };

template <Made When = Made::now, class T, class Visit>
void each_name(const T& given, const Visit& visit);

template <class T, std::size_t I, Made When, class M, class Visit>
void each_name_of(const M& value, const Visit& visit) {
  constexpr Names kNames = kField<T, I>.names;
  if constexpr (kIsA<std::optional, M>) {
    if (value) {
      each_name_of<T, I, When>(*value, visit);
    } else if constexpr (kNames == Names::row_or_new && When == Made::now) {
      visit(kNames, nullptr);
    }
  } else if constexpr (kIsA<Setting, M>) {
    each_name_of<T, I, When>(value.value, visit);
  } else if constexpr (kIsA<Box, M>) {
    if (value) each_name_of<T, I, Made::later>(*value, visit);
  } else if constexpr (kIsA<std::vector, M>) {
    for (const auto& one : value) each_name_of<T, I, When>(one, visit);
  } else if constexpr (kIsA<std::variant, M>) {
    std::visit([&](const auto& one) { each_name<When>(one, visit); }, value);
  } else if constexpr (std::is_same_v<M, std::string>) {
    if constexpr (is_record(kNames)) visit(kNames, &value);
  } else if constexpr (Described<M>) {
    each_name<When>(value, visit);
  }
}

template <Made When, class T, class Visit>
void each_name(const T& given, const Visit& visit) {
  each_field<T>([&]<std::size_t I>() { each_name_of<T, I, When>(kField<T, I>.access(given), visit); });
}

}  // namespace detail

// visit(names, text) for each text of the request that names a record, in the order of the descriptors. The text is null for a new
// job whose id the engine generates.
template <class Request, class Visit>
void each_name(const Request& request, const Visit& visit) {
  detail::each_name(described(request), visit);
}

}  // namespace resonate
