// Runs each request by its own method, and forms the replies that all methods share.
#include "machine/machine.hpp"

#include <algorithm>

#include "machine/settle.hpp"

namespace resonate {

Reply Machine::run(Operation& operation) {
  Reply reply = std::visit([this](auto& request) { return run(request); }, operation);
  const auto show = [this](RowRef& row) {
    if (row && row->dead_at(now_)) row = shown_at(row, now_);
  };
  show(reply.promise);
  show(reply.task);
  show(reply.awaited);
  std::ranges::for_each(reply.preload, show);
  std::ranges::for_each(reply.rows, show);
  return reply;
}

Reply Machine::ok() const {
  Reply reply;
  reply.now = now_;
  return reply;
}

Reply Machine::answer(const Entry& entry) const {
  Reply reply = ok();
  reply.promise = entry.now;
  return reply;
}

Reply Machine::refusal(int status, std::string error) const {
  Reply reply = ok();
  reply.status = status == status::kUnprocessable && dialect_.unprocessable_is_invalid ? status::kInvalid : status;
  reply.error = std::move(error);
  return reply;
}

}  // namespace resonate
