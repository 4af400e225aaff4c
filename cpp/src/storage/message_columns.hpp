// The columns of messages and submissions in every SQL storage, as row_columns.hpp has those of other records.
#pragma once

#include <array>

#include "storage/row_columns.hpp"

namespace resonate {

inline constexpr std::array kLeaseColumns = {"holder"_text, "leased_until"_integer};
inline constexpr auto kMessageColumns =
    joined(std::array{"seq"_integer, "kind"_integer, "id"_text, "address"_text, "version"_integer, "resume"_integer,
                      "dialect"_integer, "attempts"_integer, "queued_at"_integer},
           kLeaseColumns);
inline constexpr std::array kMessageKeys = {"unblock_of"_text};
inline constexpr std::array kRefusedColumns = {"number"_integer, "status"_integer, "error"_text};  // of one that was refused

template <class Target>
void bind_lease(Target& to, const OutboxMessage& message) {
  to.text_or_null(message.holder.empty() ? nullptr : &message.holder).integer(message.leased_until);
}

template <class Target>
void bind_message(Target& to, const OutboxMessage& message) {
  to.integer(message.seq).integer(static_cast<std::int64_t>(message.kind)).text(message.id).text(message.address);
  to.integer(message.version).integer(message.resume).integer(dialect_number(message.dialect));
  to.integer(message.attempts).integer(message.queued_at);
  bind_lease(to, message);
  to.text_or_null(unblock_key(message));
}

// The parameters of a range of messages.
template <class Target>
void bind_message_range(Target& to, const MessageRange& range) {
  using enum MessageRange::By;
  const bool within = range.by != prefix || range.after_address >= range.text;
  if (range.by == prefix) {
    to.copied(within ? range.after_address : range.text);
  } else if (range.by == address || range.by == unblock_of) {
    to.copied(range.text);
  }
  to.integer(within ? range.after : 0).limit(range.limit);
}

template <class Source>
MessageRef read_message(Source source) {
  Columns columns(source);
  Shared<OutboxMessage> message(new OutboxMessage);
  message->seq = columns.integer();
  message->kind = columns.one_of(MessageKind::unblock);
  message->id = columns.text();
  message->address = columns.text();
  message->version = columns.integer();
  message->resume = columns.boolean();
  message->dialect = dialect_of_number(columns.integer());
  message->attempts = columns.integer();
  message->queued_at = columns.integer();
  message->holder = columns.optional_text().value_or("");
  message->leased_until = columns.integer();
  return message;
}

// A submission that waits has the columns number, request (NULL: too long) and the bytes of the request.
template <class Source>
Submission read_submission(Source source, SubmissionState state) {
  Columns columns(source);
  Submission submission;
  submission.number = columns.integer();
  if (state == SubmissionState::waiting) {
    submission.text = columns.optional_bytes();  // what is no UTF-8 is refused like any other text that is no request
    submission.bytes = static_cast<std::size_t>(columns.integer());
  } else {
    submission.status = static_cast<int>(columns.integer());
    submission.error = columns.text();
  }
  return submission;
}

}  // namespace resonate
