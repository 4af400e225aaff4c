#include "machine/job_children.hpp"

#include <string>
#include <utility>

#include "machine/derive.hpp"
#include "machine/job_moves.hpp"
#include "machine/job_waiting.hpp"
#include "machine/keepers.hpp"
#include "machine/settle.hpp"

namespace resonate {

namespace {

// Returns whether something waits for a promise, or has still to learn of its settlement.
bool has_listeners(WorkingSet& set, const Row& row) {
  return row.callbacks > 0 || row.listeners > 0 || row.cancels_jobs || set.has_unblock(row.id());
}

const WorkingSet::Entry* parent_of(WorkingSet& set, const Row& child) {
  const WorkingSet::Entry* const parent = child.promise_spec->child ? set.follow(child.promise_spec->child->parent) : nullptr;
  return parent && parent->now->job ? parent : nullptr;
}

// Returns whether something besides its job may need a child. A job of which no child was ever watched saves a look for each.
bool is_watched(WorkingSet& set, const Row& child) {
  const WorkingSet::Entry* const parent = parent_of(set, child);
  return parent && parent->now->job->watched;
}

// Counts a child or a message no longer.
void uncount(WorkingSet& set, const Row& row) {
  WorkingSet::Entry* const parent = set.follow(row.promise_spec->child->parent);
  if (!parent || !parent->now->job || (row.is_message() && !row.unread)) return;
  Job& job = edit_job(set.edit(*parent));
  --(row.is_message() ? job.unread : job.steps);
  set.touched(*parent);
}

}  // namespace

bool is_child_of(const Row& row, std::string_view job) noexcept {
  return row.promise_spec->child && !row.is_message() && row.promise_spec->child->parent == job;
}

void add_lineage(StringMap& tags, const Row& parent, const std::string& id, bool begins_branch) {
  const auto add = [&tags](const char* name, const std::string& value) {
    if (!tags.find(name)) tags.set(name, value);
  };
  for (const char* const inherited : {"resonate:origin", "resonate:prefix"}) {
    const std::string* const given = parent.promise_spec->tags.find(inherited);
    add(inherited, given ? *given : parent.id());
  }
  add("resonate:parent", parent.id());
  add("resonate:branch", begins_branch ? id : parent.id());
  add("resonate:scope", begins_branch ? "global" : "local");
}

void mark_child(WorkingSet& set, WorkingSet::Entry& parent, Row& made, ChildKind kind) {
  Job& job = edit_job(set.edit(parent));
  job.made = saturating_add(job.made, 1);
  if (kind != ChildKind::message) {
    job.steps = saturating_add(job.steps, 1);
    job.retry_count = 0;
  }
  auto& promise_spec = const_cast<PromiseSpec&>(*made.promise_spec);  // the caller has just made it
  promise_spec.child = child_of(parent.now->id(), kind, job.made, made.id(), promise_spec.tags);
  set.touched(parent);
}

void note_watcher(WorkingSet& set, const Row& watched, std::string_view other) {
  if (!watched.promise_spec->child || watched.promise_spec->child->parent == other) return;
  WorkingSet::Entry* const parent = set.follow(watched.promise_spec->child->parent);
  if (!parent || !parent->now->job || parent->now->job->watched) return;
  edit_job(set.edit(*parent)).watched = true;
  set.touched(*parent);
}

WorkingSet::Entry* first_open_job(WorkingSet& set, std::string_view job, Instant now) {
  RowRange range = open_in(child_jobs_of(job));
  range.limit = 1;
  const std::vector<RowRef> found = set.scan(std::move(range), [now](const Row& row) { return row.pending_at(now); });
  return found.empty() ? nullptr : set.follow(found.front()->id());
}

bool is_kept_by_parent(WorkingSet& set, const Row& row, Instant now) {
  const WorkingSet::Entry* const parent = parent_of(set, row);
  return parent && !is_terminal(job_state_at(*parent->now, now));
}

bool is_too_young(const Row& job, Instant now) noexcept {
  return (job.job->has_family() || job.job->spec->workflow) && job.promise_spec->created_at >= now;
}

WorkingSet::Entry* first_to_remove(WorkingSet& set, WorkingSet::Entry& job, Instant now) {
  const Row& row = *job.now;
  if (row.state == PromiseState::pending) return nullptr;  // a step that was adopted, which is not among the child jobs
  if (has_pending_awaiter(*row.job, set, now) || has_listeners(set, row) || has_keeper_left(set, job, now) ||
      is_kept_by_parent(set, row, now))
    return nullptr;
  if (is_too_young(row, now)) return nullptr;
  if (!row.job->has_family()) return &job;
  const std::string id = row.id();
  if (set.first_of(open_in(child_jobs_of(id)))) return nullptr;
  WorkingSet::Entry* const child = set.first_of(children_of(id));
  if (!child) return &job;
  if (child->now->job) return first_to_remove(set, *child, now);
  // Without a watcher, its callbacks are those of the job, and they are drained first.
  if (!row.job->watched) return child->now->callbacks > 0 || child->now->cancels_jobs ? nullptr : child;
  return has_listeners(set, *child->now) || has_keeper_left(set, *child, now) ? nullptr : child;
}

void mark_deleted(WorkingSet& set, WorkingSet::Entry& entry, Instant now) {
  if (entry.now->job->deleted) return;
  Job& job = edit_job(set.edit(entry));
  job.deleted = true;
  job.reclaim_at = now;
  set.touched(entry);
}

void remove_row(WorkingSet& set, WorkingSet::Entry& entry) {
  const auto remove_callbacks = [&set, id = entry.now->id(), after = entry.now->drained_through()] {
    while (const EdgeRef edge = set.first_edge(EdgeKind::callback, id, after)) set.remove_first_edge(edge);
  };
  const bool watched = is_watched(set, *entry.now);
  if (entry.now->promise_spec->child) uncount(set, *entry.now);
  if (entry.now->callbacks > 0) remove_callbacks();
  if (entry.now->job) return remove_job(set, entry);
  if (watched) forget_keepers(set, entry);
  if (entry.now->execute_seq) set.remove_message(entry.now->execute_seq);
  set.remove(entry);
}

}  // namespace resonate
