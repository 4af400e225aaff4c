#include "snapshots.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "arguments.hpp"
#include "codec/snapshot.hpp"
#include "gil.hpp"

namespace resonate::python {

namespace {

constexpr std::array<std::pair<std::string_view, SnapshotFormat>, 2> kFormats = {{
    {"full", SnapshotFormat::full},
    {"debug", SnapshotFormat::debug},
}};

std::string json_text(py::handle snapshot) {
  if (!PyDict_Check(snapshot.ptr())) wrong_type("snapshot", "a dict from Store.snapshot()", snapshot);
  try {
    const py::object document =
        call_with(member_of_module("json", "dumps"), py::make_tuple(snapshot), py::dict(py::arg("allow_nan") = false));
    return std::string(text(document, "snapshot"));
  } catch (py::error_already_set& error) {
    if (error.matches(PyExc_RecursionError))
      raise(ErrorClass::invalid, "snapshot must be nested less deeply than Python writes JSON");
    if (!error.matches(PyExc_ValueError)) throw;
    raise(ErrorClass::invalid, "snapshot cannot be written as JSON: " + std::string(text_of(error.value())));
  }
}

struct Counts {
  std::map<std::string_view, std::size_t> promises;
  std::map<std::string_view, std::size_t> tasks;
  std::size_t schedules = 0;
  std::size_t messages = 0;
};

constexpr std::size_t kPage = 1024;

void count_rows(Storage& storage, Instant now, Counts& counts) {
  RowRange range{.limit = kPage};
  for (;;) {
    const std::vector<RowRef> page = storage.rows(range);
    for (const RowRef& row : page) {
      ++counts.promises[name_of(row->state_at(now))];
      if (row->has_task()) ++counts.tasks[name_of(row->task_at(now))];
    }
    if (page.size() < kPage) return;
    range.after.id = page.back()->id();
  }
}

void count_schedules(Storage& storage, Counts& counts) {
  for (std::string after;;) {
    const std::vector<ScheduleRef> page = storage.schedules({.after = after, .limit = kPage});
    counts.schedules += page.size();
    if (page.size() < kPage) return;
    after = page.back()->id;
  }
}

void count_messages(Storage& storage, Counts& counts) {
  for (std::int64_t after = 0;;) {
    const std::vector<MessageRef> page = storage.messages({.after = after, .limit = kPage});
    counts.messages += page.size();
    if (page.size() < kPage) return;
    after = page.back()->seq;
  }
}

py::dict dict_of(const std::map<std::string_view, std::size_t>& by_state) {
  py::dict made;
  for (const auto& [state, number] : by_state) made[py::str(state)] = number;
  return made;
}

}  // namespace

JsonDict snapshot(const OpenStore& store, py::handle format) {
  const SnapshotFormat wanted = choice(format, "format", kFormats);
  const std::string document = store.without_gil([wanted](Engine& engine) {
    return engine.with_snapshot([&](Storage& rows) { return write_snapshot(rows, wanted, engine.options()); });
  });
  return JsonDict(call(member_of_module("json", "loads"), py::str(document)));
}

void restore(const OpenStore& store, py::handle snapshot, bool check) {
  const std::string document = json_text(snapshot);
  store.without_gil([&](Engine& engine) {
    std::unique_ptr<Storage> contents = read_snapshot(document);
    if (check) {
      const auto clock = std::make_shared<ManualClock>(contents->counters().now);
      const auto candidate = Engine::create(contents->fork(), clock, engine.options());
      std::vector<Violation> found = candidate->check();
      if (!found.empty()) throw InvariantError(std::move(found));
    }
    engine.replace_storage(std::move(contents));
  });
}

py::str digest_of(const OpenStore& store) {
  return store.without_gil(
      [](Engine& engine) { return engine.with_snapshot([&](Storage& rows) { return digest(rows, engine.options()); }); });
}

JsonDict counts(const OpenStore& store) {
  const Counts found = store.without_gil([](Engine& engine) {
    const Instant now = engine.clock()->now();
    return engine.with_snapshot([now](Storage& rows) {
      Counts counted;
      count_rows(rows, now, counted);
      count_schedules(rows, counted);
      count_messages(rows, counted);
      return counted;
    });
  });
  py::dict made;
  made["promises"] = dict_of(found.promises);
  made["tasks"] = dict_of(found.tasks);
  made["schedules"] = found.schedules;
  made["messages"] = found.messages;
  return JsonDict(std::move(made));
}

}  // namespace resonate::python
