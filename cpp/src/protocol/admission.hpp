// What a server asks of a request before it lets it in: which ids and queues it touches, and whether it is larger or asks for
// longer than it may.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "resonate/clock.hpp"
#include "resonate/requests.hpp"

namespace resonate {

struct RequestLimits {
  std::size_t id_bytes = SIZE_MAX;     // ids, pids, addresses, names of tags
  std::size_t tags = SIZE_MAX;         // tags of a promise, headers of a value
  std::size_t list_length = SIZE_MAX;  // tasks of a heartbeat, actions of a suspend
  Duration lease = kNever;             // of a claimed or started job
  Duration ttl = kNever;               // of an acquired task
  Duration delay = kNever;             // until a job, a message or a next attempt
};

struct Named {
  // Every id, those of the actions inside the request among them; of a schedule also how the ids of its promises begin, which is
  // kept in `room`. What a request finds by itself is Request::scope's to bound. The name of a queue that it sets, pauses or reads
  // is an id.
  std::vector<std::string_view> ids;
  // The queues that it enqueues into, claims from or looks for jobs in.
  std::vector<std::string_view> queues;
};
Named named_by(const Operation& operation, std::string& room);

// The first limit that the request goes beyond, in words. Instants that are delays are measured from `clock`'s; without one they
// are not.
std::optional<std::string> beyond(const Operation& operation, const RequestLimits& limits, Clock* clock = nullptr);

// Whether brackets of a JSON text nest deeper than that. The text may be anything.
bool nests_deeper(std::string_view json, std::size_t limit) noexcept;

}  // namespace resonate
