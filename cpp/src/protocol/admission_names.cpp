// Collects the ids and queues that a request names, from the descriptors of its members.
#include <variant>

#include "machine/request_members.hpp"
#include "machine/schedules.hpp"
#include "protocol/admission.hpp"

namespace resonate {

Named named_by(const Operation& operation, std::string& buffer) {
  Named named;
  const std::string* schedule = nullptr;
  const auto add = [&](Names names, const std::string* text) {
    switch (names) {
      case Names::schedule: schedule = text; [[fallthrough]];
      case Names::row:
      case Names::unique_key:
      case Names::queue: named.ids.emplace_back(*text); break;
      case Names::row_or_new: named.ids.emplace_back(text ? std::string_view(*text) : "job:"); break;  // as generated ids begin
      case Names::occurrences: named.ids.emplace_back(buffer = fixed_beginning(*text, *schedule)); break;
      case Names::queue_of_jobs: named.queues.emplace_back(*text); break;
      case Names::undecided:
      case Names::nothing:
      case Names::addresses: break;
    }
  };
  std::visit([&](const auto& request) { each_name(request, add); }, operation);
  return named;
}

}  // namespace resonate
