#include "storage/sqlite_rows.hpp"

#include <limits>
#include <string>

#include "codec/jobs_json.hpp"
#include "codec/strings_json.hpp"
#include "machine/derive.hpp"
#include "resonate/errors.hpp"

namespace resonate {

namespace {

void bind_headers(Query& query, const Value& value) {
  if (value.headers) {
    query.copied(to_json(*value.headers));
  } else {
    query.null();
  }
}

void bind_value(Query& query, const Value& value) {
  bind_headers(query, value);
  query.text_or_null(value.data ? &*value.data : nullptr);
}

void bind_tags(Query& query, const StringMap& tags) {
  if (tags.empty()) {
    query.null();
  } else {
    query.copied(to_json(tags));
  }
}

void bind_shared(Query& query, const Shared<const SharedString>& text) { query.text_or_null(text ? &text->text : nullptr); }

// Reads the columns of a statement's row in order.
class Columns {
 public:
  explicit Columns(SQLite::Statement& statement) noexcept : statement_(statement) {}

  std::int64_t integer() { return next().getInt64(); }
  bool boolean() { return integer() != 0; }
  std::optional<std::int64_t> optional_integer() {
    const SQLite::Column column = next();
    return column.isNull() ? std::nullopt : std::optional(column.getInt64());
  }
  Instant instant() { return optional_integer().value_or(kUnset); }
  std::string text() { return text_of(next()); }
  std::optional<std::string> optional_text() {
    const SQLite::Column column = next();
    return column.isNull() ? std::nullopt : std::optional(text_of(column));
  }
  Shared<const SharedString> shared() {
    const SQLite::Column column = next();
    return column.isNull() ? nullptr : Shared<const SharedString>(new SharedString(text_of(column)));
  }
  std::optional<StringMap> strings() {
    const SQLite::Column column = next();
    return column.isNull() ? std::nullopt : std::optional(string_map_of_json(text_in(column)));
  }
  Value value() {
    Value value;
    value.headers = strings();
    value.data = optional_text();
    return value;
  }
  void skip() { ++at_; }
  // Reads an enumeration; `last` is its greatest valid value.
  template <class Enum>
  Enum one_of(Enum last) {
    const std::int64_t number = integer();
    if (number < 0 || number > static_cast<std::int64_t>(last))
      throw Error(ErrorCode::storage,
                  "a stored row is damaged: column " + std::to_string(at_) + " holds " + std::to_string(number));
    return static_cast<Enum>(number);
  }

 private:
  SQLite::Column next() { return statement_.getColumn(at_++); }
  static std::string text_of(const SQLite::Column& column) { return std::string(text_in(column)); }

  SQLite::Statement& statement_;
  int at_ = 0;
};

// Keeps a text that cannot be decoded: its schedule is then set aside when it is due, and everything else keeps working.
Shared<const JobTemplate> read_template(std::string json) {
  try {
    return order_of_json(json);
  } catch (const Error& error) {
    Shared<JobTemplate> unread(new JobTemplate);
    unread->unread = std::move(json);
    unread->problem = error.what();
    return unread;
  }
}

}  // namespace

// The dialect's date as a number: 20260401.
std::int64_t dialect_number(DialectId dialect) noexcept { return dialect == DialectId::k2025_01_15 ? 20250115 : 20260401; }

DialectId dialect_of_number(std::int64_t number) {
  for (const DialectId dialect : {DialectId::k2026_04_01, DialectId::k2025_01_15})
    if (dialect_number(dialect) == number) return dialect;
  throw Error(ErrorCode::storage, "a stored row is damaged: its dialect is " + std::to_string(number));
}

void bind_state(Query& query, const Row& row) {
  static const Value kNoValue;
  query.integer(static_cast<std::int64_t>(row.state)).integer(row.external).instant(row.settled_at);
  bind_value(query, row.value ? row.value->value : kNoValue);
  bind_shared(query, row.iku);
  query.integer(row.callbacks).integer(row.listeners).integer(static_cast<std::int64_t>(row.task));
  query.integer(row.acquisitions).integer(row.ttl).instant(row.expires_at).instant(row.retry_at);
  if (row.resumes) {
    query.copied(to_json(row.resumes->items));
  } else {
    query.null();
  }
  bind_shared(query, row.current);
  query.integer(row.execute_seq).integer(row.execute_waits);
}

namespace {

// Binds the columns of an index's key; all are NULL if the index does not contain the row.
template <Index index>
void bind_text(Query& query, const Row& row) {
  const auto key = index_key<index>(row);
  query.text_or_null(key ? key->text : nullptr);
}
template <Index index>
void bind_major(Query& query, const Row& row) {
  const auto key = index_key<index>(row);
  key ? query.integer(key->major) : query.null();
}
template <Index index>
void bind_minor(Query& query, const Row& row) {
  const auto key = index_key<index>(row);
  key ? query.integer(key->minor) : query.null();
}

}  // namespace

void bind_holder(Query& query, const Row& row) { bind_text<Index::holder>(query, row); }

void bind_due(Query& query, const Row& row) {
  bind_major<Index::due>(query, row);
  bind_minor<Index::due>(query, row);
}

namespace {

// The group of an index by batch as its column has it.
std::string batch_column(std::string_view text, std::string_view type) {
  std::string column(type.empty() ? "b" : "g" + std::to_string(type.size()) + ":");
  return column.append(type).append(text);
}

}  // namespace

void bind_range(Query& query, const RowRange& range) {
  const IndexParts parts = parts_of(range.index);
  if (parts.queue) query.text(range.queue);
  if (parts.text) query.copied(parts.type ? batch_column(range.text, range.type) : range.text);
  if (parts.major) query.integer(range.until).integer(range.after.major);
  if (parts.minor) query.integer(range.after.minor);
  query.text(range.after.id).limit(range.limit);
}

bool changes_course_alone(const Row& before, const Row& after) {
  return before.job && before.job->spec == after.job->spec && !moves<Index::unique_key>(before, after) &&
         !moves<Index::batch>(before, after);
}

void bind_job_progress(Query& query, const Row& row) {
  query.copied(job_to_json(*row.job, row.pid.get()));
  bind_major<Index::job_state>(query, row);
  bind_minor<Index::claim>(query, row);
}

void bind_job(Query& query, const Row& row) {
  if (!row.job) {
    query.null().null().null().null().null().null().null();
    return;
  }
  bind_job_progress(query, row);
  query.text(row.job->spec->queue).integer(row.job->spec->priority);
  bind_text<Index::unique_key>(query, row);
  if (const auto key = index_key<Index::batch>(row)) {
    query.copied(batch_column(IndexKey::view(key->text), IndexKey::view(key->type)));
  } else {
    query.null();
  }
}

void bind_new(Query& query, const Row& row) {
  const PromiseSpec& promise_spec = *row.promise_spec;
  query.text(promise_spec.id).text_or_null(promise_spec.tags.find("resonate:origin"));
  bind_text<Index::branch>(query, row);
  query.integer(dialect_number(promise_spec.dialect)).integer(promise_spec.timeout_at).integer(promise_spec.created_at);
  bind_value(query, promise_spec.param);
  bind_tags(query, promise_spec.tags);
  bind_shared(query, promise_spec.ikc);
  bind_state(query, row);
  bind_holder(query, row);
  bind_due(query, row);
}

RowRef read_row(SQLite::Statement& at) {
  Columns columns(at);
  Shared<PromiseSpec> promise_spec(new PromiseSpec);
  promise_spec->id = columns.text();
  columns.skip();  // origin and branch are read from the tags
  columns.skip();
  promise_spec->dialect = dialect_of_number(columns.integer());
  promise_spec->timeout_at = columns.integer();
  promise_spec->created_at = columns.integer();
  promise_spec->param = columns.value();
  if (auto tags = columns.strings()) promise_spec->tags = *std::move(tags);
  promise_spec->ikc = columns.shared();
  derive_promise_spec(*promise_spec);

  Shared<Row> row(new Row);
  row->promise_spec = promise_spec;
  row->state = columns.one_of(PromiseState::rejected_timedout);
  row->external = columns.boolean();
  row->settled_at = columns.instant();
  if (Value value = columns.value(); !value.empty()) row->value = Shared<const SharedValue>(new SharedValue(std::move(value)));
  row->iku = columns.shared();
  row->callbacks = static_cast<std::uint32_t>(columns.integer());
  row->listeners = static_cast<std::uint32_t>(columns.integer());
  row->task = columns.one_of(TaskState::fulfilled);
  row->acquisitions = columns.integer();
  row->ttl = columns.integer();
  row->expires_at = columns.instant();
  row->retry_at = columns.instant();
  if (auto resumes = columns.optional_text())
    row->resumes = Shared<const SharedStrings>(new SharedStrings(strings_of_json(*resumes)));
  row->current = columns.shared();
  row->execute_seq = columns.integer();
  row->execute_waits = columns.boolean();
  row->pid = columns.shared();
  if (const auto due = columns.optional_integer()) {
    row->due = {*due, columns.one_of(DueKind::retention)};
  } else {
    columns.skip();
  }
  if (auto job = columns.optional_text()) {
    StoredJob stored = job_of_json(*job);
    row->job = std::move(stored.job);
    row->pid = std::move(stored.holder);
  }
  return row;
}

void bind_schedule(Query& query, const Schedule& schedule) {
  query.text(schedule.id).text(schedule.cron).text(schedule.promise_id).integer(schedule.promise_timeout);
  bind_value(query, schedule.promise_param);
  bind_tags(query, schedule.promise_tags);
  query.integer(schedule.created_at);
  query.instant(schedule.next_run_at == kNever ? kUnset : schedule.next_run_at);
  query.instant(schedule.last_run_at.value_or(kUnset));
  query.integer(dialect_number(schedule.dialect));
  if (!schedule.job) {
    query.null();
  } else if (!schedule.job->unread.empty()) {
    query.text(schedule.job->unread);
  } else {
    query.copied(order_to_json(schedule.job->order));
  }
  const std::optional<Due> due = due_key(schedule);
  query.instant(due ? due->at : kUnset);
  query.text_or_null(schedule.set_aside ? &schedule.set_aside->problem : nullptr);
}

ScheduleRef read_schedule(SQLite::Statement& at) {
  Columns columns(at);
  Shared<Schedule> schedule(new Schedule);
  schedule->id = columns.text();
  schedule->cron = columns.text();
  schedule->promise_id = columns.text();
  schedule->promise_timeout = columns.integer();
  schedule->promise_param = columns.value();
  if (auto tags = columns.strings()) schedule->promise_tags = *std::move(tags);
  schedule->created_at = columns.integer();
  schedule->next_run_at = columns.optional_integer().value_or(kNever);
  schedule->last_run_at = columns.optional_integer();
  schedule->dialect = dialect_of_number(columns.integer());
  if (auto job = columns.optional_text()) schedule->job = read_template(*std::move(job));
  const Instant due_at = columns.instant();
  if (auto problem = columns.optional_text()) {
    Shared<SetAside> set_aside(new SetAside);
    set_aside->problem = *std::move(problem);
    set_aside->retry_at = due_at == kUnset ? kNever : due_at;
    schedule->set_aside = std::move(set_aside);
  }
  return schedule;
}

void bind_message(Query& query, const OutboxMessage& message) {
  query.integer(message.seq).integer(static_cast<std::int64_t>(message.kind)).text(message.id).text(message.address);
  query.integer(message.version).integer(message.resume).integer(dialect_number(message.dialect));
  query.integer(message.attempts).integer(message.queued_at).text_or_null(unblock_key(message));
}

MessageRef read_message(SQLite::Statement& at) {
  Columns columns(at);
  Shared<OutboxMessage> message(new OutboxMessage);
  message->seq = columns.integer();
  message->kind = columns.one_of(MessageKind::unblock);
  message->id = columns.text();
  message->address = columns.text();
  message->version = columns.integer();
  message->resume = columns.boolean();
  message->dialect = dialect_of_number(columns.integer());
  message->attempts = columns.integer();
  message->queued_at = columns.integer();
  return message;
}

}  // namespace resonate
