// Requests on promises (PROTOCOL 3.1-3.7).
#include <algorithm>
#include <charconv>

#include "machine/derive.hpp"
#include "machine/glob.hpp"
#include "machine/job_cancellation.hpp"
#include "machine/job_children.hpp"
#include "machine/machine.hpp"
#include "machine/quoted.hpp"
#include "machine/settle.hpp"
#include "machine/transitions.hpp"

namespace resonate {

Reply Machine::no_promise(const std::string& id) const {
  return refusal(status::kNotFound, "promise " + quoted(id) + " does not exist");
}

Reply Machine::run(PromiseGet& request) {
  const Entry* entry = set_.find(request.id);
  return entry ? answer(*entry) : no_promise(request.id);
}

Shared<Row> Machine::new_row(PromiseCreate& request) const {
  auto* promise_spec = new PromiseSpec;
  Shared<const PromiseSpec> held(promise_spec);
  promise_spec->id = std::move(request.id);
  promise_spec->param = std::move(request.param);
  promise_spec->tags = std::move(request.tags);
  if (request.ikc) promise_spec->ikc = Shared<const SharedString>(new SharedString(*std::move(request.ikc)));
  promise_spec->timeout_at = request.timeout_at;
  promise_spec->dialect = dialect_.id;
  derive_promise_spec(*promise_spec);
  const bool dead = promise_spec->timeout_at <= now_;
  promise_spec->created_at = dead ? promise_spec->timeout_at : now_;

  Shared<Row> row(new Row);
  row->promise_spec = std::move(held);
  row->external = promise_spec->initially_external;
  if (dead) {
    row->state = timeout_state(promise_spec->timer);
    row->settled_at = promise_spec->timeout_at;
  }
  return row;
}

std::optional<Reply> Machine::creation_conflict(const Entry& entry, const PromiseCreate& request) const {
  const SharedString* key = entry.now->promise_spec->ikc.get();
  if (!request.ikc || (key && key->text == *request.ikc)) return std::nullopt;
  return refusal(status::kConflict, "promise " + quoted(request.id) + " was created " +
                                        (key ? "with another idempotency key" : "without an idempotency key") + ", got " +
                                        quoted(*request.ikc));
}

namespace {
// The first dispatch of a new task is due at once, or when the delay in its tags has passed (PROTOCOL 3.2).
Instant first_dispatch(const PromiseSpec& promise_spec, Instant now) {
  const std::string* delay = promise_spec.tags.find("resonate:delay");
  Instant until = now;
  if (delay) (void)std::from_chars(delay->data(), delay->data() + delay->size(), until);  // cannot fail: validation has parsed it
  return dispatch_instant(promise_spec, std::max(now, until));
}
}  // namespace

Shared<Row> Machine::new_promise(PromiseCreate& request) const {
  Shared<Row> row = new_row(request);
  if (row->promise_spec->target) {
    if (row->state == PromiseState::pending) {
      row->task = *next_state(TaskEvent::enqueue, TaskState::none);
      row->retry_at = first_dispatch(*row->promise_spec, now_);
    } else {
      row->task = TaskState::fulfilled;
    }
  }
  return row;
}

Reply Machine::run(PromiseCreate& request) {
  if (const Entry* existing = set_.find(request.id)) {
    if (auto conflict = creation_conflict(*existing, request)) return *std::move(conflict);
    return answer(*existing);
  }
  return answer(set_.create(new_promise(request)));
}

Reply Machine::run(PromiseSettle& request) {
  Entry* entry = set_.find(request.id);
  if (!entry) return no_promise(request.id);
  if (!entry->now->pending_at(now_)) {
    // A deadline settles without a key, even if its step has not run yet.
    const SharedString* key = entry->now->dead_at(now_) ? nullptr : entry->now->iku.get();
    if (request.iku && (!key || key->text != *request.iku))
      return refusal(status::kConflict, "promise " + quoted(request.id) + " was settled " +
                                            (key ? "with another idempotency key" : "without an idempotency key") + ", got " +
                                            quoted(*request.iku));
    return answer(*entry);
  }
  Settlement end = settlement(*promise_state_named(request.state), now_);
  end.value = shared_value(std::move(request.value));
  if (request.iku) end.iku = Shared<const SharedString>(new SharedString(*std::move(request.iku)));
  settle(set_, *entry, std::move(end));
  return answer(*entry);
}

std::optional<Reply> Machine::internal_refusal(const Row& awaited) const {
  if (awaited.external || rules_.internal_may_be_awaited) return std::nullopt;
  return refusal(status::kUnprocessable, "promise " + quoted(awaited.id()) +
                                             " is internal: only a promise with a target, a timer or the tag resonate:external "
                                             "can be awaited under the strict rules");
}

void Machine::add_callback(Entry& awaited, const Row& awaiter) {
  if (set_.has_edge(EdgeKind::callback, awaited.now->id(), awaiter.id())) return;
  put_callback(awaited, awaiter);
}

void Machine::put_callback(Entry& awaited, const Row& awaiter) {
  note_watcher(set_, *awaited.now, awaiter.id());
  set_.add_edge(EdgeKind::callback, awaited.now->id(), awaiter.id(), dialect_.id, cancels(*awaited.now, awaiter),
                awaited.now->callbacks == 0);
  Row& row = set_.edit(awaited);
  row.external = true;  // the promise is now awaited, so its timeout is armed (PROTOCOL 2.1)
  ++row.callbacks;
  set_.touched(awaited);
}

void Machine::add_listener(Entry& awaited, const std::string& address) {
  if (set_.has_edge(EdgeKind::listener, awaited.now->id(), address)) return;
  note_watcher(set_, *awaited.now, {});
  set_.add_edge(EdgeKind::listener, awaited.now->id(), address, dialect_.id);
  Row& row = set_.edit(awaited);
  row.external = true;
  ++row.listeners;
  set_.touched(awaited);
}

Reply Machine::run(RegisterCallback& request) {
  Entry* awaited = set_.find(request.awaited);
  if (!awaited) return no_promise(request.awaited);
  Entry* awaiter = set_.find(request.awaiter);
  if (!awaiter)
    return refusal(dialect_.missing_awaiter_is_404 ? status::kNotFound : status::kUnprocessable,
                   "awaiter " + quoted(request.awaiter) + " does not exist");
  if (awaiter->now->job)
    return refusal(status::kUnprocessable,
                   "awaiter " + quoted(request.awaiter) + " must not be a job: a job waits by job.suspend, or by its after");
  if (dialect_.awaiter_needs_target && !awaiter->now->promise_spec->target)
    return refusal(status::kUnprocessable,
                   "awaiter " + quoted(request.awaiter) + " must have the tag resonate:target, or it cannot be resumed");
  if (auto refused = internal_refusal(*awaited->now)) return *std::move(refused);
  if (awaited->now->pending_at(now_) && awaiter->now->pending_at(now_)) add_callback(*awaited, *awaiter->now);
  return answer(*awaited);
}

Reply Machine::run(RegisterListener& request) {
  Entry* awaited = set_.find(request.awaited);
  if (!awaited) return no_promise(request.awaited);
  if (auto refused = internal_refusal(*awaited->now)) return *std::move(refused);
  if (awaited->now->pending_at(now_)) add_listener(*awaited, request.address);
  return answer(*awaited);
}

Reply Machine::run(PromiseSearch& request) { return search_rows(request.query, false); }

Reply Machine::search_rows(SearchQuery& query, bool tasks) {
  const Filter& filter = query.filter;
  const std::optional<Glob> glob = filter.id ? std::optional<Glob>(*filter.id) : std::nullopt;
  const auto limit = static_cast<std::size_t>(query.limit.value_or(100));
  auto wanted = [&](const Row& row) {
    if (!in_scope(row.id()) || (tasks && !row.has_task())) return false;
    if (filter.state && *filter.state != (tasks ? name_of(row.task_at(now_)) : name_of(row.state_at(now_)))) return false;
    if (filter.target && (!row.promise_spec->target || *row.promise_spec->target != *filter.target)) return false;
    if (!row.promise_spec->tags.contains(filter.tags)) return false;
    return !glob || glob->matches(row.id());
  };
  Reply reply = ok();
  reply.rows = scan_by_id({.after = {.id = query.cursor}, .limit = limit + 1}, wanted);
  if (reply.rows.size() > limit) {
    reply.rows.pop_back();
    reply.cursor = reply.rows.back()->id();
  }
  return reply;
}

// Scans a group of an index that orders it by id. Of a restricted request, it reads the rows in its scope alone, and the one after
// them.
std::vector<RowRef> Machine::scan_by_id(RowRange range, const std::function<bool(const Row&)>& wanted) {
  if (scope_.empty()) return set_.scan(std::move(range), wanted);
  std::vector<RowRef> found;
  if (range.after.id < scope_) {
    range.after.id = scope_;  // the range begins after this id
    const Entry* entry = set_.follow(scope_);
    const std::optional<IndexKey> key = entry && entry->now ? index_key(*entry->now, range.index) : std::nullopt;
    if (key && range.has(*key) && key->major >= range.after.major && wanted(*entry->now)) {
      found.push_back(entry->now);
      --range.limit;
    }
  }
  std::vector<RowRef> rows = set_.scan_until(std::move(range), [&](const Row& row) {
    if (!in_scope(row.id())) return WorkingSet::RowMatch::end;
    return wanted(row) ? WorkingSet::RowMatch::wanted : WorkingSet::RowMatch::unwanted;
  });
  std::move(rows.begin(), rows.end(), std::back_inserter(found));
  return found;
}

}  // namespace resonate
