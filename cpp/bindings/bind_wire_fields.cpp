// wire_fields(): the descriptors of requests as Python values, for the options of a worker's tasks and for the tests that compare
// the documents with them; and the check of a request that is submitted.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "bind.hpp"
#include "codec/kinds.hpp"
#include "described_arguments.hpp"
#include "protocol/envelope_handler.hpp"
#include "shown.hpp"

namespace resonate::python {

namespace {

using WireFields = Shown<"dict[str, builtins.list[dict[str, typing.Any]]]">;

template <class T>
py::list members_of() {
  py::list members;
  each_field<T>([&]<std::size_t I>() {
    constexpr const auto& rules = kField<T, I>;
    py::dict member;
    member["name"] = name_of(rules.field);
    member["argument"] = identifier_of(rules.field);
    member["required"] = rules.presence == Presence::required;
    if (rules.least != std::numeric_limits<std::int64_t>::min()) member["least"] = rules.least;
    if (rules.most != std::numeric_limits<std::int64_t>::max()) member["most"] = rules.most;
    if (!rules.words.empty()) member["words"] = rules.words;
    members.append(member);
  });
  return members;
}

template <std::size_t... Places>
void add_requests(py::dict& all, std::index_sequence<Places...>) {
  const auto add = [&]<std::size_t Place>() {
    using Request = std::variant_alternative_t<Place, Operation>;
    all[py::str(name_of(static_cast<Kind>(Place), DialectId::k2026_04_01))] = members_of<DescriptionOf<Request>>();
  };
  (add.template operator()<Places>(), ...);
}

WireFields wire_fields() {
  py::dict all;
  add_requests(all, std::make_index_sequence<std::variant_size_v<Operation>>());
  all["retryPolicy"] = members_of<RetryPolicy>();
  all["rate"] = members_of<RateLimit>();
  all["groups"] = members_of<GroupLimits>();
  all["defaults"] = members_of<JobDefaults>();
  all["error"] = members_of<JobError>();
  return WireFields(all);
}

std::optional<std::string> submission_problem(const std::string& request) {
  if (request.size() > kLongestSubmission)
    return "request must have at most " + std::to_string(kLongestSubmission) + " bytes, got " + std::to_string(request.size()) +
           ": keep large data elsewhere, and submit its name";
  std::variant<Request, Reply> decoded = decode_submission(request);
  Reply* const refusal = std::get_if<Reply>(&decoded);
  return refusal ? std::optional(std::move(refusal->error)) : std::nullopt;
}

}  // namespace

void bind_wire_fields(py::module_& module) {
  module.def("submission_problem", &submission_problem, py::arg("request"), R"doc(
Return why a request, as the JSON text of its envelope, cannot be submitted; None if it can.

Example:
    >>> from resonate_core._core import submission_problem
    >>> submission_problem('{"kind": "promise.get", "head": {"corrId": "0", "version": "2026-04-01"}, "data": {"id": "a"}}')
    'a submitted request must change something, since no client gets its reply'
)doc");
  module.def("wire_fields", &wire_fields, R"doc(
Return the members of every request by its kind, and of the parts of requests, as the core knows them: name on the wire, name in
Python, whether it is required, and its limits.

Example:
    >>> from resonate_core._core import wire_fields
    >>> [member["name"] for member in wire_fields()["rate"]]
    ['limit', 'per', 'burst']
)doc");
}

}  // namespace resonate::python
