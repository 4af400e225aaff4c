// Runs of a workflow: job.start_over ends one, job.fork begins another job with what was recorded before a step (JOBS 9).
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/derive.hpp"
#include "machine/job_children.hpp"
#include "machine/job_moves.hpp"
#include "machine/job_waiting.hpp"
#include "machine/keepers.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"

namespace resonate {

namespace {

// Bytes of the id of a copy: in every storage, an index takes it twice beside other texts.
constexpr std::size_t kLongestCopy = 1000;

// All rows of a job's family, those of a child job before it: its children, and theirs with their messages.
void add_family(WorkingSet& set, const std::string& job, bool messages, std::vector<RowRef>& family) {
  for (const RowRef& row : set.scan(children_of(job), [messages](const Row& child) { return messages || !child.is_message(); })) {
    if (row->job && row->job->has_family()) add_family(set, row->id(), true, family);
    family.push_back(row);
  }
}

// Returns what needs a child besides the job itself, or nothing.
std::string needed_by(WorkingSet& set, const Row& child, const Row& parent, Instant now) {
  if (child.cancels_jobs) return "was cancelled, and what it awaited is not yet";
  if (!parent.job->watched) return {};
  const std::string& job = parent.id();
  if (child.listeners > 0 || set.has_unblock(child.id())) return "has listeners that do not know its end";
  std::string who;
  const auto is_other = [&](const Edge& edge) {
    if (edge.other == job) return false;
    who = edge.other;
    return true;
  };
  if (child.callbacks > 0 && set.any_edge_after(EdgeKind::callback, child.id(), child.drained_through(), is_other))
    return "is awaited by " + quoted(who);
  const auto is_live = [&](const Edge& edge) {
    const WorkingSet::Entry* const keeper = edge.other == job ? nullptr : set.follow(edge.other);
    if (!keeper || !keeper->now->pending_at(now)) return false;
    who = edge.other;
    return true;
  };
  if (any_keeper(set, child, is_live)) return "is kept for " + quoted(who);
  if (child.job && has_pending_awaiter(*child.job, set, now)) return "is awaited by a task that has not read it";
  return {};
}

}  // namespace

Reply Machine::run(JobStartOver& request) {
  Entry* entry = set_.find(request.id);
  if (auto refused = held_job_refusal(entry, request.id, request.version, JobEvent::start_over, "started over"))
    return *std::move(refused);
  std::vector<RowRef> family;
  if (entry->now->job->steps > 0) add_family(set_, request.id, false, family);
  for (const RowRef& child : family) {
    if (child->job && child->pending_at(now_))
      return refusal(status::kConflict, "job " + quoted(request.id) + " cannot be started over: its child " + quoted(child->id()) +
                                            " is " + std::string(name_of(child->job->state)));
    const Row& parent = *set_.follow(child->promise_spec->child->parent)->now;
    if (const std::string why = needed_by(set_, *child, parent, now_); !why.empty())
      return refusal(status::kConflict,
                     "job " + quoted(request.id) + " cannot be started over: its child " + quoted(child->id()) + " " + why);
  }
  for (const RowRef& child : family) remove_row(set_, *set_.follow(child->id()));
  start_over(set_, *entry, std::move(request.args), now_);
  return answer(*entry);
}

Reply Machine::run(JobFork& request) {
  Entry* entry = set_.find(request.id);
  if (!entry || !entry->now->job) return no_job(request.id);
  const auto taken = [this](const std::string& id) { return refusal(status::kConflict, "promise " + quoted(id) + " exists"); };
  if (set_.find(request.new_id)) return taken(request.new_id);
  const Entry* from = set_.find(request.from);
  if (!from || !is_child_of(*from->now, request.id))
    return refusal(status::kUnprocessable, quoted(request.from) + " is no child of job " + quoted(request.id));

  const std::string beginning = request.id + ":";
  const std::int64_t before = from->now->promise_spec->child->number;
  RowRange range = children_of(request.id);
  range.limit = kMostCopied + 1;
  std::vector<RowRef> children = set_.scan(std::move(range), [&](const Row& row) {
    return !row.is_message() && row.promise_spec->child->number < before && row.id().starts_with(beginning);
  });
  if (children.size() > kMostCopied)
    return refusal(status::kUnprocessable, "job " + quoted(request.id) + " has more than " + std::to_string(kMostCopied) +
                                               " children before " + quoted(request.from) + ", and no more are copied");
  std::ranges::sort(children, {}, [](const RowRef& row) { return row->promise_spec->child->number; });
  std::vector<std::string> ids;
  for (const RowRef& child : children) {
    if (child->pending_at(now_)) return refusal(status::kUnprocessable, "child " + quoted(child->id()) + " is pending");
    ids.push_back(request.new_id + child->id().substr(request.id.size()));
    if (ids.back().size() > kLongestCopy)
      return refusal(status::kUnprocessable, "the id of a copy must have at most " + std::to_string(kLongestCopy) + " bytes, got " +
                                                 std::to_string(ids.back().size()));
    if (set_.follow(ids.back())) return taken(ids.back());
  }

  Entry& made = add_forked(*entry->now, request.new_id);
  for (std::size_t i = 0; i < children.size(); ++i) add_copy(made, *children[i], std::move(ids[i]));
  return answer(made);
}

// The tags of a child without the lineage that its job gave it.
StringMap Machine::own_tags(const Row& child) {
  const StringMap& tags = child.promise_spec->tags;
  StringMap given;
  if (const Entry* const parent = set_.follow(child.promise_spec->child->parent))
    add_lineage(given, *parent->now, child.id(), tags.equals("resonate:branch", child.id()));
  StringMap own;
  for (const auto& [name, text] : tags)
    if (!given.equals(name, text)) own.set(name, text);
  return own;
}

Machine::Entry& Machine::add_forked(const Row& original, const std::string& id) {
  PromiseCreate create{.id = id, .timeout_at = kNever, .param = original.payload(), .tags = original.promise_spec->tags, .ikc = {}};
  if (original.promise_spec->child) create.tags = own_tags(original);
  Shared<Row> row = new_row(create);
  Shared<JobSpec> spec(new JobSpec(*original.job->spec));
  spec->payload.reset();
  spec->adopted = false;
  spec->good_until = kNever;
  spec->unique_key.reset();
  spec->unique_for = 0;
  spec->group = nullptr;
  spec->sent_at = now_;
  spec->after.clear();
  spec->after_failed.reset();
  Shared<Job> job(new Job);
  job->spec = std::move(spec);
  job->enqueued_at = now_;
  job->args = original.job->args;
  row->external = true;
  row->task = TaskState::pending;
  row->retry_at = row->promise_spec->timeout_at;
  count_created(set_, *job);
  row->job = std::move(job);
  return set_.create(std::move(row));
}

void Machine::add_copy(Entry& job, const Row& original, std::string id) {
  const StringMap& tags = original.promise_spec->tags;
  PromiseCreate create{
      .id = std::move(id), .timeout_at = kNever, .param = original.payload(), .tags = own_tags(original), .ikc = {}};
  const PromiseState state = original.state_at(now_);
  if (state == PromiseState::rejected_timedout) create.timeout_at = now_;
  const bool begins_branch = tags.equals("resonate:branch", original.id());
  add_lineage(create.tags, *job.now, create.id, begins_branch);
  Shared<Row> row = new_row(create);
  row->external = true;
  row->state = state;
  row->settled_at = now_;
  if (row->promise_spec->target) row->task = TaskState::fulfilled;
  if (const RowRef shown = shown_at(RowRef(&original), now_); shown->value) row->value = shown->value;
  mark_child(set_, job, *row, original.promise_spec->child->kind == ChildKind::receive ? ChildKind::receive : ChildKind::record);
  set_.create(std::move(row));
}

}  // namespace resonate
