// The records of typed calls: rows as replies show them. Attributes are computed when they are read, so returning a record costs
// one counter. Rows are immutable, so a record never changes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resonate/records.hpp"
#include "resonate/requests.hpp"

namespace resonate::python {

struct PromiseRecord {
  RowRef row;
};

struct TaskRecord {
  RowRef row;
  bool acquired() const noexcept { return row->task == TaskState::acquired; }
};

struct ScheduleRecord {
  ScheduleRef schedule;
};

struct JobRecord {
  RowRef row;
};

struct MessageRecord {
  MessageRef message;
  RowRef record;  // for an unblock: the settled promise
  bool stale = false;
};

// An execute that no worker can use any more: its task was acquired otherwise, or has finished.
inline bool is_stale(const OutboxMessage& message, const RowRef& row) noexcept {
  if (message.kind != MessageKind::execute) return false;
  return !row || row->task != TaskState::pending || row->acquisitions != message.version || row->execute_seq != message.seq;
}

// task.create and task.acquire.
struct Claim {
  TaskRecord task;
  PromiseRecord promise;
  std::vector<RowRef> preload;
  bool preload_cut = false;
};

struct Suspension {
  int status = status::kOk;
  std::vector<RowRef> preload;
  bool preload_cut = false;
};

struct Fenced {
  PromiseRecord promise;
  std::vector<RowRef> preload;
  bool preload_cut = false;
};

// One page of a search; Record is one of the three classes above.
struct PageBase {
  std::optional<std::string> cursor;
};
template <class RecordOfRow>
struct RowPage : PageBase {
  using Record = RecordOfRow;
  std::vector<RowRef> rows;
  std::size_t size() const noexcept { return rows.size(); }
  Record at(std::size_t i) const { return {rows[i]}; }
  void append(Record record) { rows.push_back(std::move(record.row)); }
};
using PromisePage = RowPage<PromiseRecord>;
using TaskPage = RowPage<TaskRecord>;
struct JobBatch : RowPage<JobRecord> {
  std::optional<Instant> next_at;
};
struct SchedulePage : PageBase {
  using Record = ScheduleRecord;
  std::vector<ScheduleRef> rows;
  std::size_t size() const noexcept { return rows.size(); }
  Record at(std::size_t i) const { return {rows[i]}; }
  void append(Record record) { rows.push_back(std::move(record.schedule)); }
};

// The results of create_many and settle_many, in the order of the given ids.
struct PromiseBatch {
  using Record = PromiseRecord;
  std::vector<PromiseRecord> records;
  std::size_t size() const noexcept { return records.size(); }
  Record at(std::size_t i) const { return records[i]; }
  void append(Record record) { records.push_back(std::move(record)); }
};

}  // namespace resonate::python
