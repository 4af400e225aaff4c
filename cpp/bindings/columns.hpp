// The bulk calls: columns of ids, deadlines and values become one batch of requests.
#pragma once

#include <string_view>
#include <vector>

#include "resonate/requests.hpp"
#include "shown.hpp"

namespace resonate::python {

using TextColumn = Shown<"collections.abc.Iterable[str]">;
using InstantColumn = Shown<"int | datetime.datetime | collections.abc.Iterable[int | datetime.datetime]">;
using ValueColumn = Shown<"collections.abc.Iterable[typing.Any] | None">;

std::vector<Request> creations(const TextColumn& ids, const InstantColumn& timeout_at, const ValueColumn& params,
                               const StringMapping& tags);
std::vector<Request> settlements(const TextColumn& ids, const ValueColumn& values, std::string_view state);

}  // namespace resonate::python
