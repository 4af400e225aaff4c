// The options of a store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "resonate/instant.hpp"
#include "resonate/rules.hpp"

namespace resonate {

struct Schedule;

enum class CatchUp : std::uint8_t { all, latest, none };

struct Options {
  RulesId rules = RulesId::compatible;
  std::optional<Duration> retry_timeout = 5000;  // empty: the ttl of the task's last acquisition
  CatchUp catchup = CatchUp::all;
  Duration unblock_retention = 86'400'000;
  bool check = false;  // checks the invariants of PROTOCOL 6 after every request and step
  bool debug = false;  // serves the debug.* envelopes
  // For a replay: returns the problem for which the recording set this schedule aside at that instant; empty: none. Time zones
  // belong to the system, not to the state, so a replay must not examine its own.
  std::function<std::string(const Schedule&, Instant now)> recorded_problem = {};
};

}  // namespace resonate
