// Children of jobs: promises that a job recorded, what it receives, messages that it got, and child jobs (JOBS 9). They are kept
// until the job is final, and are removed before it.
#pragma once

#include <string_view>

#include "machine/working_set.hpp"

namespace resonate {

// Returns whether the row is a child of the job; a message is none.
bool is_child_of(const Row& row, std::string_view job) noexcept;

// Gives a promise to create the tags of lineage that it lacks. `begins_branch`: a job, or a call of another program.
void add_lineage(StringMap& tags, const Row& parent, const std::string& id, bool begins_branch);

// Gives a child or a message, which is in no storage yet, its mark, and counts it in its job.
void mark_child(WorkingSet& set, WorkingSet::Entry& parent, Row& made, ChildKind kind);

// Notes in its job that a child is awaited by `other`, or has a listener there; no effect on others, or if that is the job itself.
// Only then a removal has to look for who needs the child.
void note_watcher(WorkingSet& set, const Row& watched, std::string_view other);

// Returns an unfinished child job of the job, or null; one at its deadline is finished.
WorkingSet::Entry* first_open_job(WorkingSet& set, std::string_view job, Instant now);

// Returns whether the job whose child this is, if any, is not final: then it is kept.
bool is_kept_by_parent(WorkingSet& set, const Row& row, Instant now);

// Returns whether a job could be taken for the next one with its id: createdAt tells two apart if the first has children, messages,
// or the lifecycle workflow.
bool is_too_young(const Row& job, Instant now) noexcept;

// Returns the row that is to be removed first with a final job: one of its family, or the job itself. Null: nothing can be removed
// yet.
WorkingSet::Entry* first_to_remove(WorkingSet& set, WorkingSet::Entry& job, Instant now);

// Marks a settled job, which a step then removes with its family; no effect if it is marked.
void mark_deleted(WorkingSet& set, WorkingSet::Entry& job, Instant now);

// Removes a job that has no family, or a child, with its edges and its message in the outbox.
void remove_row(WorkingSet& set, WorkingSet::Entry& entry);

}  // namespace resonate
