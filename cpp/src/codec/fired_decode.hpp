// Decodes internal steps: the inverse of fired_encode.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "codec/reader.hpp"
#include "resonate/requests.hpp"

namespace resonate {

inline std::optional<StepKind> step_kind_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(StepKind::schedule_set_aside); ++i)
    if (name_of(static_cast<StepKind>(i)) == name) return static_cast<StepKind>(i);
  return std::nullopt;
}

// Reads `detail` and `created` of a step whose kind is known. Throws Malformed.
template <DocumentNode Node>
void decode_fired_detail(const Node& node, const Path& at, Fired& fired) {
  const Members<Node, Field::address, Field::awaiter, Field::step_promise_id, Field::created, Field::problem, Field::batch> members(
      node, &at);
  switch (fired.kind) {
    case StepKind::listener_drain:
    case StepKind::dispatch: fired.detail = members.template text<Field::address>(); break;
    case StepKind::callback_drain: fired.detail = members.template text<Field::awaiter>(); break;
    case StepKind::schedule: {
      fired.detail = members.template optional_text<Field::step_promise_id>().value_or("");
      const Node& created = members.template need<Field::created>();
      if (created.type() != NodeType::boolean) refuse_type(created, members.path(Field::created), "a boolean");
      fired.created = created.boolean();
      break;
    }
    case StepKind::schedule_set_aside: fired.detail = members.template text<Field::problem>(); break;
    case StepKind::job_batch: fired.detail = members.template text<Field::batch>(); break;
    case StepKind::promise_timeout:
    case StepKind::lease_expiry:
    case StepKind::job_ready:
    case StepKind::job_expiry:
    case StepKind::job_lease:
    case StepKind::job_timeout:
    case StepKind::job_retention: break;
  }
}

}  // namespace resonate
