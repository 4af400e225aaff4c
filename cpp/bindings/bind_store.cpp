// Store: the door of Python (DESIGN 3).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "arguments.hpp"
#include "bind.hpp"
#include "display.hpp"
#include "envelopes.hpp"
#include "event_dicts.hpp"
#include "fork_safety.hpp"
#include "interrupt.hpp"
#include "recorder.hpp"
#include "snapshots.hpp"
#include "store_handle.hpp"
#include "store_options.hpp"

namespace resonate::python {

StoreHandle::StoreHandle(const std::shared_ptr<Engine>& engine, py::object clock_object)
    : open(std::make_shared<OpenStore>(engine)),
      clock(std::move(clock_object)),
      promises(py::cast(Promises{open})),
      tasks(py::cast(Tasks{open})),
      schedules(py::cast(Schedules{open})) {}

namespace {

using PathArgument = Shown<"str | os.PathLike[str] | None">;
using OptionalClock = Shown<"resonate_core._core.Clock | None">;
using EnvelopeArgument = Shown<"dict[str, typing.Any] | list[dict[str, typing.Any]]">;
using JsonArgument = Shown<"bytes | str | list[bytes] | list[str]">;
using Addresses = Shown<"collections.abc.Iterable[str] | None">;
using RecordingTarget = Shown<"str | os.PathLike[str] | typing.IO[str] | typing.IO[bytes]">;
using Format = Shown<"typing.Literal['full', 'debug']">;

const OpenStore& open(const StoreHandle& store) { return *store.open; }

std::shared_ptr<Clock> clock_of(const OptionalClock& given, py::object& object) {
  if (given.is_none()) {
    object = py::module_::import("resonate_core._core").attr("SystemClock")();
  } else if (!py::isinstance<Clock>(given)) {
    wrong_type("clock", "a ManualClock, a SystemClock or None", given);
  } else {
    object = given;
  }
  return py::cast<std::shared_ptr<Clock>>(object);
}

std::unique_ptr<StoreHandle> make_store(const PathArgument& path_or_url, const OptionalClock& clock, const RulesArgument& rules,
                                        const RetryArgument& retry_timeout, const CatchUpArgument& catchup, bool check,
                                        const OptionalBool& debug, const DurationArgument& unblock_retention) {
  py::object clock_object;
  const std::shared_ptr<Clock> source = clock_of(clock, clock_object);
  const Options options = engine_options({.rules = rules,
                                          .retry_timeout = retry_timeout,
                                          .catchup = catchup,
                                          .check = check,
                                          .debug = debug,
                                          .unblock_retention = unblock_retention},
                                         source->manual());
  std::unique_ptr<Storage> storage = open_storage(path_or_url);
  std::shared_ptr<Engine> engine;
  {
    const OutsidePython outside;
    engine = Engine::create(std::move(storage), source, options);
  }
  return std::make_unique<StoreHandle>(engine, std::move(clock_object));
}

std::unique_ptr<StoreHandle> fork(const StoreHandle& store, const OptionalClock& clock) {
  py::object clock_object;
  std::shared_ptr<Clock> source;
  if (!clock.is_none()) {
    source = clock_of(clock, clock_object);
  } else if (open(store).engine()->clock()->manual()) {
    const Instant now = open(store).without_gil([](Engine& engine) { return engine.clock()->now(); });
    auto copy = std::make_shared<ManualClock>(now);
    clock_object = py::cast(copy);
    source = std::move(copy);
  } else {
    source = clock_of(OptionalClock(store.clock), clock_object);
  }
  return std::make_unique<StoreHandle>(open(store).without_gil([&source](Engine& engine) { return engine.fork(source); }), std::move(clock_object));
}

std::string repr(const StoreHandle& store) {
  if (open(store).closed()) return "Store(closed)";
  const auto engine = open(store).engine();
  return Repr("Store")
      .with("promises", open(store).without_gil([](Engine& one) { return one.promise_count(); }))
      .with("clock", store.clock)
      .with("rules", name_of_rules(engine->options()))
      .done();
}

// --- time -----------------------------------------------------------------------------------------------------------------------

Instant now_of(const StoreHandle& store) {
  return open(store).without_gil([](Engine& engine) { return engine.clock()->now(); });
}

py::typing::List<Fired> tick(const StoreHandle& store, const OptionalInt& now) {
  const std::optional<Instant> at = optional_integer(now, "now");
  py::typing::List<Fired> made;
  for (Fired& step : open(store).without_gil([at](Engine& engine) { return engine.tick(at, interrupt_on_signal()); })) {
    made.append(std::move(step));
  }
  return made;
}

std::optional<Instant> next_due(const StoreHandle& store) {
  return open(store).without_gil([](Engine& engine) { return engine.next_due(); });
}

// --- messages -------------------------------------------------------------------------------------------------------------------

using Found = std::vector<std::pair<MessageRef, RowRef>>;

std::size_t limit_of(const OptionalInt& given) {
  const std::int64_t limit = optional_integer(given, "limit").value_or(INT64_MAX);
  if (limit < 0) raise(ErrorClass::invalid, "limit is " + std::to_string(limit) + "; it has to be 0 or more");
  return static_cast<std::size_t>(limit);
}

py::typing::List<MessageRecord> messages(const StoreHandle& store, const OptionalInt& limit) {
  const std::size_t most = limit_of(limit);
  py::typing::List<MessageRecord> made;
  for (auto& [message, record] : open(store).without_gil([most](Engine& engine) { return engine.messages_with_records(most); })) {
    made.append(MessageRecord{std::move(message), std::move(record)});
  }
  return made;
}

// Exact addresses, and beginnings of addresses where a pattern ends in `*`.
class AddressFilter {
 public:
  explicit AddressFilter(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  bool operator()(const OutboxMessage& message) const {
    for (const std::string& pattern : patterns_) {
      if (pattern == message.address) return true;
      if (!pattern.empty() && pattern.back() == '*' && message.address.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))) return true;
    }
    return false;
  }

 private:
  std::vector<std::string> patterns_;
};

py::typing::List<JsonDict> take_messages(const StoreHandle& store, const OptionalInt& limit, const Addresses& addresses) {
  const std::size_t most = limit_of(limit);
  Found taken;
  if (addresses.is_none()) {
    taken = open(store).without_gil([most](Engine& engine) { return engine.take_messages(most); });
  } else {
    const AddressFilter wanted(texts(addresses, "addresses"));
    taken = open(store).without_gil([&](Engine& engine) { return engine.take_messages_if(wanted, most); });
  }
  py::typing::List<JsonDict> made;
  for (auto& [message, record] : taken) made.append(message_dict({std::move(message), std::move(record)}));
  return made;
}

// --- recording ------------------------------------------------------------------------------------------------------------------

std::shared_ptr<Recorder> record(const StoreHandle& store, const RecordingTarget& target) {
  const auto engine = open(store).engine();
  if (store.open->recorder && !store.open->recorder->closed()) {
    raise(ErrorClass::invalid, "the store is being recorded already; close that recording first");
  }
  store.open->recorder = std::make_shared<Recorder>(engine, open_line_writer(target));
  return store.open->recorder;
}

using StoreClass = py::class_<StoreHandle>;

void bind_life(StoreClass& bound) {
  bound
      .def(py::init(&make_store), py::arg("path_or_url") = py::none(), py::kw_only(), py::arg("clock") = py::none(),
           py::arg("rules") = "compatible", py::arg("retry_timeout") = 5000, py::arg("catchup") = "all", py::arg("check") = false,
           py::arg("debug") = py::none(), py::arg("unblock_retention") = 86'400'000)
      .def_property_readonly("promises", [](const StoreHandle& self) { return Shown<"resonate_core._core.Promises">(self.promises); }, "Its promises.")
      .def_property_readonly("tasks", [](const StoreHandle& self) { return Shown<"resonate_core._core.Tasks">(self.tasks); }, "Its tasks.")
      .def_property_readonly("schedules", [](const StoreHandle& self) { return Shown<"resonate_core._core.Schedules">(self.schedules); }, "Its schedules.")
      .def_property_readonly(
          "clock", [](const StoreHandle& self) { return Shown<"resonate_core._core.Clock">(self.clock); },
          "The clock that it was made with, or its system clock.")
      .def_property_readonly(
          "rules", [](const StoreHandle& self) { return std::string(name_of_rules(open(self).engine()->options())); }, "The rule set: `compatible` or `strict`.")
      .def_property_readonly(
          "retry_timeout",
          [](const StoreHandle& self) {
            const auto& timeout = open(self).engine()->options().retry_timeout;
            return Shown<"int | typing.Literal['ttl']">(timeout ? py::object(py::int_(*timeout)) : py::object(py::str("ttl")));
          },
          "From one message of a pending task to the next, in ms, or `ttl`.")
      .def_property_readonly(
          "catchup", [](const StoreHandle& self) { return std::string(name_of_catchup(open(self).engine()->options())); },
          "Which missed occurrences of a schedule are made up: `all`, `latest` or `none`.")
      .def_property_readonly(
          "paused", [](const StoreHandle& self) { return open(self).engine()->paused(); },
          "Between debug.start and debug.stop: whoever ticks this store in the background should hold still.")
      .def_property_readonly("closed", [](const StoreHandle& self) { return open(self).closed(); }, "Whether it was closed.")
      .def("close", [](const StoreHandle& self) { self.open->close(); }, R"doc(
Closes the store; what it held in memory is gone. Every later call raises Closed. Without effect where it is closed.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.close()
    >>> store.closed
    True
)doc")
      .def("__enter__", [](const py::object& self) { return Shown<"resonate_core._core.Store">(self); })
      .def("__exit__", [](const StoreHandle& self, const AnyValue&, const AnyValue&, const AnyValue&) { self.open->close(); },
           py::arg("exc_type"), py::arg("exc"), py::arg("traceback"))
      .def("__repr__", &repr)
      .def("_repr_html_", [](const py::object& self) { return html("store_html", self); });
}

void bind_envelopes(StoreClass& bound) {
  bound
      .def("apply", [](const StoreHandle& self, const EnvelopeArgument& envelope, const OptionalInt& now, bool atomic) { return apply(open(self), envelope, now, atomic); },
           py::arg("envelope"), py::arg("now") = py::none(), py::arg("atomic") = false, R"doc(
Runs a request in its envelope, of either dialect, or a list of them in one transaction (PROTOCOL 2, 8).

Whatever is refused is answered, a malformed envelope with status 400; nothing that a client sends raises.

Args:
    envelope: `{"kind", "head", "data"}`, or a list of such.
    now: On a manual clock: the instant of the request, in Unix ms, to which the clock is moved. `head["resonate:debug_time"]` does
        the same. An instant that has passed is answered with status 400.
    atomic: The first refusal undoes all of a list.

Returns:
    The answering envelope, or a list of them in the same order.

Raises:
    Closed: The store was closed.
    TypeError: `now` is no int.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> head = {"corrId": "1", "version": "2026-04-01"}
    >>> store.apply({"kind": "promise.get", "head": head, "data": {"id": "nobody"}})["head"]["status"]
    404
    >>> store.apply(["no envelope"])[0]["head"]
    {'corrId': '0', 'status': 400, 'version': '2026-04-01'}
)doc")
      .def("apply_json", [](const StoreHandle& self, const JsonArgument& envelope, const OptionalInt& now, bool atomic) { return apply_json(open(self), envelope, now, atomic); },
           py::arg("envelope"), py::arg("now") = py::none(), py::arg("atomic") = false, R"doc(
As `apply`, from JSON to JSON. A batch is a Python list of texts; a JSON array in one text is none and answered with status 400.

Args:
    envelope: JSON in UTF-8, or a list of such texts, which run in one transaction.
    now: The instant of the request on a manual clock, in Unix ms.
    atomic: The first refusal undoes all of a list.

Returns:
    The answer as JSON in ASCII, or a list of them in the same order.

Raises:
    Closed: The store was closed.
    TypeError: Neither bytes nor str nor a list of them; `now` is no int.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.apply_json(b"{")[:42]
    b'{"kind":"unknown","head":{"corrId":"0","st'
)doc");
}

void bind_time(StoreClass& bound) {
  bound.def_property_readonly("now", &now_of, "The present instant of its clock, in Unix ms.")
      .def("tick", &tick, py::arg("now") = py::none(), R"doc(
Fires everything that is due, to the last step, with one instant for all of it (PROTOCOL 4).

Other threads use the store between the transactions of a long tick, and Ctrl-C stops it there.

Args:
    now: On a manual clock: the instant to which the clock is moved, in Unix ms; None for the clock's own.

Returns:
    What fired, in order.

Raises:
    Invalid: An instant that has passed, or any instant where the clock is the system's.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=500, tags={"resonate:external": "true"})
    >>> store.tick(2000)
    [Fired(kind='promise_timeout', id='a', at=500, now=2000)]
)doc")
      .def("next_due", &next_due, R"doc(
The next instant at which anything is due, in Unix ms, never in the past; None where nothing ever will be.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=500, tags={"resonate:timer": "true"})
    >>> store.next_due()
    500
)doc");
}

void bind_messages(StoreClass& bound) {
  bound
      .def("messages", &messages, py::arg("limit") = py::none(), R"doc(
What waits in the outbox, in order of queueing (PROTOCOL 5). It stays there.

Args:
    limit: How many at most.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> [(message.kind, message.address) for message in store.messages()]
    [('execute', 'poll://any@workers')]
)doc")
      .def("take_messages", &take_messages, py::arg("limit") = py::none(), py::kw_only(), py::arg("addresses") = py::none(), R"doc(
Takes messages out of the outbox, in order of queueing: their delivery is acknowledged with that (PROTOCOL 5).

Args:
    limit: How many at most.
    addresses: Only those to one of these addresses; one that ends in `*` stands for all that begin so. The others stay queued.

Returns:
    Dicts of `key`, `address` and `message`, the last as it goes over the wire.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("job", timeout=1000, tags={"resonate:target": "poll://any@workers"})
    >>> store.take_messages(addresses=["http*"])
    []
    >>> store.take_messages()[0]["message"]
    {'kind': 'execute', 'head': {}, 'data': {'task': {'id': 'job', 'version': 0}}}
    >>> store.messages()
    []
)doc");
}

void bind_state(StoreClass& bound) {
  bound
      .def("check", [](const StoreHandle& self) {
             py::typing::List<Violation> made;
             for (Violation& violation : open(self).without_gil([](Engine& engine) { return engine.check(); })) made.append(std::move(violation));
             return made;
           }, R"doc(
Every property of PROTOCOL 6 that does not hold, by name; empty when all hold. It looks at the whole state.

A store made with `check=True` looks at what each request and step changed, and raises InvariantViolation.

Example:
    >>> rc.Store(clock=rc.ManualClock()).check()
    []
)doc")
      .def("counts", [](const StoreHandle& self) { return counts(open(self)); }, R"doc(
How many promises and tasks there are in each state, how many schedules and messages. It looks at the whole state.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> store.counts()
    {'promises': {'pending': 1}, 'tasks': {}, 'schedules': 0, 'messages': 0}
)doc")
      .def("fork", &fork, py::arg("clock") = py::none(), R"doc(
An independent copy of the store, cheap however much it holds: rows are shared until one of the two changes them.

Args:
    clock: The clock of the copy. None: a new manual clock at the same instant, or the same system clock.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
    >>> what_if = store.fork()
    >>> _ = what_if.clock.advance(5000)
    >>> what_if.promises.get("a").state, store.promises.get("a").state
    ('resolved', 'pending')
)doc")
      .def("snapshot", [](const StoreHandle& self, const Format& format) { return snapshot(open(self), format); }, py::arg("format") = "full", R"doc(
The whole state as a JSON-able dict: stored rows, not projected (PROTOCOL 8).

Args:
    format: `full` is what `restore` takes; `debug` is the shape of debug.snap (WIRE 5), without schedules.

Raises:
    Invalid: Another format.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> [promise["id"] for promise in store.snapshot()["promises"]]
    ['a']
)doc")
      .def("restore", [](const StoreHandle& self, const JsonDict& given, bool check) { restore(open(self), given, check); },
           py::arg("snapshot"), py::arg("check") = true, R"doc(
Replaces the whole state by that of a full snapshot, in one step. A manual clock moves forward to the snapshot's instant.

Args:
    snapshot: What `snapshot()` gave.
    check: Look at every property of PROTOCOL 6 first.

Raises:
    Invalid: No full snapshot; the message names the member. Nothing was replaced then.
    InvariantViolation: A property does not hold. Nothing was replaced then.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.promises.create("a", timeout=1000)
    >>> other = rc.Store(clock=rc.ManualClock())
    >>> other.restore(store.snapshot())
    >>> other.digest() == store.digest()
    True
)doc")
      .def("digest", [](const StoreHandle& self) { return digest_of(open(self)); }, R"doc(
A hash of the whole state in hex: equal states have equal digests, in every process and storage.

Example:
    >>> rc.Store(clock=rc.ManualClock()).digest() == rc.Store(clock=rc.ManualClock()).digest()
    True
)doc")
      .def("record", &record, py::arg("target"), R"doc(
Writes everything that changes the store from now on, one JSON line a request or internal step, for `replay`.

Args:
    target: The path of a file, which is made anew, or an object with `write`.

Returns:
    The recording, a context manager; it ends with `close()`, or with the store.

Raises:
    StoreError: The file cannot be opened.
    Invalid: The store is being recorded already.

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
A store of durable promises, tasks and schedules: one engine, its rows and its clock (DESIGN 1).

Thread-safe; calls release the GIL. A context manager that closes it. A child of `os.fork` may go on with its copy.

Args:
    path_or_url: Where the rows live; None is memory, the only home in this version.
    clock: A `ManualClock` for simulation, or None for the system's.
    rules: `compatible` takes what every published client sends, `strict` holds to the formal model (PROTOCOL 2.1).
    retry_timeout: From one message of a pending task to the next, in ms or as a timedelta; `ttl`: that of the task's last lease.
    catchup: Which missed occurrences of a schedule are made up: `all`, `latest`, or `none` (later than a minute).
    check: Look at the properties of PROTOCOL 6 after every request and step, and raise InvariantViolation. Slow: for tests.
    debug: Serve `debug.*` envelopes; None: on a manual clock only.
    unblock_retention: How long an unblock message waits to be taken, in ms or as a timedelta.

Raises:
    Unsupported: A path or URL was given.
    Invalid: An option that is none of those above.

Example:
    >>> with rc.Store(clock=rc.ManualClock()) as store:
    ...     _ = store.promises.create("order:1", timeout=60_000)
    ...     store.promises.resolve("order:1", "shipped").state
    'resolved'
)doc");
  bind_life(bound);
  bind_envelopes(bound);
  bind_time(bound);
  bind_messages(bound);
  bind_state(bound);
}

}  // namespace resonate::python
