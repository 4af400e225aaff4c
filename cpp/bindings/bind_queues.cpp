// store.queues
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "bind.hpp"
#include "codec/kinds.hpp"
#include "described_method.hpp"
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
  resonate::detail::JobReplyEncoder<PythonSink>(sink, reply, DialectId::k2026_04_01).data(kind);
  sink.end_object();
  return sink.take()[member];
}

JsonDict queue_of(const Queues& self, Operation&& operation) {
  const Kind kind = kind_of(operation);
  return JsonDict(data_of(self.store->run(std::move(operation)), kind, "queue"));
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
  py::class_<Queues> bound(module, "Queues");
  DescribedMethod<QueueGet, &queue_of>::bind(bound, "get");
  DescribedMethod<QueuePause, &queue_of>::bind(bound, "pause");
  DescribedMethod<QueueResume, &queue_of>::bind(bound, "resume");
  bound.def("set", &set, py::arg("name")).def("list", &list).def("stats", &stats, py::arg("name") = py::none());
}

}  // namespace resonate::python
