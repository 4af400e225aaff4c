// Checks a store's file below the level of rows: log, pages, schema, and columns that cannot be decoded.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/jobs_json.hpp"
#include "machine/derive.hpp"
#include "machine/quoted.hpp"
#include "resonate/errors.hpp"
#include "storage/message_columns.hpp"
#include "storage/row_columns.hpp"
#include "storage/sqlite_file.hpp"
#include "storage/sqlite_schema.hpp"
#include "storage/sqlite_statements.hpp"
#include "storage/sqlite_wal.hpp"

namespace resonate {

namespace {

// Other tables belong to the application that has its file with the store. Returns whether reading the store's tables, or checking
// their indexes, would compute what another program has written into the schema.
bool compare_schemas(SQLite::Database& database, std::vector<std::string>& problems) {
  bool computed = false;
  std::map<std::string, const SqliteObject*> expected;
  for (const SqliteObject& object : sqlite_schema()) expected[object.name] = &object;
  std::map<std::string, const SqliteObject*> allowed = expected;
  for (const SqliteObject& object : sqlite_optional_objects()) allowed[object.name] = &object;
  std::set<std::string> found;
  for (const SqliteObject& object : sqlite_objects(database)) {
    found.insert(object.name);
    if (const auto ours = allowed.find(object.name); ours == allowed.end()) {
      if (!expected.contains(object.table)) continue;
      problems.push_back("schema: " + object.name + " does not belong to a store");
      computed = computed || computes(database, object);
    } else if (!is_same(*ours->second, object)) {
      problems.push_back("schema: " + object.name + " differs from this version's schema");
      computed = true;
    }
  }
  for (const auto& [name, object] : expected)
    if (!found.contains(name)) problems.push_back("schema: " + name + " is missing");
  return computed;
}

// The most rows that are reported; SQLite's integrity_check also reports at most 100 problems.
constexpr std::size_t kMostRows = 100;

// Reports each row of a table that read(row) cannot decode, with the error that a user of the store would get. The first column
// names the row.
template <class Read>
void read_each(Query& rows, const std::string& table, Read read, std::vector<std::string>& problems) {
  for (std::size_t named = 0; named < kMostRows && rows.step();) {
    try {
      read();
    } catch (const Error& error) {
      ++named;
      problems.push_back("rows: " + table + " " + resonate::quoted(rows.row().bytes(0)) + ": " + error.what());
    }
  }
}

// A Target that keeps the columns of a record as a store writes them, to compare them with those that were read.
class WrittenColumns {
 public:
  WrittenColumns& integer(std::int64_t number) { return add(number); }
  WrittenColumns& instant(Instant at) { return at == kUnset ? null() : integer(at); }
  WrittenColumns& text(const std::string& text) { return add(text); }
  WrittenColumns& copied(std::string text) { return add(std::move(text)); }
  WrittenColumns& text_or_null(const std::string* given) { return given ? text(*given) : null(); }
  WrittenColumns& null() { return add(std::monostate()); }

  // Refuses a row in which one of the named columns has another content. The others are the record, or texts that may be written
  // in several ways.
  void require(SqliteRow row, std::span<const SqlColumn> columns, std::span<const std::string_view> named, const char* table,
               const std::string& id) const {
    for (std::size_t at = 0; at < columns.size(); ++at)
      if (std::ranges::find(named, columns[at].name) != named.end() && !same(row, static_cast<int>(at), written_[at]))
        refuse_stored_record(table, id, "its column " + std::string(columns[at].name) + " disagrees with the rest of the row");
  }

 private:
  using Content = std::variant<std::monostate, std::int64_t, std::string>;
  // Made in its place: g++ 12 takes the move of an empty variant for a read of what it does not hold.
  template <typename Value>
  WrittenColumns& add(Value&& value) {
    written_.emplace_back(std::forward<Value>(value));
    return *this;
  }
  static bool same(SqliteRow row, int column, const Content& written) {
    if (row.is_null(column)) return std::holds_alternative<std::monostate>(written);
    if (const auto* const number = std::get_if<std::int64_t>(&written)) return row.integer(column) == *number;
    const auto* const text = std::get_if<std::string>(&written);
    return text && row.text(column) == *text;
  }

  std::vector<Content> written_;
};

// The columns that repeat other ones, for an index.
constexpr std::array<std::string_view, 10> kKeysOfPromise = {"origin", "branch",   "pid",        "job_state", "enqueued_at",
                                                             "queue",  "priority", "unique_key", "batch_key", "open_in"};
constexpr std::array<std::string_view, 1> kKeysOfSchedule = {"due_at"};
constexpr std::array<std::string_view, 1> kKeysOfMessage = {"unblock_of"};

void check_promise(SqliteRow found) {
  const RowRef row = read_row(found);
  WrittenColumns written;
  bind_new(written, *row);
  bind_job(written, *row);
  written.require(found, joined(kPlainColumns, kJobColumns), kKeysOfPromise, "promise", row->id());
  const Due next = next_due(*row);
  if (next.kind != DueKind::none && (row->due.kind == DueKind::none || row->due.at > next.at))
    refuse_stored_record("promise", row->id(), "its timer is missing, or later than its next step");
}

void check_rows(SQLite::Database& database, std::vector<std::string>& problems) {
  const auto each = [&](const std::string& table, const std::string& sql, auto read) {
    SQLite::Statement statement(database, sql);
    Query rows(statement);
    read_each(
        rows, table, [&] { read(rows.row()); }, problems);
  };
  const auto all_of = [](std::string_view table, std::span<const SqlColumn> columns) { return select_from(table, columns) + "1"; };
  each("promise", all_of("resonate_promises", joined(kPlainColumns, kJobColumns)), check_promise);
  each("schedule", all_of("resonate_schedules", kScheduleColumns), [](SqliteRow found) {
    const ScheduleRef schedule = read_schedule(found);
    WrittenColumns written;
    bind_schedule(written, *schedule);
    written.require(found, kScheduleColumns, kKeysOfSchedule, "schedule", schedule->id);
  });
  each("message", all_of("resonate_messages", joined(kMessageColumns, kMessageKeys)), [](SqliteRow found) {
    const MessageRef message = read_message(found);
    WrittenColumns written;
    bind_message(written, *message);
    written.require(found, joined(kMessageColumns, kMessageKeys), kKeysOfMessage, "message to", message->address);
  });
  each("queue", "SELECT name, body FROM resonate_queues",
       [](SqliteRow found) { require_name(queue_of_json(found.text(1))->name, found.text(0)); });
  each("queue_hour", all_of("resonate_queue_hours", kHourColumns), [](SqliteRow found) {
    if (hour_of_json(found.text(0), found.text(2))->counted.hour != found.integer(1))
      refuse_stored_record("hour of queue", std::string(found.text(0)), "its column hour disagrees with the rest of the row");
  });
  each("edge of", all_of("resonate_edges", joined(kEdgeColumns, kEdgeKeys)), [](SqliteRow found) { (void)read_edge(found); });
  each("submission", "SELECT number, NULL, length(CAST(request AS BLOB)) FROM resonate_inbox WHERE status IS NULL",
       [](SqliteRow found) { (void)read_submission(found, SubmissionState::waiting); });
  each("submission", "SELECT number, status, coalesce(error, '') FROM resonate_inbox WHERE status IS NOT NULL",
       [](SqliteRow found) { (void)read_submission(found, SubmissionState::refused); });
  each("counters", "SELECT sequence, now, dropped, jobs, messages FROM resonate_counters", [](SqliteRow found) {
    require_usable({found.integer(0), found.integer(1), found.integer(2), found.integer(3)}, found.integer(4));
  });
}

// SQLite numbers the submissions behind the number that it keeps here, and at the end of its numbers refuses each insertion. No
// store comes near it.
void check_numbers(SQLite::Database& database, std::vector<std::string>& problems) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  SQLite::Statement kept(database,
                         "SELECT substr(quote(seq), 1, 100) FROM sqlite_sequence WHERE name = 'resonate_inbox' AND (typeof(seq) <> "
                         "'integer' OR seq > ?)");
  kept.bind(1, kFar);
  while (kept.executeStep())
    problems.push_back(
        "numbers: the last number of a submission must be an integer of at most " + std::to_string(kFar) + ", got " +
        kept.getColumn(0).getString() +
        ": SQLite numbers no submission behind it. UPDATE sqlite_sequence SET seq = (SELECT coalesce(max(number), 0) "
        "FROM resonate_inbox) WHERE name = 'resonate_inbox' repairs it");
}

}  // namespace

std::vector<std::string> check_sqlite_file(const std::string& given) {
  const std::string path = real_path(given);
  std::vector<std::string> problems;
  if (const std::optional<std::string> named = problem_of_names(path)) problems.push_back("names: " + *named);
  const std::optional<std::string> beside = problem_of_names_beside(path);
  if (beside) problems.push_back("names: " + *beside);
  const std::optional<std::string> journal = problem_of_journal(path);
  if (journal) problems.push_back("journal: " + *journal);
  if (beside || journal) return problems;  // SQLite would change other files as it reads this one
  const std::optional<std::string> lost = commits_lost_in_log(path);
  if (lost) problems.push_back(*lost);
  const std::size_t before = problems.size();
  std::unique_ptr<SqliteFile> file;
  try {
    file = SqliteFile::open(path, {.durability = Durability::full, .read_only = true}, SqliteFile::Absent::make,
                            SqliteFile::Objects::any);
  } catch (const Error& error) {
    if (!lost || error.code() != ErrorCode::storage) throw;
    problems.push_back(std::string("schema: ") + error.what());  // the commits that made it may be among the lost ones
    return problems;
  }
  try {
    std::vector<std::string> of_schema;
    if (compare_schemas(file->database(), of_schema)) {
      problems.insert(problems.end(), of_schema.begin(), of_schema.end());
      problems.emplace_back(
          "integrity: not checked, because that computes expressions of objects that differ or do not belong here");
      return problems;
    }
    SQLite::Statement integrity(file->database(), "PRAGMA integrity_check");
    while (integrity.executeStep())
      if (std::string said = integrity.getColumn(0).getString(); said != "ok") problems.push_back("integrity: " + said);
    problems.insert(problems.end(), of_schema.begin(), of_schema.end());
    // Reads the rows only if pages and schema are sound: otherwise every finding would be a guess.
    if (problems.size() == before) {
      check_numbers(file->database(), problems);
      check_rows(file->database(), problems);
    }
  } catch (const SQLite::Exception& error) {
    file->throw_interrupt();
    problems.push_back(std::string("integrity: ") + error.getErrorStr());
  }
  return problems;
}

}  // namespace resonate
