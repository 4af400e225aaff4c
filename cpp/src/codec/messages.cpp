#include "codec/messages.hpp"

namespace resonate {

std::string key_of(const OutboxMessage& message) {
  if (message.kind == MessageKind::execute) return "execute:" + message.id;
  return "unblock:" + message.id + ":" + message.address;
}

std::string_view kind_of(const OutboxMessage& message) noexcept {
  const bool newest = message.dialect == DialectId::k2026_04_01;
  if (message.kind == MessageKind::unblock) return newest ? "unblock" : "notify";
  if (newest) return "execute";
  return message.resume ? "resume" : "invoke";
}

}  // namespace resonate
