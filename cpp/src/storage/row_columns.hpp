// The columns of stored records in every SQL storage: their names and types, and how records are written to them and read.
//
// A Target takes the parameters of a statement or the elements of its rows: integer(), instant() (kUnset: NULL), text() (need not
// copy: the record outlives the statement), copied(), text_or_null() and null(), each for the next column. A Source gives the
// columns of a row by number: is_null(i), integer(i) and text(i).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "codec/jobs_json.hpp"
#include "codec/strings_json.hpp"
#include "machine/derive.hpp"
#include "resonate/errors.hpp"
#include "resonate/records.hpp"
#include "resonate/storage.hpp"
#include "storage/column_reader.hpp"
#include "storage/record_checks.hpp"

namespace resonate {

enum class SqlType : std::uint8_t { integer, text };
struct SqlColumn {
  const char* name;
  SqlType type;
};
consteval SqlColumn operator""_integer(const char* name, std::size_t) { return {name, SqlType::integer}; }
consteval SqlColumn operator""_text(const char* name, std::size_t) { return {name, SqlType::text}; }

template <std::size_t... sizes>
constexpr auto joined(const std::array<SqlColumn, sizes>&... parts) {
  std::array<SqlColumn, (sizes + ...)> all{};
  std::size_t at = 0;
  (..., [&] {
    for (const SqlColumn& one : parts) all[at++] = one;
  }());
  return all;
}

// In the order of the functions below.
inline constexpr std::array kPromiseSpecColumns = {"id"_text,
                                                   "origin"_text,
                                                   "branch"_text,
                                                   "dialect"_integer,
                                                   "timeout_at"_integer,
                                                   "created_at"_integer,
                                                   "param_headers"_text,
                                                   "param_data"_text,
                                                   "tags"_text,
                                                   "ikc"_text,
                                                   "parent"_text,
                                                   "child_kind"_integer,
                                                   "child_number"_integer};
inline constexpr std::array kStateColumns = {"state"_integer,        "external"_integer,      "settled_at"_integer,
                                             "value_headers"_text,   "value_data"_text,       "iku"_text,
                                             "callbacks"_integer,    "listeners"_integer,     "task"_integer,
                                             "acquisitions"_integer, "ttl"_integer,           "expires_at"_integer,
                                             "retry_at"_integer,     "resumes"_text,          "current"_text,
                                             "execute_seq"_integer,  "execute_waits"_integer, "cancels_jobs"_integer};
inline constexpr std::array kHolderColumns = {"pid"_text};
inline constexpr std::array kDueColumns = {"due_at"_integer, "due_kind"_integer};
inline constexpr std::array kOpenColumns = {"open_in"_text};
inline constexpr auto kPlainColumns = joined(kPromiseSpecColumns, kStateColumns, kHolderColumns, kDueColumns, kOpenColumns);
inline constexpr std::array kJobProgressColumns = {"job"_text, "job_state"_integer, "enqueued_at"_integer};
inline constexpr auto kJobColumns =
    joined(kJobProgressColumns, std::array{"queue"_text, "priority"_integer, "unique_key"_text, "batch_key"_text});
inline constexpr auto kRowColumns = joined(kPlainColumns, std::array{"job"_text});  // that read_row reads
inline constexpr std::array kScheduleColumns = {"id"_text,
                                                "cron"_text,
                                                "promise_id"_text,
                                                "promise_timeout"_integer,
                                                "param_headers"_text,
                                                "param_data"_text,
                                                "promise_tags"_text,
                                                "created_at"_integer,
                                                "next_run_at"_integer,
                                                "last_run_at"_integer,
                                                "dialect"_integer,
                                                "job"_text,
                                                "due_at"_integer,
                                                "problem"_text,
                                                "paused"_integer};
inline constexpr std::array kEdgeColumns = {"kind"_integer, "owner"_text, "seq"_integer, "other"_text, "dialect"_integer};
inline constexpr std::array kEdgeKeys = {"cancelled_with"_text};
inline constexpr std::array kHourColumns = {"queue"_text, "hour"_integer, "body"_text};

// The columns of promises that hold the keys of an index; the type of a group is in that of its text.
struct IndexColumns {
  const char* queue = nullptr;
  const char* text = nullptr;
  const char* major = nullptr;
  const char* minor = nullptr;
  const char* condition = nullptr;  // of the index, if its columns are set in other rows, too
};
// Of a promise without a job that is its own origin.
inline constexpr const char* kIsRoot = "queue IS NULL AND (origin IS NULL OR origin = id)";
inline constexpr std::array<IndexColumns, kIndexes> kIndexColumns = {{
    {},                                                               // id
    {.major = "due_at", .minor = "due_kind"},                         // due
    {.text = "branch"},                                               // branch
    {.text = "pid"},                                                  // holder
    {.major = "created_at", .condition = kIsRoot},                    // newest_root
    {.queue = "parent", .major = "created_at"},                       // child
    {.queue = "open_in", .major = "child_number"},                    // open
    {.queue = "queue", .major = "priority", .minor = "enqueued_at"},  // claim
    {.queue = "queue", .text = "unique_key"},                         // unique_key
    {.queue = "queue", .text = "batch_key"},                          // batch
    {.major = "job_state"},                                           // job_state
    {.queue = "queue", .major = "created_at"},                        // newest_job
}};

// Their names, with commas; each between a prefix and a suffix.
std::string list_of(std::span<const SqlColumn> columns, std::string_view prefix = {}, std::string_view suffix = {});
// "SELECT columns FROM table WHERE ". In the result each column has a name of one byte: PostgreSQL sends the names with each
// result, and nothing reads them.
std::string select_from(std::string_view table, std::span<const SqlColumn> columns);
// Selects the rows of a range of an index. The parameters are question marks, as far as the index has them: queue, text, the last
// major, the place after which the range begins; then an id and a limit.
std::string select_range(std::string_view table, Index index);

// Selects distinct pids, each by one step in their index: those after a pid, at most so many.
std::string select_holders(std::string_view table);

// The dialect's date as a number: 20260401.
std::int64_t dialect_number(DialectId dialect) noexcept;
DialectId dialect_of_number(std::int64_t number);
// The group of an index by batch as its column has it.
std::string batch_column(std::string_view text, std::string_view type);
// A template that cannot be decoded is kept as its text: its schedule is set aside when it is due, and everything else keeps
// working.
Shared<const JobTemplate> read_template(std::string json);

// Returns whether the change moves the row in the index.
template <Index index>
bool moves(const Row& before, const Row& after) {
  return index_key<index>(before) != index_key<index>(after);
}

template <class Target>
void bind_headers(Target& to, const Value& value) {
  if (value.headers) {
    to.copied(to_json(*value.headers));
  } else {
    to.null();
  }
}

template <class Target>
void bind_value(Target& to, const Value& value) {
  bind_headers(to, value);
  to.text_or_null(value.data ? &*value.data : nullptr);
}

template <class Target>
void bind_tags(Target& to, const StringMap& tags) {
  if (tags.empty()) {
    to.null();
  } else {
    to.copied(to_json(tags));
  }
}

template <class Target>
void bind_shared(Target& to, const Shared<const SharedString>& text) {
  to.text_or_null(text ? &text->text : nullptr);
}

// The columns that a request or step can change.
template <class Target>
void bind_state(Target& to, const Row& row) {
  static const Value kNoValue;
  to.integer(static_cast<std::int64_t>(row.state)).integer(row.external).instant(row.settled_at);
  bind_value(to, row.value ? row.value->value : kNoValue);
  bind_shared(to, row.iku);
  to.integer(row.callbacks).integer(row.listeners).integer(static_cast<std::int64_t>(row.task));
  to.integer(row.acquisitions).integer(row.ttl).instant(row.expires_at).instant(row.retry_at);
  if (row.resumes) {
    to.copied(to_json(row.resumes->items));
  } else {
    to.null();
  }
  bind_shared(to, row.current);
  to.integer(row.execute_seq).integer(row.execute_waits).integer(row.cancels_jobs);
}

// Binds the columns of an index's key; all are NULL if the index does not contain the row.
template <Index index, class Target>
void bind_text(Target& to, const Row& row) {
  const auto key = index_key<index>(row);
  to.text_or_null(key ? key->text : nullptr);
}
template <Index index, class Target>
void bind_major(Target& to, const Row& row) {
  const auto key = index_key<index>(row);
  key ? to.integer(key->major) : to.null();
}
template <Index index, class Target>
void bind_minor(Target& to, const Row& row) {
  const auto key = index_key<index>(row);
  key ? to.integer(key->minor) : to.null();
}

template <class Target>
void bind_holder(Target& to, const Row& row) {
  bind_text<Index::holder>(to, row);
}

template <class Target>
void bind_due(Target& to, const Row& row) {
  bind_major<Index::due>(to, row);
  bind_minor<Index::due>(to, row);
}

template <class Target>
void bind_open(Target& to, const Row& row) {
  const auto key = index_key<Index::open>(row);
  to.text_or_null(key ? key->queue : nullptr);
}

// The parameters of a range of an index (select_range).
template <class Target>
void bind_range(Target& to, const RowRange& range) {
  const IndexParts parts = parts_of(range.index);
  if (parts.queue) to.text(range.queue);
  if (parts.text) to.copied(parts.type ? batch_column(range.text, range.type) : range.text);
  if (parts.major) to.integer(range.until).integer(range.after.major);
  if (parts.minor) to.integer(range.after.minor);
  to.text(range.after.id).limit(range.limit);
}

// Returns whether an update of the course, the part of a job that steps can change, is enough for a change of a job.
inline bool changes_course_alone(const Row& before, const Row& after) {
  return before.job && before.job->spec == after.job->spec && !moves<Index::unique_key>(before, after) &&
         !moves<Index::batch>(before, after) && !moves<Index::open>(before, after);
}

template <class Target>
void bind_job_progress(Target& to, const Row& row) {
  to.copied(job_to_json(*row.job, row.pid.get()));
  bind_major<Index::job_state>(to, row);
  bind_minor<Index::claim>(to, row);
}

// The columns of a job and its index keys; NULL if the row has no job.
template <class Target>
void bind_job(Target& to, const Row& row) {
  if (!row.job) {
    for (std::size_t i = 0; i < kJobColumns.size(); ++i) to.null();
    return;
  }
  static_assert(kJobProgressColumns.size() == 3 && kJobColumns.size() == 7, "each column has a value below");
  bind_job_progress(to, row);
  to.text(row.job->spec->queue).integer(row.job->spec->priority);
  bind_text<Index::unique_key>(to, row);
  if (const auto key = index_key<Index::batch>(row)) {
    to.copied(batch_column(IndexKey::view(key->text), IndexKey::view(key->type)));
  } else {
    to.null();
  }
}

template <class Target>
void bind_child(Target& to, const PromiseSpec& promise_spec) {
  if (const ChildMark* const child = promise_spec.child.get()) {
    to.text(child->parent).integer(static_cast<std::int64_t>(child->kind)).integer(child->number);
  } else {
    to.null();
    to.null();
    to.null();
  }
}

// All columns of a new row but those of its job.
template <class Target>
void bind_new(Target& to, const Row& row) {
  const PromiseSpec& promise_spec = *row.promise_spec;
  to.text(promise_spec.id).text_or_null(promise_spec.tags.find("resonate:origin"));
  bind_text<Index::branch>(to, row);
  to.integer(dialect_number(promise_spec.dialect)).integer(promise_spec.timeout_at).integer(promise_spec.created_at);
  bind_value(to, promise_spec.param);
  bind_tags(to, promise_spec.tags);
  bind_shared(to, promise_spec.ikc);
  bind_child(to, promise_spec);
  bind_state(to, row);
  bind_holder(to, row);
  bind_due(to, row);
  bind_open(to, row);
}

template <class Source>
RowRef read_row(Source source) {
  Columns columns(source);
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
  if (std::optional<std::string> parent = columns.optional_text()) {
    const ChildKind kind = columns.one_of(ChildKind::job);
    promise_spec->child = child_of(*std::move(parent), kind, columns.integer(), promise_spec->id, promise_spec->tags);
  } else {
    columns.skip();
    columns.skip();
  }
  derive_promise_spec(*promise_spec);

  Shared<Row> row(new Row);
  row->promise_spec = promise_spec;
  row->state = columns.one_of(PromiseState::rejected_timedout);
  row->external = columns.boolean();
  row->settled_at = columns.instant();
  if (Value value = columns.value(); !value.empty()) row->value = Shared<const SharedValue>(new SharedValue(std::move(value)));
  row->iku = columns.shared();
  row->callbacks = columns.count();
  row->listeners = columns.count();
  row->task = columns.one_of(TaskState::fulfilled);
  row->acquisitions = columns.integer();
  row->ttl = columns.integer();
  row->expires_at = columns.instant();
  row->retry_at = columns.instant();
  if (auto resumes = columns.optional_text())
    if (std::vector<std::string> ids = strings_of_json(*resumes); !ids.empty())
      row->resumes = Shared<const SharedStrings>(new SharedStrings(std::move(ids)));
  row->current = columns.shared();
  row->execute_seq = columns.integer();
  row->execute_waits = columns.boolean();
  row->cancels_jobs = columns.boolean();
  row->pid = columns.shared();
  if (const auto due = columns.optional_integer()) {
    row->due = {*due, columns.one_of(DueKind::retention)};
  } else {
    columns.skip();
  }
  row->unread = columns.optional_text().has_value() && row->is_message();
  if (auto job = columns.optional_text()) {
    StoredJob stored = job_of_json(*job);
    row->job = std::move(stored.job);
    row->pid = std::move(stored.holder);
  }
  require_usable(*row);
  return row;
}

template <class Target>
void bind_schedule(Target& to, const Schedule& schedule) {
  to.text(schedule.id).text(schedule.cron).text(schedule.promise_id).integer(schedule.promise_timeout);
  bind_value(to, schedule.promise_param);
  bind_tags(to, schedule.promise_tags);
  to.integer(schedule.created_at);
  to.instant(schedule.next_run_at == kNever ? kUnset : schedule.next_run_at);
  to.instant(schedule.last_run_at.value_or(kUnset));
  to.integer(dialect_number(schedule.dialect));
  if (!schedule.job) {
    to.null();
  } else if (!schedule.job->unread.empty()) {
    to.text(schedule.job->unread);
  } else {
    to.copied(order_to_json(schedule.job->order));
  }
  const std::optional<Due> due = due_key(schedule);
  to.instant(due ? due->at : kUnset);
  to.text_or_null(schedule.set_aside ? &schedule.set_aside->problem : nullptr);
  to.integer(schedule.paused);
}

template <class Source>
ScheduleRef read_schedule(Source source) {
  Columns columns(source);
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
  schedule->paused = columns.integer() != 0;
  return schedule;
}

template <class Target>
void bind_edge(Target& to, const Edge& edge) {
  to.integer(static_cast<std::int64_t>(edge.kind)).text(edge.owner).integer(edge.seq).text(edge.other);
  to.integer(dialect_number(edge.dialect)).text_or_null(cancel_key(edge));
}

// The parameters of a range of edges.
template <class Target>
void bind_edge_range(Target& to, const EdgeRange& range) {
  if (range.by == EdgeRange::By::owner) {
    to.integer(static_cast<std::int64_t>(range.kind)).copied(range.of).integer(range.after);
  } else {
    to.copied(range.of).copied(range.after_owner);
  }
  to.limit(range.limit);
}

template <class Source>
EdgeRef read_edge(Source source) {
  Columns columns(source);
  Shared<Edge> edge(new Edge);
  edge->kind = columns.one_of(EdgeKind::keeper);
  edge->owner = columns.text();
  edge->seq = columns.integer();
  edge->other = columns.text();
  edge->dialect = dialect_of_number(columns.integer());
  if (const std::optional<std::string> canceller = columns.optional_text()) {
    edge->cancels = true;
    if (edge->kind != EdgeKind::callback || *canceller != edge->other)
      refuse_stored_record("edge of", edge->owner, "its canceller is not its awaiter");
  }
  return edge;
}

}  // namespace resonate
