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

Instant now_of(const StoreHandle& store) {
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
      .def_property_readonly(
          "promises", [](const StoreHandle& self) { return Shown<"resonate_core._core.Promises">(self.promises); }, "Its promises.")
      .def_property_readonly(
          "tasks", [](const StoreHandle& self) { return Shown<"resonate_core._core.Tasks">(self.tasks); }, "Its tasks.")
      .def_property_readonly(
          "schedules", [](const StoreHandle& self) { return Shown<"resonate_core._core.Schedules">(self.schedules); },
          "Its schedules.")
      .def_property_readonly(
          "jobs", [](const StoreHandle& self) { return Shown<"resonate_core._core.Jobs">(self.jobs); }, "Its jobs.")
      .def_property_readonly(
          "queues", [](const StoreHandle& self) { return Shown<"resonate_core._core.Queues">(self.queues); },
          "The queues of its jobs.")
      .def_property_readonly(
          "views", [](const StoreHandle& self) { return Shown<"resonate_core._core.Views">(self.views); },
          "Reads for people: the newest jobs and promises, what is due, leases, hours.")
      .def_property_readonly(
          "clock", [](const StoreHandle& self) { return Shown<"resonate_core._core.Clock">(self.clock); },
          "The clock that it was created with, or the system's, or that of its database.")
      .def_property_readonly(
          "rules", [](const StoreHandle& self) { return std::string(name_of_rules(open(self).engine()->options())); },
          "The rule set: `compatible` or `strict`.")
      .def_property_readonly(
          "retry_timeout",
          [](const StoreHandle& self) {
            const auto& timeout = open(self).engine()->options().retry_timeout;
            return Shown<"int | typing.Literal['ttl']">(timeout ? py::object(py::int_(*timeout)) : py::object(py::str("ttl")));
          },
          "The time until a pending task is dispatched again, in ms, or `ttl`.")
      .def_property_readonly(
          "catchup", [](const StoreHandle& self) { return std::string(name_of_catchup(open(self).engine()->options())); },
          "Which missed occurrences of a schedule are made up: `all`, `latest` or `none`.")
      .def_property_readonly(
          "paused", [](const StoreHandle& self) { return open(self).engine()->paused(); },
          "Whether it is between debug.start and debug.stop; background ticks must pause.")
      .def_property_readonly(
          "path",
          [](const StoreHandle& self) {
            const std::string place = location_of(self);
            return place.empty() || is_postgres_url(place) ? std::nullopt : std::optional(place);
          },
          "The absolute path of its file; None in memory and in a database.")
      .def_property_readonly(
          "url",
          [](const StoreHandle& self) {
            const std::string place = location_of(self);
            return is_postgres_url(place) ? std::optional(place) : std::nullopt;
          },
          "The URL of its database, without passwords; None in memory and in a file.")
      .def_property_readonly(
          "shared", [](const StoreHandle& self) { return !location_of(self).empty(); },
          "Whether other processes can use it: it is in a file or in a database.")
      .def_property_readonly(
          "debug", [](const StoreHandle& self) { return open(self).engine()->options().debug; },
          "Whether it serves debug operations.")
      .def_property_readonly(
          "closed", [](const StoreHandle& self) { return open(self).closed(); }, "Whether it is closed.")
      .def(
          "close", [](const StoreHandle& self) { self.open->close(); }, R"doc(
Close the store: a state in memory is lost, a state in a file remains. Every later call
raises Closed. It has no effect on a closed store.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.close()
    >>> store.closed
    True
)doc")
      .def("__enter__", [](const py::object& self) { return Shown<"resonate_core._core.Store">(self); })
      .def(
          "__exit__", [](const StoreHandle& self, const AnyValue&, const AnyValue&, const AnyValue&) { self.open->close(); },
          py::arg("exc_type"), py::arg("exc"), py::arg("traceback"))
      .def_property_readonly(
          "_attached", [](StoreHandle& self) { return Shown<"dict[str, typing.Any]">(attached_to(self)); },
          "Objects that the package keeps for as long as this store lives, by name.")
      .def("__repr__", &repr)
      .def("_repr_html_", [](const py::object& self) { return html("store_html", self); });
}

void bind_time(StoreClass& bound) {
  bound.def_property_readonly("now", &now_of, "The current instant of its clock, in Unix ms.")
      .def("tick", &tick, py::arg("now") = py::none(), py::kw_only(), py::arg("limit") = py::none(), R"doc(
Run all due steps at one instant (PROTOCOL 4).

Other threads use the store between the transactions of a long tick, and Ctrl-C stops it there.

Args:
    now: On a manual clock: the instant to which the clock is moved, in Unix ms or as an aware datetime; None: the clock's instant.
    limit: The maximum of steps, at least 1; further steps stay due. A clock that is centuries ahead makes a schedule miss millions of
        occurrences: with a limit, neither the tick nor its result is as long as that.

Returns:
    The steps that fired, in order.

Raises:
    Invalid: The instant has passed, an instant is given with the system's clock, or the limit is below 1.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=500, tags={"resonate:external": "true"})
    >>> store.tick(2000)
    [Fired(kind='promise_timeout', id='a', at=500, now=2000)]
)doc")
      .def("next_due", &next_due, R"doc(
Return the next instant at which a step is due, in Unix ms, never in the past; None if no step will ever be due.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=500, tags={"resonate:timer": "true"})
    >>> store.next_due()
    500
)doc");
}

void bind_copies(StoreClass& bound) {
  bound
      .def("fork", &fork, py::arg("clock") = py::none(), R"doc(
Return an independent copy of the store in memory. A copy of a store in memory is cheap for any size: rows are shared until one of
the two changes them. For a file, all rows are read once, and changes of the copy never affect the file.

Args:
    clock: The clock of the copy. None: a new manual clock at the same instant, or the same clock.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
    >>> what_if = store.fork()
    >>> _ = what_if.clock.advance(5000)
    >>> what_if.promises.get("a").state, store.promises.get("a").state
    ('resolved', 'pending')
)doc")
      .def("record", &record, py::arg("target"), R"doc(
Record every following change of the store, one JSON line per request or internal step, for `replay`. If another process has changed
the store, a line with the whole state precedes the next request of this store.

Args:
    target: The path of a file, which is overwritten, or an object with `write`. It is called while the store is locked: it must
        not wait for a thread that uses the store; if it calls the store, the call raises Invalid and the recording ends.

Returns:
    The recording, a context manager; it ends with `close()`, or with the store.

Raises:
    StoreError: The file cannot be opened.
    Invalid: The store has a recording already.

Example:
    >>> import io
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> trace = io.StringIO()
    >>> with store.record(trace):
    ...     _ = store.promises.create("a", timeout=1000)
    >>> rc.replay(trace.getvalue().splitlines()).ok
    True
)doc");
}

}  // namespace

void bind_store(py::module_& module) {
  StoreClass bound(module, "Store", R"doc(
A store of durable promises, tasks, schedules and jobs: one engine, its rows and its clock.

Thread-safe; calls release the GIL. A context manager that closes it. A child of `os.fork` may continue with its copy.

Args:
    path_or_url: The path of a SQLite file, which is created if it does not exist; the URL of a PostgreSQL database, in which the
        tables are made (``postgresql://user@host/database?schema=resonate``); None: memory.
    clock: A `ManualClock` for simulation; None: the system's, or that of the database, which is one for all machines.
    rules: `compatible` accepts every request of a published client, `strict` follows the formal model (PROTOCOL 2.1).
    retry_timeout: The time until a pending task is dispatched again, in ms or as a timedelta; `ttl`: that of its last lease.
    catchup: Which missed occurrences of a schedule are made up: `all`, `latest`, or `none` (if they are more than a minute late).
    check: Check the invariants of PROTOCOL 6 after every request and step, and raise InvariantViolation. Slow: for tests.
    debug: Serve `debug.*` envelopes; None: on a manual clock only.
    unblock_retention: How long an undelivered unblock message is kept, in ms or as a timedelta.
    durability: For a file or a database. `full`: every answered request survives a loss of power (fsync at each commit).
        `normal`: it survives a crash of the process; a loss of power may undo the last commits, each as a whole.
    busy_timeout: How long a call waits while another process writes, in ms or as a timedelta.
    read_only: Open a file or a database only for reading: a change raises ReadOnly.

Raises:
    StoreError: The file cannot be opened, is no database, or is damaged; it is left unchanged. Or the database cannot be reached.
    StoreBusy: Another process held the store for longer than `busy_timeout`.
    Unsupported: This version does not support the URL's database, or libpq is not installed.
    Invalid: An option has another value than those above.

Example:
    >>> with rc.Store(clock=rc.ManualClock()) as store:
    ...     _ = store.promises.create("order:1", timeout=60_000)
    ...     store.promises.resolve("order:1", "shipped").state
    'resolved'
)doc",
                   py::custom_type_setup(&make_collectable));
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
