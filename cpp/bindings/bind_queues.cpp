// store.queues
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "bind.hpp"
#include "described_arguments.hpp"
#include "keyword_method.hpp"
#include "misuse.hpp"
#include "open_store.hpp"
#include "protocol/jobs_encode_reply.hpp"
#include "python_sink.hpp"

namespace resonate::python {

namespace {

using QueueDicts = Shown<"builtins.list[dict[str, typing.Any]]">;

// A member of the reply's data, in the form of an envelope.
py::object data_of(const Reply& reply, Kind kind, const char* member) {
  PythonSink sink;
  sink.begin_object();
  resonate::detail::JobReplyEncoder<PythonSink>(sink, reply).data(kind);
  sink.end_object();
  return sink.take()[member];
}

template <class Request>
JsonDict queue_of(const Queues& self, Request request) {
  return JsonDict(data_of(self.store->run(std::move(request)), kKindOf<Request>, "queue"));
}
// For a request that has no member but the name of a queue.
template <class Request>
JsonDict named_queue(const Queues& self, const Str& name) {
  return queue_of(self, Request{std::string(text(name, "name"))});
}

QueueDicts list(const Queues& self) { return QueueDicts(data_of(self.store->run(QueueList{}), Kind::queue_list, "queues")); }

QueueDicts stats(const Queues& self, const OptionalStr& name) {
  return QueueDicts(data_of(self.store->run(JobStats{optional_text(name, "name")}), Kind::job_stats, "queues"));
}

JsonDict set(const Queues& self, const Str& name, const py::KWArgs<AnyValue>& given) {
  QueueSet set;
  set.queue = std::string(text(name, "name"));
  py::list known;
  each_field<QueueSet>([&]<std::size_t I>() {
    constexpr Field kWhich = kField<QueueSet, I>.field;
    if constexpr (kWhich != Field::queue) known.append(identifier_of(kWhich));
  });
  for (const auto& item : given)
    if (!known.contains(item.first)) throw py::type_error(unexpected_keyword("set", item.first, known));
  each_field<QueueSet>([&]<std::size_t I>() {
    constexpr Field kWhich = kField<QueueSet, I>.field;
    if constexpr (kWhich != Field::queue)
      if (const char* const member = identifier_of(kWhich); given.contains(member)) set_member<QueueSet, I>(set, given[member]);
  });
  return queue_of(self, std::move(set));
}

}  // namespace

void bind_queues(py::module_& module) {
  py::class_<Queues>(module, "Queues", R"doc(
The queues of a store: `store.queues`. The first job of a queue, or `set`, creates it.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.queues.set("mail", concurrency=10, rate={"limit": 100, "per": 60_000})["concurrency"]
    10
    >>> [queue["name"] for queue in store.queues.list()]
    ['mail']
)doc")
      .def("set", &set, py::arg("name"), R"doc(
Set members of a queue, and create it if it does not exist (JOBS 4, 5). Other members stay as they are; None clears a member.

Args:
    name: The name of the queue.
    **given: `lifecycle`: "asynq", "horsies" or None; for jobs that set none. `weight`: 1..1000, its share
        of claims that name several queues. `concurrency`: the maximum of its claimed and running jobs, or None.
        `rate`: {"limit": tokens, "per": ms, "burst": tokens} or None; how often its jobs may be claimed.
        `groups`: {"size": 1..1000, "grace": ms, "maxDelay": ms} or None; a batch is ready when it has `size` jobs, `grace` after
        the last one joined (default: a minute), or `maxDelay` after the first. `defaults`: members of jobs that do not set them,
        before the lifecycle: {"maxRetries", "retryPolicy", "onExhausted", "retention", "timeout", "priority",
        "cancelWithAwaiters"}, or None.

Returns:
    The queue, as on the wire.

Raises:
    Invalid: A value breaks a rule.
    TypeError: The member is unknown.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> store.queues.set("mail", lifecycle="asynq", weight=6)["weight"]
    6
)doc")
      .def("get", &named_queue<QueueGet>, py::arg("name"), R"doc(
Return the queue, as on the wire.

Raises:
    NotFound: The queue does not exist.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.jobs.enqueue("t", queue="mail")
    >>> store.queues.get("mail")
    {'name': 'mail', 'paused': False, 'weight': 1, 'active': 0}
)doc")
      .def("pause", &named_queue<QueuePause>, py::arg("name"), R"doc(
Stop claims from a queue; claimed and running jobs continue. It has no effect on a paused queue.

Raises:
    NotFound: The queue does not exist; `set(name)` creates it. The queue `default` always exists.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.queues.set("mail")
    >>> store.queues.pause("mail")["paused"]
    True
)doc")
      .def("resume", &named_queue<QueueResume>, py::arg("name"), R"doc(
Allow claims from a paused queue again.

Raises:
    NotFound: The queue does not exist.

Example:
    >>> store = rc.Store(clock=rc.ManualClock())
    >>> _ = store.queues.set("mail")
    >>> store.queues.resume("mail")["paused"]
    False
)doc")
      .def("list", &list, R"doc(
Return all queues by name, as on the wire.

Example:
    >>> rc.Store(clock=rc.ManualClock()).queues.list()
    []
)doc")
      .def("stats", &stats, py::arg("name") = py::none(), R"doc(
Return for each queue its jobs by state, the wait of the oldest pending job, and the attempts per UTC day.

Args:
    name: One queue; None: all.

Returns:
    For each queue `counts` by state, `oldestPendingAt` (Unix ms), `latency` (ms), `active`, and `days`, at most 90, each with the
    number of attempts that ended (`processed`) and that did not complete (`failed`).

Raises:
    NotFound: The queue does not exist.

Example:
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> _ = store.jobs.enqueue("t")
    >>> _ = clock.advance(500)
    >>> store.queues.stats("default")[0]["latency"]
    500
)doc");
}

}  // namespace resonate::python
