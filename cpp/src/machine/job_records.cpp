// Requests on the children of a job: job.record, job.receive, job.send and job.history (JOBS 9).
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/derive.hpp"
#include "machine/job_children.hpp"
#include "machine/job_moves.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"

namespace resonate {

namespace {

constexpr std::size_t kMostBytesOfPage = std::size_t{4} << 20;

constexpr const char* kTopic = "resonate:topic";

Instant deadline_after(std::optional<Duration> timeout, Instant now) { return timeout ? saturating_add(now, *timeout) : kNever; }

// The first row of a mailbox that is a message, or a pending receive.
RowRef first_in(WorkingSet& set, const std::string& mailbox, bool message, Instant now) {
  RowRange range = open_in(mailbox);
  range.limit = 1;
  std::vector<RowRef> found = set.scan(
      std::move(range), [message, now](const Row& row) { return row.is_message() == message && (message || row.pending_at(now)); });
  return found.empty() ? RowRef() : std::move(found.front());
}

}  // namespace

std::optional<Reply> Machine::child_refusal(const Entry* existing, const std::string& job) const {
  if (!existing || is_child_of(*existing->now, job)) return std::nullopt;
  return refusal(status::kConflict, "promise " + quoted(existing->now->id()) + " exists and is no child of job " + quoted(job));
}

Machine::Entry& Machine::add_step(Entry& job, PromiseCreate create, ChildKind kind) {
  add_lineage(create.tags, *job.now, create.id, target_of(create.tags, dialect_) != nullptr);
  Shared<Row> row = new_promise(create);
  row->external = true;
  mark_child(set_, job, *row, kind);
  return set_.create(std::move(row));
}

void Machine::settle_step(Entry& step, PromiseState state, Value value) {
  Settlement end = settlement(state, now_);
  end.value = shared_value(std::move(value));
  settle(set_, step, std::move(end));
}

Reply Machine::run(JobRecordSteps& request) {
  Entry* job = set_.find(request.id);
  if (auto refused = held_job_refusal(job, request.id, request.version, JobEvent::complete, "recorded on"))
    return *std::move(refused);
  for (const JobStep& step : request.steps)
    if (auto refused = child_refusal(set_.find(step.id), request.id)) return *std::move(refused);
  std::vector<Entry*> steps;
  steps.reserve(request.steps.size());
  for (JobStep& step : request.steps) {
    Entry* made = set_.find(step.id);
    if (!made)
      made = &add_step(*job,
                       {.id = step.id,
                        .timeout_at = deadline_after(step.timeout_in, now_),
                        .param = std::move(step.param),
                        .tags = std::move(step.tags),
                        .ikc = {}},
                       ChildKind::record);
    const PromiseState state = step.state ? *promise_state_named(*step.state) : PromiseState::pending;
    if (state != PromiseState::pending && made->now->pending_at(now_)) settle_step(*made, state, std::move(step.value));
    steps.push_back(made);
  }
  Reply reply = ok();
  reply.rows.reserve(steps.size());
  for (const Entry* step : steps) reply.rows.push_back(shown_at(step->now, now_));
  return reply;
}

Reply Machine::run(JobReceive& request) {
  Entry* job = set_.find(request.id);
  if (auto refused = held_job_refusal(job, request.id, request.version, JobEvent::complete, "receive")) return *std::move(refused);
  Entry* step = set_.find(request.step);
  if (auto refused = child_refusal(step, request.id)) return *std::move(refused);
  if (step) return answer(*step);
  const RowRef message = first_in(set_, mailbox_of(request.id, request.topic), true, now_);
  // A receive that would not wait at all still takes a message that is there.
  if (message && request.timeout_in == 0) request.timeout_in.reset();
  PromiseCreate create{
      .id = request.step, .timeout_at = deadline_after(request.timeout_in, now_), .param = {}, .tags = {}, .ikc = {}};
  create.tags.set(kTopic, request.topic);
  step = &add_step(*job, std::move(create), ChildKind::receive);
  if (!message) return answer(*step);
  Entry& taken = *set_.follow(message->id());
  set_.edit(taken).unread = false;
  set_.touched(taken);
  --edit_job(set_.edit(*job)).unread;
  set_.touched(*job);
  settle_step(*step, PromiseState::resolved, message->result());
  return answer(*step);
}

Reply Machine::run(JobSend& request) {
  Entry* entry = set_.find(request.id);
  if (!entry || !entry->now->job) return no_job(request.id);
  const std::string beginning = request.id + ":@" + request.topic + ":";
  const auto is_ours = [&](const Row& row) { return row.is_message() && row.promise_spec->child->parent == request.id; };
  if (request.key) {
    if (const Entry* existing = set_.follow(beginning + *request.key)) {
      if (is_ours(*existing->now)) return answer(*existing);
      return refusal(status::kConflict,
                     "promise " + quoted(existing->now->id()) + " exists and is no message of job " + quoted(request.id));
    }
  }
  if (const JobState state = job_state_at(*entry->now, now_); is_terminal(state))
    return refusal(status::kConflict,
                   "job " + quoted(request.id) + " is " + std::string(name_of(state)) + " and takes no messages");
  const RowRef receiver = first_in(set_, mailbox_of(request.id, request.topic), false, now_);
  if (!receiver && entry->now->job->unread >= kMostUnread)
    return refusal(status::kUnprocessable,
                   "job " + quoted(request.id) + " has " + std::to_string(kMostUnread) + " unread messages, and takes no more");
  PromiseCreate create{.id = {}, .timeout_at = kNever, .param = {}, .tags = {}, .ikc = {}};
  Job& job = edit_job(set_.edit(*entry));
  if (request.key) {
    create.id = beginning + *request.key;
  } else {
    do {
      job.sent = saturating_add(job.sent, 1);
      create.id = beginning + "#" + std::to_string(job.sent);
    } while (set_.follow(create.id));
  }
  if (!receiver) job.unread = saturating_add(job.unread, 1);
  create.tags.set(kTopic, request.topic);
  add_lineage(create.tags, *entry->now, create.id, false);
  Shared<Row> row = new_row(create);
  row->external = true;
  row->state = PromiseState::resolved;
  row->settled_at = now_;
  row->value = shared_value(std::move(request.value));
  row->unread = !receiver;
  mark_child(set_, *entry, *row, ChildKind::message);
  const Entry& message = set_.create(std::move(row));
  if (receiver) settle_step(*set_.follow(receiver->id()), PromiseState::resolved, message.now->result());
  return answer(message);
}

Reply Machine::run(JobHistory& request) {
  const Entry* entry = set_.find(request.id);
  if (!entry || !entry->now->job) return no_job(request.id);
  const auto limit = static_cast<std::size_t>(request.limit.value_or(100));
  RowRange range = children_of(request.id);
  if (!request.cursor.empty()) {  // validation has parsed it
    const std::size_t colon = request.cursor.find(':');
    (void)std::from_chars(request.cursor.data(), request.cursor.data() + colon, range.after.major);
    range.after.id = request.cursor.substr(colon + 1);
  }
  range.limit = limit + 1;
  std::size_t bytes = 0;
  bool more = false;
  Reply reply = ok();
  reply.rows = set_.scan_until(std::move(range), [&](const Row& row) {
    if (row.is_message() || !in_scope(row.id())) return WorkingSet::RowMatch::unwanted;
    const bool is_first = bytes == 0;
    bytes += payload_bytes(row);
    more = !is_first && bytes > kMostBytesOfPage;
    return more ? WorkingSet::RowMatch::end : WorkingSet::RowMatch::wanted;
  });
  if (reply.rows.size() > limit) {
    reply.rows.pop_back();
    more = true;
  }
  if (more) {
    const Row& last = *reply.rows.back();
    reply.cursor = std::to_string(last.promise_spec->created_at) + ":" + last.id();
  }
  for (RowRef& row : reply.rows) row = shown_at(row, now_);
  return reply;
}

}  // namespace resonate
