#include "storage/postgres_lookups.hpp"

#include <algorithm>
#include <utility>

#include "codec/jobs_json.hpp"
#include "storage/message_columns.hpp"
#include "storage/postgres_statements.hpp"
#include "storage/queue_deltas.hpp"
#include "storage/row_columns.hpp"

namespace resonate {

namespace {

// Finds a record, or lists its key.
template <class Ref, class KnownOne>
void find_one(Lookup<Ref>& record, PostgresLookups::Loaded<Ref>& loaded, std::vector<std::string_view>& missing, KnownOne known) {
  const auto place = loaded.find(record.key);
  record.found = place == loaded.end() ? known(record.key) : place->second;
  if (record.found || place != loaded.end()) return;
  missing.push_back(record.key);
  loaded.emplace(record.key, nullptr);  // a key that is given twice is loaded once
}

template <class Ref>
void fill_all(std::span<Lookup<Ref>> records, const PostgresLookups::Loaded<Ref>& loaded) {
  for (Lookup<Ref>& record : records)
    if (!record.found) record.found = loaded.find(record.key)->second;
}

bool is_deleted_when_completed(const WrittenRows::One& one) { return one.row->job->spec->retention == 0; }

}  // namespace

void PostgresLookups::find(const Lookups& records, KnownState* known) {
  for (Lookup<RowRef>& row : records.rows)
    find_one(row, rows_, ids_, [known](std::string_view id) { return known ? known->rows.find(id) : nullptr; });
  for (Lookup<QueueRef>& queue : records.queues)
    find_one(queue, queues_, names_, [known](std::string_view name) { return known ? known->find_queue(name) : nullptr; });
  for (Lookup<ScheduleRef>& schedule : records.schedules)
    find_one(schedule, schedules_, schedule_ids_, [](std::string_view) { return nullptr; });
  for (const EdgeLookup& edge : records.edges) {
    if (!edges_.emplace(EdgeKey(edge.kind, edge.owner, edge.other), nullptr).second) continue;
    edge_kinds_.push_back(static_cast<std::int64_t>(edge.kind));
    edge_owners_.push_back(edge.owner);
    edge_others_.push_back(edge.other);
  }
  for (const MessageLookup& message : records.messages)
    if (messages_.emplace(message.number, nullptr).second) numbers_.push_back(message.number);
}

void PostgresLookups::send(PostgresConnection& connection) const {
  const auto load = [&connection](PostgresQuery which, const std::vector<std::string_view>& keys) {
    if (!keys.empty()) connection.send(postgres_statement(which), PostgresParameters().texts(keys));
  };
  load(PostgresQuery::load_rows, ids_);
  load(PostgresQuery::load_queues, names_);
  load(PostgresQuery::load_schedules, schedule_ids_);
  if (!edge_kinds_.empty())
    connection.send(postgres_statement(PostgresQuery::load_edges),
                    PostgresParameters().integers(edge_kinds_).texts(edge_owners_).texts(edge_others_));
  if (!numbers_.empty()) connection.send(postgres_statement(PostgresQuery::load_messages), PostgresParameters().integers(numbers_));
}

void PostgresLookups::send_locking(PostgresConnection& connection, const JobLookups& jobs, const WrittenRows& written) {
  written_.clear();
  for (const std::string_view id : ids_)
    if (const WrittenRows::One* const one = written.find(id)) written_.push_back(*one);
  const bool all = written_.size() == ids_.size();
  if (!all) written_.clear();
  const bool assumes = all && jobs.completes_all && std::ranges::all_of(written_, is_deleted_when_completed);
  if (assumes) {
    assumed_ = written_;
    // The order in which other transactions lock them: so no two wait for each other.
    std::ranges::sort(assumed_, {}, [](const WrittenRows::One& one) -> const std::string& { return one.row->id(); });
  }
  if (!ids_.empty() && !assumes)
    connection.send(postgres_statement(all ? PostgresQuery::lock_written : PostgresQuery::lock_rows),
                    PostgresParameters().texts(ids_));
  sent_queues_ = false;
  if (!jobs.any) return;
  for (const WrittenRows::One& one : written_) names_.push_back(one.row->job->spec->queue);
  if (all && !names_.empty() && std::ranges::count(names_, names_.front()) == std::ssize(names_)) {
    only_queue_ = names_.front();
    return;
  }
  sent_queues_ = true;
  const std::vector<std::string_view> unknown = all ? std::vector<std::string_view>() : ids_;
  connection.send(postgres_statement(PostgresQuery::queues_of_rows), PostgresParameters().texts(names_).texts(unknown));
}

// The counts of the queues lack their deltas.
bool PostgresLookups::take_locked(std::span<const PostgresResult> results, const std::string* body, WrittenRows& written) {
  if (body) note_queue(*body, only_queue_);
  if (sent_queues_) {
    const PostgresResult& queues = results.back();
    for (int at = 0; at < queues.rows(); ++at) note_queue(queues.row(at).text(0), queues.row(at).text(1));
    results = results.first(results.size() - 1);
  }
  bool same = true;
  if (!assumed_.empty()) {
    for (const WrittenRows::One& one : assumed_) note(one.row);
  } else if (!written_.empty()) {
    same = take_written(results.back(), written);
  } else if (!ids_.empty()) {
    for (int at = 0; at < results.back().rows(); ++at) note(read_row(results.back().row(at)));
  }
  forget_listed();
  return same;
}

void PostgresLookups::note_queue(const std::string& body, std::string_view name) {
  if (!last_queue_ || body != last_body_) {
    last_queue_ = queue_of_json(body);
    last_body_ = body;
  }
  require_name(last_queue_->name, name);
  queues_[last_queue_->name] = last_queue_;
}

bool PostgresLookups::take_written(const PostgresResult& result, WrittenRows& written) {
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> found;
  for (int at = 0; at < result.rows(); ++at) found.emplace(result.row(at).text(0), result.row(at).integer(1));
  bool same = true;
  for (const WrittenRows::One& one : written_) {
    const auto row = found.find(one.row->id());
    if (row != found.end() && row->second == one.transaction) {
      note(one.row);
    } else {
      written.forget(one.row->id());
      same = false;
    }
  }
  return same;
}

void PostgresLookups::take(std::span<const PostgresResult> results, KnownState& known) {
  const int sent = !ids_.empty() + !names_.empty() + !schedule_ids_.empty() + !edge_kinds_.empty() + !numbers_.empty();
  auto result = results.end() - sent;
  const auto each = [&result](bool was_sent, auto read) {
    if (!was_sent) return;
    for (int at = 0; at < result->rows(); ++at) read(result->row(at));
    ++result;
  };
  each(!ids_.empty(), [&](const PostgresRow& found) {
    const RowRef row = read_row(found);
    known.rows.put(row);
    rows_[row->id()] = row;
  });
  each(!names_.empty(), [&](const PostgresRow& found) {
    const QueueRef queue = with_deltas(queue_of_json(found.text(0)), found.is_null(2) ? std::string() : found.text(2));
    require_name(queue->name, found.text(1));
    known.queues[queue->name] = queue;
    queues_[queue->name] = queue;
  });
  each(!schedule_ids_.empty(), [&](const PostgresRow& found) {
    const ScheduleRef schedule = read_schedule(found);
    schedules_[schedule->id] = schedule;
  });
  each(!edge_kinds_.empty(), [&](const PostgresRow& found) {
    EdgeRef edge = read_edge(found);
    EdgeKey key(edge->kind, edge->owner, edge->other);
    edges_[std::move(key)] = std::move(edge);
  });
  each(!numbers_.empty(), [&](const PostgresRow& found) {
    const MessageRef message = read_message(found);
    messages_[message->seq] = message;
  });
  forget_listed();
}

bool PostgresLookups::take_absent() {
  ids_.clear();  // rows_ has them as null
  const bool only_rows = !missing();
  forget_listed();
  return only_rows;
}

void PostgresLookups::forget_listed() {
  for (auto* listed : {&ids_, &names_, &schedule_ids_, &edge_owners_, &edge_others_}) listed->clear();
  for (auto* listed : {&edge_kinds_, &numbers_}) listed->clear();
  written_.clear();
  only_queue_ = {};
}

void PostgresLookups::fill(const Lookups& records) const {
  fill_all(records.rows, rows_);
  fill_all(records.queues, queues_);
  fill_all(records.schedules, schedules_);
  for (EdgeLookup& edge : records.edges) edge.found = edges_.find(EdgeKey(edge.kind, edge.owner, edge.other))->second;
  for (MessageLookup& message : records.messages) message.found = messages_.find(message.number)->second;
}

void PostgresLookups::clear() {
  PostgresLookups cleared;
  cleared.last_body_ = std::move(last_body_);
  cleared.last_queue_ = std::move(last_queue_);
  *this = std::move(cleared);
}

}  // namespace resonate
