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
  for (std::size_t i = 0; i < kStepKinds; ++i)
    if (name_of(static_cast<StepKind>(i)) == name) return static_cast<StepKind>(i);
  return std::nullopt;
}

template <Field field, class MembersOfStep>
bool read_flag(const MembersOfStep& members) {
  const auto& given = members.template need<field>();
  if (given.type() != NodeType::boolean) refuse_type(given, members.path(field), "a boolean");
  return given.boolean();
}

// Reads `detail` and `created` of a step whose kind is known. Throws Malformed.
template <DocumentNode Node>
void decode_fired_detail(const Node& node, const Path& at, Fired& fired) {
  const Members<Node, Field::address, Field::awaiter, Field::step_promise_id, Field::created, Field::problem, Field::batch,
                Field::job, Field::cancelled>
      members(node, &at);
  switch (fired.kind) {
    case StepKind::listener_drain:
    case StepKind::dispatch: fired.detail = members.template text<Field::address>(); break;
    case StepKind::callback_drain: fired.detail = members.template text<Field::awaiter>(); break;
    case StepKind::schedule: {
      fired.detail = members.template optional_text<Field::step_promise_id>().value_or("");
      fired.created = read_flag<Field::created>(members);
      break;
    }
    case StepKind::schedule_set_aside: fired.detail = members.template text<Field::problem>(); break;
    case StepKind::cancel_drain:
      fired.detail = members.template text<Field::job>();
      fired.created = read_flag<Field::cancelled>(members);
      break;
    case StepKind::job_batch: fired.detail = members.template text<Field::batch>(); break;
    case StepKind::promise_timeout:
    case StepKind::lease_expiry:
    case StepKind::job_ready:
    case StepKind::job_expiry:
    case StepKind::job_lease:
    case StepKind::job_timeout:
    case StepKind::job_retention:
    case StepKind::job_retention_put_off: break;
  }
}

}  // namespace resonate
