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
  module.def("submission_problem", &submission_problem, py::arg("request"));
  module.def("wire_fields", &wire_fields);
}

}  // namespace resonate::python
