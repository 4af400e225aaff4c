// Encodes structs that have descriptors (resonate/described.hpp) as documents, in the order of the descriptors. Absent and
// empty members are left out; a reader gives them their defaults.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "codec/audience.hpp"
#include "codec/kinds.hpp"
#include "codec/members_write.hpp"
#include "codec/node.hpp"
#include "codec/records_encode.hpp"
#include "resonate/requests.hpp"

namespace resonate {

// The head of a request.
template <DocumentSink Sink>
void encode_head(Sink& sink, std::string_view corr_id, DialectId of) {
  sink.begin_object();
  write_text(sink, Field::corr_id, corr_id);
  write_text(sink, Field::version, dialect(of).version);
  sink.end_object();
}

namespace detail {

template <DocumentSink Sink, Audience For = Audience::storage>
class DescribedWriter {
 public:
  // `dialect` gives the names of actions. With a `corr_id`, each action has a head, as the protocol has it.
  explicit DescribedWriter(Sink& sink, DialectId dialect = DialectId::k2026_04_01, std::string_view corr_id = {})
      : sink_(sink), dialect_(dialect), corr_id_(corr_id) {}

  template <class T>
  void write(const T& from) const {
    sink_.begin_object();
    members(from);
    sink_.end_object();
  }

  // Writes the members into an open object.
  template <class T>
  void members(const T& from) const {
    each_field<T>([&]<std::size_t I>() { this->template one<T, I>(from); });
  }
  // Writes one member, if this audience sees it.
  template <class T, std::size_t I>
  void one(const T& from) const {
    constexpr const auto& rules = kField<T, I>;
    if constexpr (For == Audience::storage || !rules.stored_only) {
      if (rules.applies(from)) member<T, I>(rules.access(from));
    }
  }

 private:
  template <class T, std::size_t I, class M>
  void member(const M& from) const {
    constexpr const auto& rules = kField<T, I>;
    if constexpr (kIsA<Setting, M>) {
      if (!from.given) return;
      sink_.key(rules.field);
      if (!from.value) return sink_.null();
      value<T, I>(*from.value);
    } else if constexpr (kIsA<std::optional, M> || kIsA<Box, M> || kIsA<Shared, M>) {
      if (!from) return;
      sink_.key(rules.field);
      value<T, I>(*from);
    } else {
      if constexpr (rules.omitted_if_unset) {
        if constexpr (requires { from.empty(); }) {
          if (from.empty()) return;
        } else {
          if (static_cast<std::int64_t>(from) == rules.unset) return;
        }
      }
      sink_.key(rules.field);
      value<T, I>(from);
    }
  }

  template <class T, std::size_t I, class M>
  void value(const M& from) const {
    constexpr const auto& rules = kField<T, I>;
    if constexpr (std::is_same_v<M, std::string>) {
      sink_.string(from);
    } else if constexpr (std::is_same_v<M, SharedString>) {
      sink_.string(from.text);
    } else if constexpr (std::is_same_v<M, bool>) {
      sink_.boolean(from);
    } else if constexpr (std::is_same_v<M, double>) {
      sink_.real(from);
    } else if constexpr (std::is_same_v<M, std::int64_t>) {
      if (rules.null_is_kept && from == kKept) return sink_.null();
      sink_.integer(from);
    } else if constexpr (std::is_same_v<M, SharedValue>) {
      encode_value(sink_, DialectId::k2026_04_01, from.value);
    } else if constexpr (std::is_same_v<M, Value>) {
      encode_value(sink_, DialectId::k2026_04_01, from);  // the members that were given
    } else if constexpr (std::is_same_v<M, StringMap>) {
      encode_strings(sink_, from);
    } else if constexpr (std::is_enum_v<M>) {
      sink_.string(name_of(from));
    } else if constexpr (kIsList<M>) {
      sink_.begin_array();
      for (const auto& element : from) value<T, I>(element);
      sink_.end_array();
    } else if constexpr (kIsA<std::variant, M>) {
      std::visit([this](const auto& one) { value<T, I>(one); }, from);
    } else if constexpr (rules.action) {
      sink_.begin_object();
      sink_.key(Field::kind);
      sink_.string(name_of(kKindOf<M>, dialect_));
      if (!corr_id_.empty()) {
        sink_.key(Field::head);
        encode_head(sink_, corr_id_, dialect_);
      }
      sink_.key(Field::data);
      write(from);
      sink_.end_object();
    } else {
      write(from);
    }
  }

  Sink& sink_;
  DialectId dialect_;
  std::string_view corr_id_;
};

}  // namespace detail

// Encodes the data of a request. With a `corr_id`, each action in it has a head.
template <DocumentSink Sink>
void encode_data(Sink& sink, const Request& request, std::string_view corr_id = {}) {
  const detail::DescribedWriter<Sink> writer(sink, request.dialect, corr_id);
  std::visit([&](const auto& operation) { writer.write(described(operation)); }, request.operation);
}

// Encodes the job order of a request, a schedule or a trace.
template <DocumentSink Sink>
void encode_order(Sink& sink, const JobOrder& order) {
  detail::DescribedWriter<Sink>(sink).write(order);
}

}  // namespace resonate
