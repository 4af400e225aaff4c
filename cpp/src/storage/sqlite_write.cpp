// The writes of a SqliteStorage, and the updates of its cache.
#include <algorithm>

#include "codec/jobs_json.hpp"
#include "storage/message_columns.hpp"
#include "storage/row_columns.hpp"
#include "storage/sqlite_storage.hpp"

namespace resonate {

template <class Pointer, class Bind>
void SqliteStorage::write_each(const std::vector<Pointer>& records, Sql one, Sql many, Bind bind) {
  for (std::span<const Pointer> left = records; !left.empty();) {
    const bool several = left.size() >= kRowsAtOnce;
    const auto part = left.first(several ? kRowsAtOnce : 1);
    Query write = query(several ? many : one);
    for (const Pointer& record : part) bind(write, *record);
    write.run();
    left = left.subspan(part.size());
  }
}

void SqliteStorage::write_rows(const std::vector<RowChange>& changes) {
  std::vector<const Row*> gone;
  std::vector<const Row*> created;
  std::vector<const Row*> created_jobs;
  for (const RowChange& change : changes) {
    const Row* const before = change.before.get();
    const Row* const after = change.after.get();
    if (before && after && before->promise_spec == after->promise_spec) {
      update_row(*before, *after);
      continue;
    }
    // The transaction deleted the id and created it again: the old row is deleted and the new one inserted.
    if (before) gone.push_back(before);
    if (after) (after->job ? created_jobs : created).push_back(after);
  }
  write_each(gone, Sql::delete_row, Sql::delete_rows, [](Query& query, const Row& row) { query.text(row.id()); });
  write_each(created, Sql::insert_row, Sql::insert_rows, bind_new<Query>);
  write_each(created_jobs, Sql::insert_job_row, Sql::insert_job_rows, [](Query& query, const Row& row) {
    bind_new(query, row);
    bind_job(query, row);
  });
}

void SqliteStorage::update_row(const Row& before, const Row& after) {
  // An UPDATE touches an index only if it names the index's columns.
  if (after.job) {
    const bool progress_only = changes_course_alone(before, after);
    Query update = query(progress_only ? Sql::update_job_progress : Sql::update_job_row);
    bind_state(update, after);
    if (!progress_only) bind_holder(update, after);
    bind_due(update, after);
    if (!progress_only) bind_open(update, after);
    (progress_only ? bind_job_progress<Query> : bind_job<Query>)(update, after);
    return update.text(after.id()).run();
  }
  const bool due_moved = moves<Index::due>(before, after) || moves<Index::open>(before, after);
  const bool holder_moved = moves<Index::holder>(before, after);
  const Sql which = due_moved ? (holder_moved ? Sql::update_row_due_pid : Sql::update_row_due)
                              : (holder_moved ? Sql::update_row_pid : Sql::update_row);
  Query update = query(which);
  bind_state(update, after);
  if (holder_moved) bind_holder(update, after);
  if (due_moved) {
    bind_due(update, after);
    bind_open(update, after);
  }
  update.text(after.id()).run();
}

// Deletes what has run, and keeps the status of what was refused.
void SqliteStorage::end_submissions(const std::vector<Submission>& ended) {
  if (ended.empty()) return;
  for (const Submission& one : ended) {
    if (one.status == 0) {
      query(Sql::delete_submission).integer(one.number).run();
    } else {
      query(Sql::refuse_submission).integer(one.status).copied(one.error).integer(one.number).run();
    }
  }
  Query waits = query(Sql::submission_waits);
  (void)waits.step();
  submission_waits_ = waits.integer_at(0) != 0;
}

void SqliteStorage::write_all(const Changes& changes) {
  if (changes.replaces_all) clear();
  write_rows(changes.rows);
  for (const ScheduleChange& change : changes.schedules) {
    if (change.after) {
      Query replace = query(Sql::replace_schedule);
      bind_schedule(replace, *change.after);
      replace.run();
    } else if (change.before) {
      query(Sql::delete_schedule).text(change.before->id).run();
    }
  }
  for (const QueueChange& change : changes.queues) {
    if (change.after) {
      query(Sql::replace_queue).text(change.after->name).copied(queue_to_json(*change.after)).run();
    } else if (change.before) {
      query(Sql::delete_queue).text(change.before->name).run();
    }
  }
  for (const HourChange& change : changes.hours) {
    const EndedHour& ended = *change.ended;
    query(Sql::replace_hour).text(ended.queue).integer(ended.counted.hour).copied(hour_to_json(ended.counted)).run();
    query(Sql::delete_hours).text(ended.queue).integer(change.kept_from).run();  // the ended hour, too, if it is that old
  }
  write_each(changes.edges_removed, Sql::delete_edge, Sql::delete_edges, [](Query& query, const Edge& edge) {
    query.integer(static_cast<std::int64_t>(edge.kind)).text(edge.owner).integer(edge.seq);
  });
  write_each(changes.edges_added, Sql::insert_edge, Sql::insert_edges, bind_edge<Query>);
  std::int64_t messages = known_.messages + static_cast<std::int64_t>(changes.messages_added.size());
  for (const std::int64_t seq : changes.messages_removed) messages -= query(Sql::delete_message).integer(seq).run_counted();
  for (const MessageRef& message : changes.messages_leased) {
    Query lease = query(Sql::lease_message);
    bind_lease(lease, *message);
    lease.integer(message->seq).run();
  }
  for (const MessageRef& message : changes.messages_added) {
    Query insert = query(Sql::insert_message);
    bind_message(insert, *message);
    insert.run();
  }
  end_submissions(changes.submissions_ended);
  const Counters& counters = changes.counters;
  Query stored = query(Sql::store_counters);
  stored.integer(counters.sequence).integer(counters.now).integer(counters.dropped).integer(counters.jobs).integer(messages).run();
  query(Sql::commit).run();
  in_transaction_ = false;
  known_.messages = messages;
}

void SqliteStorage::write(const Changes& changes) {
  if (!known_.keeps_instant(changes)) commit(changes);
}

void SqliteStorage::commit(const Changes& changes) {
  try {
    write_all(changes);
    known_.keep(changes);
    file_->shorten_log();
  } catch (const SQLite::Exception& error) {
    // It is unknown whether the commit reached the disk, so the cache may differ from the file.
    known_.forget();
    file_->fail("commit", error);
  } catch (...) {
    known_.forget();
    throw;
  }
}

void SqliteStorage::clear() {
  for (const char* table : {"promises", "schedules", "edges", "messages", "queues", "queue_hours"})
    file_->database().exec(std::string("DELETE FROM resonate_") + table);
  known_.forget();
  known_.unsaved_now = kUnset;
}

}  // namespace resonate
