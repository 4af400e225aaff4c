// Store: the typed interface of Python.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "display.hpp"
#include "fork_safety.hpp"
#include "gil.hpp"
#include "recorder.hpp"
#include "resonate/postgres.hpp"
#include "store_handle.hpp"
#include "store_options.hpp"

namespace resonate::python {

StoreHandle::StoreHandle(const std::shared_ptr<Engine>& engine, py::object clock_object)
    : open(std::make_shared<OpenStore>(engine)),
      clock(std::move(clock_object)),
      promises(py::cast(Promises{open})),
      tasks(py::cast(Tasks{open})),
      schedules(py::cast(Schedules{open})),
      jobs(py::cast(Jobs{open})),
      queues(py::cast(Queues{open})),
      views(py::cast(Views{open})) {}

namespace {

using PathArgument = Shown<"str | os.PathLike[str] | None">;
using OptionalClock = Shown<"resonate_core._core.Clock | None">;
using RecordingTarget = Shown<"str | os.PathLike[str] | typing.IO[str] | typing.IO[bytes]">;

std::shared_ptr<Clock> clock_of(const OptionalClock& given) {
  if (!py::isinstance<Clock>(given)) wrong_type("clock", "a ManualClock, a SystemClock or None", given);
  return py::cast<std::shared_ptr<Clock>>(given);
}

// Warns if the clock was or is wrong: otherwise deadlines would pass as soon as they are set, for no visible reason.
void warn_of_clock(Engine& engine) {
  std::string problem;
  {
    const OutsidePython outside;
    const Duration ahead = engine.clock_ahead();
    if (ahead <= kClockTolerance) return;
    problem = "the last instant in store \"" + engine.location() + "\" is " + std::to_string(ahead) + " ms ahead of " +
              engine.clock()->name() +
              ": short deadlines pass at once and schedules do not fire. Correct that clock; if it is right, correct the store "
              "with " +
              (is_postgres_url(engine.location()) ? "`Store.reset_clock()`" : "`resonate-core clock reset`");
  }
  const py::object category = member_of_module("resonate_core.errors", "ClockWarning");
  if (into_python([&] { return PyErr_WarnEx(category.ptr(), problem.c_str(), 1); }) != 0) throw py::error_already_set();
}

// Logs it: the store may be opened by a server, which has no caller to tell.
void log_note(const std::string& note) {
  if (note.empty()) return;
  const py::object logger = call(member_of_module("logging", "getLogger"), py::str("resonate_core"));
  call(logger.attr("warning"), py::str("%s"), py::str(note));
}

std::unique_ptr<StoreHandle> make_store(const PathArgument& path_or_url, const OptionalClock& clock, const RulesArgument& rules,
                                        const RetryArgument& retry_timeout, const CatchUpArgument& catchup, bool check,
                                        const OptionalBool& debug, const DurationArgument& unblock_retention,
                                        const DurabilityArgument& durability, const DurationArgument& busy_timeout,
                                        bool read_only) {
  const std::shared_ptr<Clock> given_clock = clock.is_none() ? nullptr : clock_of(clock);
  const Options options = engine_options({.rules = rules,
                                          .retry_timeout = retry_timeout,
                                          .catchup = catchup,
                                          .check = check,
                                          .debug = debug,
                                          .unblock_retention = unblock_retention},
                                         given_clock && given_clock->manual());
  OpenedStorage opened = open_storage(path_or_url, {.durability = durability, .busy_timeout = busy_timeout, .read_only = read_only},
                                      given_clock != nullptr);
  std::shared_ptr<Clock> source = given_clock ? given_clock : opened.clock;
  if (!source) source = std::make_shared<SystemClock>();
  log_note(opened.storage->opening_note());
  std::shared_ptr<Engine> engine;
  {
    const OutsidePython outside;
    engine = Engine::create(std::move(opened.storage), source, options);
  }
  warn_of_clock(*engine);
  auto made = std::make_unique<StoreHandle>(engine, given_clock ? py::object(clock) : py::cast(source));
  made->open->notices = std::move(opened.notices);
  return made;
}

std::unique_ptr<StoreHandle> fork(const StoreHandle& store, const OptionalClock& clock) {
  py::object clock_object = clock;
  std::shared_ptr<Clock> source;
  if (!clock.is_none()) {
    source = clock_of(clock);
  } else if (open(store).engine()->clock()->manual()) {
    const Instant now = open(store).without_gil([](Engine& engine) { return engine.clock()->now(); });
    auto copy = std::make_shared<ManualClock>(now);
    clock_object = py::cast(copy);
    source = std::move(copy);
  } else {
    clock_object = store.clock;
    source = clock_of(OptionalClock(store.clock));
  }
  return std::make_unique<StoreHandle>(open(store).without_gil([&source](Engine& engine) { return engine.fork(source); }),
                                       std::move(clock_object));
}

std::string repr(const StoreHandle& store) {
  if (open(store).closed()) return "Store(closed)";
  const auto engine = open(store).engine();
  Repr shown("Store");
  if (const std::string& place = engine->location(); !place.empty()) {
    shown.with(is_postgres_url(place) ? "url" : "path", place);  // no count: a log line must not wait for a file or a database
  } else {
    shown.with("promises", open(store).without_gil([](Engine& one) { return one.promise_count(); }));
  }
  return shown.with("clock", store.clock).with("rules", name_of_rules(engine->options())).done();
}

// --- time -----------------------------------------------------------------------------------------------------------------------

Instant now_of_store(const StoreHandle& store) {
  return open(store).without_gil([](Engine& engine) { return engine.now(); });
}

py::typing::List<Fired> tick(const StoreHandle& store, const OptionalInstant& now, const OptionalInt& limit) {
  const std::optional<Instant> at = optional_instant(now, "now");
  const std::int64_t most = optional_integer(limit, "limit").value_or(INT64_MAX);
  if (most < 1) raise(ErrorClass::invalid, "limit must be at least 1, got " + std::to_string(most));
  py::typing::List<Fired> made;
  for (Fired& step : open(store).without_gil([=](Engine& engine) { return engine.tick(at, static_cast<std::size_t>(most)); })) {
    made.append(std::move(step));
  }
  return made;
}

std::optional<Instant> next_due(const StoreHandle& store) {
  return open(store).without_gil([](Engine& engine) { return engine.next_due(); });
}

// --- recording ------------------------------------------------------------------------------------------------------------------

std::shared_ptr<Recorder> record(const StoreHandle& store, const RecordingTarget& target) {
  const auto engine = open(store).engine();
  if (store.open->recorder && !store.open->recorder->closed()) {
    raise(ErrorClass::invalid, "a store must have at most one recording: close the current one first");
  }
  store.open->recorder = std::make_shared<Recorder>(engine, open_line_writer(target, engine->location()));
  return store.open->recorder;
}

std::string location_of(const StoreHandle& store) { return open(store).engine()->location(); }

py::object attached_to(StoreHandle& store) {
  if (!store.attached) store.attached = py::dict();
  return store.attached;
}

// What Python calls to find and to break circles of references. `attached` and a clock of a subclass can lead back to the
// store. So can the target of a recording, which is not visited: it must not use the store, and `close` lets go of it. A store
// whose construction failed, or has not ended, has no members.
void make_collectable(PyHeapTypeObject* heap_type) {
  PyTypeObject& type = heap_type->ht_type;
  type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type.tp_traverse = [](PyObject* self, visitproc visit, void* arg) -> int {
    Py_VISIT(Py_TYPE(self));
    if (!py::detail::is_holder_constructed(self)) return 0;
    const auto& store = py::cast<const StoreHandle&>(py::handle(self));
    Py_VISIT(store.attached.ptr());
    Py_VISIT(store.clock.ptr());
    return 0;
  };
  type.tp_clear = [](PyObject* self) -> int {  // the clock stays: its own class breaks a circle through it
    if (py::detail::is_holder_constructed(self)) py::cast<StoreHandle&>(py::handle(self)).attached = py::object();
    return 0;
  };
}

void bind_life(StoreClass& bound) {
  bound
      .def(py::init(&make_store), py::arg("path_or_url") = py::none(), py::kw_only(), py::arg("clock") = py::none(),
           py::arg("rules") = "compatible", py::arg("retry_timeout") = 5000, py::arg("catchup") = "all", py::arg("check") = false,
           py::arg("debug") = py::none(), py::arg("unblock_retention") = 86'400'000, py::arg("durability") = "full",
           py::arg("busy_timeout") = 5000, py::arg("read_only") = false)
      .def_property_readonly("promises",
                             [](const StoreHandle& self) { return Shown<"resonate_core._core.Promises">(self.promises); })
      .def_property_readonly("tasks", [](const StoreHandle& self) { return Shown<"resonate_core._core.Tasks">(self.tasks); })
      .def_property_readonly("schedules",
                             [](const StoreHandle& self) { return Shown<"resonate_core._core.Schedules">(self.schedules); })
      .def_property_readonly("jobs", [](const StoreHandle& self) { return Shown<"resonate_core._core.Jobs">(self.jobs); })
      .def_property_readonly("queues", [](const StoreHandle& self) { return Shown<"resonate_core._core.Queues">(self.queues); })
      .def_property_readonly("views", [](const StoreHandle& self) { return Shown<"resonate_core._core.Views">(self.views); })
      .def_property_readonly("clock", [](const StoreHandle& self) { return Shown<"resonate_core._core.Clock">(self.clock); })
      .def_property_readonly("rules",
                             [](const StoreHandle& self) { return std::string(name_of_rules(open(self).engine()->options())); })
      .def_property_readonly(
          "retry_timeout",
          [](const StoreHandle& self) {
            const auto& timeout = open(self).engine()->options().retry_timeout;
            return Shown<"int | typing.Literal['ttl']">(timeout ? py::object(py::int_(*timeout)) : py::object(py::str("ttl")));
          })
      .def_property_readonly("catchup",
                             [](const StoreHandle& self) { return std::string(name_of_catchup(open(self).engine()->options())); })
      .def_property_readonly("paused", [](const StoreHandle& self) { return open(self).engine()->paused(); })
      .def_property_readonly("path",
                             [](const StoreHandle& self) {
                               const std::string place = location_of(self);
                               return place.empty() || is_postgres_url(place) ? std::nullopt : std::optional(place);
                             })
      .def_property_readonly("url",
                             [](const StoreHandle& self) {
                               const std::string place = location_of(self);
                               return is_postgres_url(place) ? std::optional(place) : std::nullopt;
                             })
      .def_property_readonly("shared", [](const StoreHandle& self) { return !location_of(self).empty(); })
      .def_property_readonly("debug", [](const StoreHandle& self) { return open(self).engine()->options().debug; })
      .def_property_readonly("closed", [](const StoreHandle& self) { return open(self).closed(); })
      .def("close", [](const StoreHandle& self) { self.open->close(); })
      .def("__enter__", [](const py::object& self) { return Shown<"resonate_core._core.Store">(self); })
      .def(
          "__exit__", [](const StoreHandle& self, const AnyValue&, const AnyValue&, const AnyValue&) { self.open->close(); },
          py::arg("exc_type"), py::arg("exc"), py::arg("traceback"))
      .def_property_readonly("_attached", [](StoreHandle& self) { return Shown<"dict[str, typing.Any]">(attached_to(self)); })
      .def("__repr__", &repr)
      .def("_repr_html_", [](const py::object& self) { return html("store_html", self); });
}

void bind_time(StoreClass& bound) {
  bound.def_property_readonly("now", &now_of_store)
      .def("tick", &tick, py::arg("now") = py::none(), py::kw_only(), py::arg("limit") = py::none())
      .def("next_due", &next_due);
}

void bind_copies(StoreClass& bound) {
  bound.def("fork", &fork, py::arg("clock") = py::none()).def("record", &record, py::arg("target"));
}

}  // namespace

void bind_store(py::module_& module) {
  StoreClass bound(module, "Store", py::custom_type_setup(&make_collectable));
  // Store[ManualClock] in annotations: type checkers know the class of `clock` by it.
  bound.attr("__class_getitem__") =
      call(reinterpret_cast<PyObject*>(&PyClassMethod_Type), member_of_module("types", "GenericAlias"));
  bind_life(bound);
  bind_envelopes(bound);
  bind_time(bound);
  bind_outbox(bound);
  bind_run(bound);
  bind_store_watch(bound);
  bind_waiting(bound);
  bind_state(bound);
  bind_copies(bound);
  bind_file(bound);
}

}  // namespace resonate::python
