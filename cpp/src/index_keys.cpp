#include "resonate/index_keys.hpp"

#include "resonate/errors.hpp"

namespace resonate {

std::optional<IndexKey> index_key(const Row& row, Index index) noexcept {
  std::optional<IndexKey> key;
  each_index([&]<Index one>() {
    if (one == index) key = index_key<one>(row);
  });
  return key;
}

std::optional<Due> due_key(const Schedule& schedule) {
  if (schedule.due_at() == kNever) return {};
  return Due{schedule.due_at(), DueKind::schedule};
}

const std::string* unblock_key(const OutboxMessage& message) noexcept {
  return message.kind == MessageKind::unblock ? &message.id : nullptr;
}

const std::string* cancel_key(const Edge& edge) noexcept { return edge.cancels ? &edge.other : nullptr; }

RowRange rows_by_due() { return {.index = Index::due, .after = {kFirstPlace, kFirstPlace, {}}}; }

RowRange rows_of_branch(std::string_view branch) { return {.index = Index::branch, .text = std::string(branch)}; }

RowRange tasks_held_by(std::string_view pid) { return {.index = Index::holder, .text = std::string(pid)}; }

RowRange jobs_to_claim(std::string_view queue) {
  return {.index = Index::claim, .queue = std::string(queue), .after = {kFirstPlace, kFirstPlace, {}}};
}

RowRange leaders_of_group(const JobSpec& spec) {
  return {.index = Index::batch, .queue = spec.queue, .text = spec.group->text, .type = spec.type};
}

RowRange jobs_of_batch(std::string_view queue, std::string_view batch) {
  return {.index = Index::batch, .queue = std::string(queue), .text = std::string(batch)};
}

RowRange jobs_in_state(JobState state) {
  const std::int64_t number = stored_number(state);
  return {.index = Index::job_state, .after = {.major = number}, .until = number};
}

RowRange children_of(std::string_view job) {
  return {.index = Index::child, .queue = std::string(job), .after = {.major = kFirstPlace}};
}

RowRange open_in(std::string_view group) { return {.index = Index::open, .queue = std::string(group)}; }

RowRange newest_roots(Instant since, Instant until) {
  return {.index = Index::newest_root, .after = {.major = saturating_add(until, 1)}, .until = since};
}

RowRange newest_jobs(std::string_view queue, Instant since, Instant until) {
  return {.index = Index::newest_job, .queue = std::string(queue), .after = {.major = saturating_add(until, 1)}, .until = since};
}

IndexPlace place_in(const RowRange& range, const Row& row) {
  const std::optional<IndexKey> key = index_key(row, range.index);
  if (!key)
    throw Error(ErrorCode::storage, "a stored row is damaged: an index contains " + row.id() + ", but the row has no key in it");
  return {key->major, key->minor, row.id()};
}

}  // namespace resonate
