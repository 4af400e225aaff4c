#include "protocol/admission.hpp"

#include <algorithm>
#include <charconv>
#include <variant>

#include "machine/member_name.hpp"
#include "machine/quoted.hpp"

namespace resonate {
namespace {

// Records the first exceeded limit.
class LimitCheck {
 public:
  LimitCheck(const RequestLimits& limits, std::optional<Instant> now) : limits_(limits), now_(now) {}
  std::optional<std::string> take() { return std::move(problem_); }

  void text(std::string_view what, std::string_view given) {
    if (problem_ || given.size() <= limits_.id_bytes) return;
    std::size_t shown = std::min<std::size_t>(40, given.size() - 1);
    while (shown > 0 && (static_cast<unsigned char>(given[shown]) & 0xC0) == 0x80) --shown;  // do not cut a UTF-8 character
    problem_ = std::string(what) + " must have at most " + std::to_string(limits_.id_bytes) + " bytes, got " +
               std::to_string(given.size()) + ": " + quoted(std::string(given.substr(0, shown)) + "...");
  }
  void list(std::string_view what, std::size_t size) { count(what, size, limits_.list_length); }
  void strings(std::string_view what, const StringMap& map) {
    count(what, map.size(), limits_.tags);
    for (const auto& entry : map) text("the name", entry.first);
  }
  // Checks tags, and the addresses among them.
  void tags(const StringMap& map) {
    strings("tags", map);
    for (const char* address : {"resonate:target", "resonate:invoke"})
      if (const std::string* given = map.find(address)) text(address, *given);
  }
  void value(const Value& value) {
    if (value.headers) strings("headers", *value.headers);
  }
  void duration(const MemberRules& rules, std::string_view part, Duration given) {
    switch (rules.limit) {
      case Limit::lease: return duration(rules, part, given, limits_.lease, "limits.lease_ms");
      case Limit::ttl: return duration(rules, part, given, limits_.ttl, "limits.ttl_ms");
      case Limit::delay: return duration(rules, part, given, limits_.delay, "limits.delay_ms");
      case Limit::undecided:
      case Limit::none:
      case Limit::length: return;
    }
  }
  void delay_until(std::string_view what, Instant given) {
    if (problem_ || !now_ || limits_.delay == kNever) return;
    const Instant latest = saturating_add(*now_, limits_.delay);
    if (given <= latest) return;
    problem_ = std::string(what) + " must be at most " + std::to_string(limits_.delay) + " ms ahead, which is " +
               std::to_string(latest) + " (limits.delay_ms of this server), got " + std::to_string(given);
  }

 private:
  void duration(const MemberRules& rules, std::string_view part, Duration given, Duration limit, const char* setting) {
    if (problem_ || given <= limit) return;
    const std::string what = rules.element.empty() ? name_in(rules, part) : std::string(rules.element);
    problem_ =
        what + " must be at most " + std::to_string(limit) + " ms (" + setting + " of this server), got " + std::to_string(given);
  }
  void count(std::string_view what, std::size_t size, std::size_t limit) {
    if (problem_ || size <= limit) return;
    problem_ = std::string(what) + " must have at most " + std::to_string(limit) + " entries, got " + std::to_string(size);
  }

  const RequestLimits& limits_;
  std::optional<Instant> now_;
  std::optional<std::string> problem_;
};

// The limits that no member has by itself.
void check_between(LimitCheck& at, const PromiseCreate& request) {
  const std::string* const delay = request.tags.find("resonate:delay");
  if (!delay) return;
  Instant until = 0;  // the machine refuses a text that is not an integer
  const auto [end, problem] = std::from_chars(delay->data(), delay->data() + delay->size(), until);
  if (problem == std::errc() && end == delay->data() + delay->size()) at.delay_until("tag resonate:delay", until);
}

template <class T>
void check_members(LimitCheck& at, const T& given, std::string_view part);

// `part`: the member that contains this one, for errors.
template <class T, std::size_t I, class M>
void check_member(LimitCheck& at, const M& value, std::string_view part) {
  constexpr const auto& rules = kField<T, I>;
  if constexpr (kIsA<std::optional, M> || kIsA<Box, M>) {
    if (value) check_member<T, I>(at, *value, part);
  } else if constexpr (kIsA<Setting, M>) {
    check_member<T, I>(at, value.value, part);
  } else if constexpr (kIsA<std::variant, M>) {
    std::visit([&](const auto& one) { check_members(at, one, {}); }, value);
  } else if constexpr (kIsA<std::vector, M>) {
    if constexpr (rules.limit == Limit::length) at.list(name_of(rules.field), value.size());
    for (const auto& one : value) check_member<T, I>(at, one, part);
  } else if constexpr (std::is_same_v<M, std::string>) {
    if constexpr (rules.limit == Limit::length) at.text(rules.called.empty() ? name_of(rules.field) : rules.called, value);
  } else if constexpr (std::is_same_v<M, StringMap>) {
    if constexpr (rules.names == Names::addresses) {
      at.tags(value);
    } else {
      at.strings("tags", value);
    }
  } else if constexpr (std::is_same_v<M, Value>) {
    at.value(value);
  } else if constexpr (std::is_same_v<M, std::int64_t>) {
    if constexpr (rules.limit == Limit::delay && rules.unit == Unit::instant) {
      at.delay_until(name_of(rules.field), value);
    } else if constexpr (rules.limit != Limit::undecided && rules.limit != Limit::none) {
      at.duration(rules, part, value);
    }
  } else if constexpr (Described<M>) {
    // A job in a schedule, or in a list, is called as one by itself.
    check_members(at, value, rules.action || rules.judged_apart ? std::string_view() : name_of(rules.field));
  }
}

template <class T>
void check_members(LimitCheck& at, const T& given, std::string_view part) {
  each_field<T>([&]<std::size_t I>() {
    if (kField<T, I>.applies(given)) check_member<T, I>(at, kField<T, I>.access(given), part);
  });
  if constexpr (requires { check_between(at, given); }) check_between(at, given);
}

}  // namespace

std::optional<std::string> exceeded_limit(const Operation& operation, const RequestLimits& limits, std::optional<Instant> now) {
  LimitCheck at(limits, now);
  std::visit([&](const auto& request) { check_members(at, described(request), {}); }, operation);
  return at.take();
}

std::string nests_too_deep(std::size_t limit) { return "the JSON nests deeper than " + std::to_string(limit) + " levels"; }

bool nests_deeper(std::string_view json, std::size_t limit) noexcept {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char sign = json[i];
    if (in_text) {
      if (sign == '\\') {
        ++i;
      } else if (sign == '"') {
        in_text = false;
      }
    } else if (sign == '"') {
      in_text = true;
    } else if (sign == '{' || sign == '[') {
      if (++depth > limit) return true;
    } else if ((sign == '}' || sign == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace resonate
