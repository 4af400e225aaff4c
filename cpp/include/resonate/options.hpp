// What a store may be told when it is made.
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
  bool check = false;  // properties of PROTOCOL 6 after every request and step
  bool debug = false;  // debug.* envelopes are served
  // Of a replay: the problem for which the recording sets this schedule aside at that instant; empty: none. Time zones are the
  // system's, so what is found there is no part of the state.
  std::function<std::string(const Schedule&, Instant now)> recorded_problem = {};
};

}  // namespace resonate
