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

bool set_kind(OutboxMessage& message, std::string_view kind) noexcept {
  for (const DialectId dialect : {DialectId::k2026_04_01, DialectId::k2025_01_15}) {
    for (const MessageKind known : {MessageKind::execute, MessageKind::unblock}) {
      for (const bool resume : {false, true}) {
        message.dialect = dialect;
        message.kind = known;
        message.resume = resume;
        if (kind_of(message) == kind) return true;
      }
    }
  }
  return false;
}

}  // namespace resonate
