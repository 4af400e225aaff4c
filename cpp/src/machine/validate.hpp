// What can be said of a request without looking at any state (PROTOCOL 3, shape rules): values, not types (types are the codec's).
#pragma once

#include <optional>
#include <string>

#include "resonate/requests.hpp"
#include "resonate/rules.hpp"

namespace resonate {

// Why the request is a 400, naming the value and the rule; empty when it may run.
std::optional<std::string> refuse(const Request& request, RulesId rules_id);

// Why a stored schedule could make nothing; empty when it can. Its cron text is not looked at.
std::optional<std::string> refuse_stored(const Schedule& schedule);

// The rules of an action alone, as a fence applies them inside its own answer.
std::optional<std::string> refuse_action(const PromiseCreate& create, const Dialect& dialect, const Rules& rules);
std::optional<std::string> refuse_action(const PromiseSettle& settle);

}  // namespace resonate
