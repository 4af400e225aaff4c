// Decodes the envelope in a document.
//
// The first failed check is answered with 400: the envelope's shape; a known version; a kind of that version; the types of its
// data. The answer repeats kind, corrId and version if they have the right type.
#pragma once

#include "codec/decode_request.hpp"
#include "codec/reader.hpp"
#include "protocol/envelope.hpp"

namespace resonate {
namespace detail {

template <DocumentNode Node>
using EnvelopeMembers = Members<Node, Field::kind, Field::head, Field::data>;
template <DocumentNode Node>
using HeadMembers = Members<Node, Field::corr_id, Field::version, Field::auth, Field::debug_time>;

// Reads the members that a refusal repeats, from a document of any shape.
template <DocumentNode Node>
void salvage(const EnvelopeMembers<Node>& envelope, Refusal& refusal) {
  const auto text_of = [](const Node* node) {
    return node && node->type() == NodeType::string ? std::optional<std::string_view>(node->text()) : std::nullopt;
  };
  if (const auto kind = text_of(envelope.template find<Field::kind>())) refusal.kind = *kind;
  const Node* node = envelope.template find<Field::head>();
  if (!node || node->type() != NodeType::object) return;
  const HeadMembers<Node> head(*node, nullptr);
  if (const auto corr_id = text_of(head.template find<Field::corr_id>())) refusal.corr_id = *corr_id;
  if (const auto version = text_of(head.template find<Field::version>()); version && dialect_named(*version)) {
    refusal.version = *version;
  }
}

// Reads the time of debug.tick; a debug_time beside it must be equal.
template <DocumentNode Node>
DebugOperation decode_debug(Kind kind, const Node& data, std::optional<Instant> debug_time) {
  DebugOperation operation;
  if (kind != Kind::debug_tick) return operation;
  try {
    const Path path(Field::data);
    operation.time = Members<Node, Field::time>(data, &path).template integer<Field::time>();
    if (debug_time && *debug_time != operation.time) {
      operation.problem =
          "resonate:debug_time " + std::to_string(*debug_time) + " is not data.time " + std::to_string(operation.time);
    }
  } catch (const Malformed& malformed) {
    operation.problem = malformed.message;
  }
  return operation;
}

template <DocumentNode Node>
Envelope decode_members(const EnvelopeMembers<Node>& members) {
  const Path head_path(Field::head);
  const Path data_path(Field::data);
  const std::string_view kind_text = read_text(members.template need<Field::kind>(), Path(Field::kind));
  const HeadMembers<Node> head(members.template need<Field::head>(), &head_path);
  const std::string_view corr_id = read_text(head.template need<Field::corr_id>(), head.path(Field::corr_id));
  const std::string_view version = read_text(head.template need<Field::version>(), head.path(Field::version));
  std::string auth;
  if (const Node* given = head.template find_given<Field::auth>()) auth = read_text(*given, head.path(Field::auth));
  const std::optional<Instant> debug_time = head.template optional_integer<Field::debug_time>();
  if (kind_text.empty()) throw Malformed{"kind must not be empty"};
  const Node& data = members.template need<Field::data>();
  if (data.type() != NodeType::object) refuse_type(data, data_path, "an object");

  const std::optional<DialectId> dialect_id = dialect_named(version);
  if (!dialect_id) {
    throw Malformed{"version must be " + std::string(kDialects[0].version) + " or " + std::string(kDialects[1].version) + ", got " +
                    in_quotes(version) + " (kind " + in_quotes(kind_text) + ")"};
  }
  const std::optional<Kind> kind = kind_named(kind_text, *dialect_id);
  if (!kind) throw Malformed{"kind must be one of version " + std::string(version) + ", got " + in_quotes(kind_text)};

  if (is_debug(*kind)) {
    ReplyHead answer{.kind = *kind, .dialect = *dialect_id, .corr_id = std::string(corr_id)};
    return Envelope{std::move(answer), std::move(auth), debug_time, decode_debug(*kind, data, debug_time)};
  }
  Request request{.dialect = *dialect_id, .operation = decode_operation(*kind, *dialect_id, data, data_path)};
  ReplyHead answer = head_of(request, std::string(corr_id));
  return Envelope{std::move(answer), std::move(auth), debug_time, std::move(request)};
}

}  // namespace detail

template <DocumentNode Node>
Decoded decode_envelope(const Node& document) {
  Refusal refusal;
  try {
    const detail::EnvelopeMembers<Node> members(document, nullptr);
    try {
      return detail::decode_members(members);
    } catch (const Malformed&) {
      detail::salvage(members, refusal);
      throw;
    }
  } catch (const Malformed& malformed) {
    refusal.message = malformed.message;
  }
  return refusal;
}

}  // namespace resonate
