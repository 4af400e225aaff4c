// Checks that a server makes before it runs a request: the ids and queues that the request names, and its limits of size and
// duration.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/instant.hpp"
#include "resonate/requests.hpp"

namespace resonate {

struct RequestLimits {
  std::size_t id_bytes = SIZE_MAX;     // ids, pids, addresses, tag names
  std::size_t tags = SIZE_MAX;         // tags of a promise, headers of a value
  std::size_t list_length = SIZE_MAX;  // tasks of a heartbeat, actions of a suspend
  Duration lease = kNever;             // of a job
  Duration ttl = kNever;               // of a task
  Duration delay = kNever;             // until a job, a message or the next attempt is due
};

struct Named {
  // All ids, including those of actions inside the request, and for a schedule the common prefix of its promises' ids, stored in
  // `room`. The name of a queue that the request sets, pauses or reads counts as an id. The records that a request finds by itself
  // are limited by Request::scope.
  std::vector<std::string_view> ids;
  // The queues in which the request enqueues, claims or searches.
  std::vector<std::string_view> queues;
};
Named named_by(const Operation& operation, std::string& buffer);

// Returns a description of the first limit that the request exceeds, or nothing. Delays given as instants are measured from `now`;
// without it they are not checked.
std::optional<std::string> exceeded_limit(const Operation& operation, const RequestLimits& limits, std::optional<Instant> now = {});

// Returns whether the brackets of a JSON text nest deeper than `limit`. The text need not be valid. It runs
// before the parsers because they do not know the limit: simdjson's depth belongs to the parser that a thread reuses, and deeper
// texts go to nlohmann's parser, which has no limit.
bool nests_deeper(std::string_view json, std::size_t limit) noexcept;
// The refusal of such a text.
std::string nests_too_deep(std::size_t limit);

}  // namespace resonate
