// Descriptors of the members of a struct that is encoded or decoded. `fields(Of<JobOrder>)`, beside the struct, returns them in
// the order in which the members are written. Decoding and encoding (codec/described_read.hpp, described_write.hpp), the
// limits (machine/refuse_fields.hpp), the arguments of Python calls (bindings/described_arguments.hpp) and the tables of the
// documents (wire_fields() of the Python module) all use these descriptors. A rule on several members has a function of its own.
// `fields` is a template on the struct, so that only the sources that use its descriptors compile them: they take long.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "resonate/box.hpp"
#include "resonate/fields.hpp"
#include "resonate/id_list.hpp"
#include "resonate/values.hpp"

namespace resonate {

template <class T>
struct Of {
  using Type = T;
};

// A member as a request gives it: absent, null, or a value.
template <class T>
struct Setting {
  bool given = false;
  std::optional<T> value;  // empty: null
};

enum class Presence : std::uint8_t {
  required,
  optional,  // null is as good as absent
  not_null   // absent is empty, null is a wrong type
};

enum class Unit : std::uint8_t {
  none,
  instant,   // Unix ms
  duration,  // ms
};

// The kind of record that a text of a request names. These records are loaded before the request runs (machine/plan.cpp), and a
// server compares their ids with the caller's token (protocol/admission_names.cpp). A request with a text, or tags, for which the
// kind is undecided does not compile (machine/request_members.hpp).
enum class Names : std::uint8_t {
  undecided,
  nothing,        // of the store
  row,            // the promise, task or job with this id
  row_or_new,     // the same; if it is absent, the engine generates the id of a new job
  schedule,       // the schedule with this id
  occurrences,    // a template of ids: the promises of a schedule
  queue,          // the queue that the request reads or changes
  queue_of_jobs,  // the queue in which the request enqueues, claims, searches or changes jobs
  unique_key,     // a job: the key blocks others, and a refusal names its holder
  addresses       // of tags: where messages about the promise go
};

// Which limit of a server a member is held to (protocol/admission.cpp). It must be decided for every duration, instant, text and
// vector of a request.
enum class Limit : std::uint8_t {
  undecided,
  none,
  length,  // of a text, and of the number of tags or of other elements
  lease,   // of a duration, as the others
  ttl,
  delay  // of a duration or of an instant; of a vector: of its elements
};

// The part of a descriptor that does not depend on the struct.
struct MemberRules {
  Field field;
  Names names = Names::undecided;
  Limit limit = Limit::undecided;
  Presence presence = Presence::required;
  Unit unit = Unit::none;
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  // of a number, or of the number of elements
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool checked_text = false;      // not empty, and without NUL
  bool null_is_kept = false;      // a duration: null is kKept
  bool judged_apart = false;      // another function judges the value of it, or of its elements
  bool stored_only = false;       // not shown in replies
  bool action = false;            // a request inside the request: {kind, data}
  bool omitted_if_unset = false;  // not written where it is `unset`, or empty
  std::int64_t unset = 0;
  std::string_view element{};                 // what an error calls one of several
  std::string_view called{};                  // what a limit on its length calls it, if not as the field
  bool (*known)(std::string_view) = nullptr;  // a text that must be one of some words
  std::string_view words{};                   // those
};

struct Always {
  template <class S>
  constexpr bool operator()(const S&) const noexcept {
    return true;
  }
};

// `access(s)` is the member of the struct s; where `applies(s)` is false it is neither read nor written nor judged.
template <class Access, class Applies = Always>
struct Member : MemberRules {
  Access access;
  Applies applies{};

  constexpr Member(MemberRules rules, Access to, Applies when = {}) : MemberRules(rules), access(to), applies(when) {}

  constexpr Member required() const { return with(&MemberRules::presence, Presence::required); }
  constexpr Member optional() const { return with(&MemberRules::presence, Presence::optional); }
  constexpr Member text() const { return with(&MemberRules::checked_text, true); }
  constexpr Member at_least(std::int64_t number) const { return with(&MemberRules::least, number); }
  constexpr Member within(std::int64_t from, std::int64_t to) const { return at_least(from).with(&MemberRules::most, to); }
  constexpr Member instant() const { return at_least(0).with(&MemberRules::unit, Unit::instant); }
  constexpr Member duration(std::int64_t from) const { return at_least(from).with(&MemberRules::unit, Unit::duration); }
  constexpr Member kept_if_null() const { return duration(0).with(&MemberRules::null_is_kept, true); }
  constexpr Member judged_by_another() const { return with(&MemberRules::judged_apart, true); }
  constexpr Member only_stored() const { return with(&MemberRules::stored_only, true); }
  constexpr Member as_action() const { return with(&MemberRules::action, true); }
  // May be absent, which is `value`: what the struct begins with.
  constexpr Member otherwise(std::int64_t value) const {
    return optional().with(&MemberRules::omitted_if_unset, true).with(&MemberRules::unset, value);
  }
  // Holds it to the length that a server allows.
  constexpr Member naming(Names what) const { return with(&MemberRules::names, what).held_to(Limit::length); }
  constexpr Member held_to(Limit which) const { return with(&MemberRules::limit, which); }
  constexpr Member unlimited() const { return held_to(Limit::none); }
  constexpr Member free_text() const { return naming(Names::nothing).unlimited(); }
  constexpr Member called_if_long(std::string_view name) const { return with(&MemberRules::called, name); }
  constexpr Member each(std::string_view name) const { return with(&MemberRules::element, name); }
  constexpr Member one_of(bool (*is_known)(std::string_view), std::string_view said) const {
    return with(&MemberRules::known, is_known).with(&MemberRules::words, said);
  }
  // One of the names of an enum.
  template <class Enum>
  constexpr Member name_in(Of<Enum>) const {
    return one_of([](std::string_view name) { return parse(Of<Enum>{}, name).has_value(); }, names_of(Of<Enum>{}));
  }
  template <class When>
  constexpr Member<Access, When> where(When when) const {
    return {*this, access, when};
  }

 private:
  template <class T>
  constexpr Member with(T MemberRules::*what, T value) const {
    Member made = *this;
    made.*what = value;
    return made;
  }
};

template <class Step, class... Further>
struct MemberPath {
  Step step;
  MemberPath<Further...> further;
  template <class S>
  constexpr auto& operator()(S& s) const noexcept {
    return further(s.*step);
  }
};
template <class Step>
struct MemberPath<Step> {
  Step step;
  template <class S>
  constexpr auto& operator()(S& s) const noexcept {
    return s.*step;
  }
};

template <template <class...> class Template, class T>
inline constexpr bool kIsA = false;
template <template <class...> class Template, class... Arguments>
inline constexpr bool kIsA<Template, Template<Arguments...>> = true;

template <class T>
inline constexpr bool kIsList = kIsA<std::vector, T> || std::is_same_v<T, IdList>;

template <class T>
inline constexpr Presence kUsualPresence =
    kIsA<std::optional, T> || kIsA<Setting, T> || kIsA<Shared, T> || kIsA<Box, T> ? Presence::optional : Presence::required;
template <>
inline constexpr Presence kUsualPresence<Value> = Presence::not_null;
template <>
inline constexpr Presence kUsualPresence<StringMap> = Presence::not_null;

template <class M, class S>
M type_behind(M S::*);

// `steps`: from the struct to a member of it, or on to a member of that part which is the struct's own on the wire.
template <class... Steps>
constexpr auto member(Field field, Steps... steps) {
  using M = decltype((type_behind(steps), ...));
  MemberRules rules{.field = field, .presence = kUsualPresence<M>};
  rules.omitted_if_unset = std::is_same_v<M, Value> || std::is_same_v<M, StringMap>;
  return Member(rules, MemberPath<Steps...>{steps...});
}

// What `fields` returns. It does what std::tuple does, which takes the compiler several times as long for twenty members.
template <std::size_t, class M>
struct Placed {
  M descriptor;
};
template <class Places, class... M>
struct DescriptorsAt;
template <std::size_t... I, class... M>
struct DescriptorsAt<std::index_sequence<I...>, M...> : Placed<I, M>... {
  static constexpr std::size_t kCount = sizeof...(M);
  constexpr explicit DescriptorsAt(const M&... each) : Placed<I, M>{each}... {}
};
template <class... M>
struct Descriptors : DescriptorsAt<std::index_sequence_for<M...>, M...> {
  constexpr explicit Descriptors(const M&... each) : DescriptorsAt<std::index_sequence_for<M...>, M...>(each...) {}
  // These, then further ones.
  template <class... More>
  constexpr Descriptors<M..., More...> followed_by(const More&... more) const {
    return joined(std::index_sequence_for<M...>(), more...);
  }

 private:
  template <std::size_t... I, class... More>
  constexpr Descriptors<M..., More...> joined(std::index_sequence<I...>, const More&... more) const {
    return Descriptors<M..., More...>(static_cast<const Placed<I, M>&>(*this).descriptor..., more...);
  }
};
template <std::size_t I, class M>
constexpr const M& descriptor_at(const Placed<I, M>& placed) {
  return placed.descriptor;
}

template <class T>
concept Described = requires {
  fields(Of<T>{});
};

template <class T>
inline constexpr auto kFields = fields(Of<T>{});
template <class T>
inline constexpr std::size_t kSize = decltype(kFields<T>)::kCount;
template <class T, std::size_t I>
inline constexpr const auto& kField = descriptor_at<I>(kFields<T>);

// body.operator()<I>() for each descriptor, in order.
template <class T, class Body>
constexpr void each_field(Body&& body) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (body.template operator()<I>(), ...); }
  (std::make_index_sequence<kSize<T>>());
}

namespace detail {
template <class T>
constexpr std::array<std::uint8_t, kFieldCount> make_places() {
  std::array<std::uint8_t, kFieldCount> places{};
  places.fill(kSize<T>);
  each_field<T>([&]<std::size_t I>() { places[static_cast<std::size_t>(kField<T, I>.field)] = I; });
  return places;
}
}  // namespace detail
// The place of each field among the descriptors of the struct; kSize<T> if it has no such member.
template <class T>
inline constexpr std::array<std::uint8_t, kFieldCount> kPlaces = detail::make_places<T>();
template <class T>
constexpr std::size_t place_of(Field field) noexcept {
  return kPlaces<T>[static_cast<std::size_t>(field)];
}

// Copies each member that both structs have with the same name and type.
template <class From, class To>
void copy_common(const From& from, To& to) {
  each_field<From>([&]<std::size_t I>() {
    constexpr std::size_t J = place_of<To>(kField<From, I>.field);
    if constexpr (J < kSize<To>) {
      const auto& given = kField<From, I>.access(from);
      auto& kept = kField<To, J>.access(to);
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(given)>, std::remove_cvref_t<decltype(kept)>>) kept = given;
    }
  });
}

}  // namespace resonate
