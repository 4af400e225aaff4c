// store.jobs: enqueue, enqueue_many. The requests of workers are in bind_claims.cpp, those of operators in bind_job_inspection.cpp.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include "bind.hpp"
#include "described_arguments.hpp"
#include "keyword_method.hpp"
#include "requests.hpp"

namespace resonate::python {

namespace {

using Payloads = Shown<"collections.abc.Iterable[typing.Any]">;
using Then = Shown<"resonate_core.calls.graph.ToRun | None">;
using Calls = py::typing::List<JsonDict>;
using Answers = py::typing::List<py::typing::Tuple<py::int_, py::object>>;
using OptionalIds = Shown<"collections.abc.Iterable[str] | None">;

// `enqueue` takes these first, in an order of its own; `enqueue_many` takes no key, which only one job can hold.
enum First : std::size_t { kType, kPayload, kId, kHeaders, kRest };
template <bool Many, class Body>
void each_keyword(Body&& body) {
  each_field<JobOrder>([&]<std::size_t I>() {
    constexpr Field kWhich = kField<JobOrder, I>.field;
    constexpr bool kFirst = kWhich == Field::type || kWhich == Field::payload || kWhich == Field::id;
    constexpr bool kOfOne = kWhich == Field::unique_key || kWhich == Field::unique_for;
    if constexpr (!kFirst && !(Many && kOfOne)) body.template operator()<I>();
  });
}

template <bool Many>
JobOrder order_of(PyObject* const* given) {
  JobOrder order;
  order.type = std::string(text(given[kType], "type"));
  std::size_t place = kRest;
  each_keyword<Many>([&]<std::size_t I>() { set_member<JobOrder, I>(order, given[place++]); });
  return order;
}

JobEnqueue enqueue_of(PyObject* const* given) {
  JobOrder order = order_of<false>(given);
  order.id = optional_text(given[kId], "id");
  order.payload = value_of(given[kPayload], given[kHeaders], "payload");
  return JobEnqueue{std::move(order)};
}

JobRecord enqueue(const Jobs& self, PyObject* const* given) { return self.store->run_for_job(enqueue_of(given)); }

// The parameters of enqueue_many; the last is `then`.
std::vector<Parameter>& parameters_of_many() {
  static std::vector<Parameter> parameters;
  return parameters;
}

// A job for each payload, and one that runs when all of these have ended: the graph of Python makes the request.
JobBatch enqueue_then(const Jobs& self, PyObject* const* given) {
  const std::vector<Parameter>& parameters = parameters_of_many();
  py::dict options;
  for (std::size_t i = kPayload + 1; i < parameters.size(); ++i)
    if (const py::handle one = given[i]; !one.is_none()) options[parameters[i].name] = one;
  return call(member_of_module("resonate_core.calls.graph", "enqueue_then"), py::cast(self), py::handle(given[kType]),
              py::handle(given[kPayload]), options)
      .cast<JobBatch>();
}

JobBatch enqueue_many(const Jobs& self, PyObject* const* given) {
  if (given[parameters_of_many().size() - 1] != Py_None) return enqueue_then(self, given);
  const JobOrder common = order_of<true>(given);
  const py::object items = fast_sequence(given[kPayload], "payloads", "an iterable of payloads");
  const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.ptr()));
  std::vector<std::string> names;
  if (const py::handle ids = given[kId]; !ids.is_none()) {
    names = texts(ids, "ids");
    if (names.size() != size)
      raise(ErrorClass::invalid,
            "ids must have as many entries as payloads (" + std::to_string(size) + "), got " + std::to_string(names.size()));
  }
  std::vector<Request> requests;
  requests.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    JobOrder order = common;
    if (!names.empty()) order.id = std::move(names[i]);
    order.payload = value_of(PySequence_Fast_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)), given[kHeaders], "payloads");
    requests.push_back(Request{.operation = JobEnqueue{std::move(order)}});
  }
  PromiseBatch made = self.store->run_all(std::move(requests));
  JobBatch batch;
  batch.rows.reserve(size);
  for (PromiseRecord& record : made.records) batch.rows.push_back(std::move(record.row));
  return batch;
}

template <auto Function, bool Many>
void bind_enqueue(py::class_<Jobs>& bound, const char* name, const char* payload, const char* id, const char* result) {
  std::vector<Parameter> parameters = {
      {"type", Given::required}, {payload, Many ? Given::required : Given::optional}, {id}, {"headers"}};
  std::vector<const char*> types = {Str::type_name(), Many ? Payloads::type_name() : AnyValue::type_name(),
                                    Many ? OptionalIds::type_name() : OptionalStr::type_name(), StringMapping::type_name()};
  each_keyword<Many>([&]<std::size_t I>() {
    parameters.push_back({identifier_of(kField<JobOrder, I>.field)});
    types.push_back(keyword_type<JobOrder, I>());
  });
  if constexpr (Many) {
    parameters.push_back({"then"});
    types.push_back(Then::type_name());
    parameters_of_many() = parameters;
  }
  KeywordMethod<Function>::bind(bound, name, parameters, types, result);
}

}  // namespace

Request enqueue_request(const py::tuple& arguments, const py::dict& keywords) {
  return KeywordMethod<&enqueue>::with_arguments(arguments, keywords,
                                                 [](PyObject* const* given) { return Request{.operation = enqueue_of(given)}; });
}

void bind_jobs(py::module_& module) {
  py::class_<Jobs> bound(module, "Jobs");
  bind_enqueue<&enqueue, false>(bound, "enqueue", "payload", "id", "resonate_core._core.Job");
  bind_enqueue<&enqueue_many, true>(bound, "enqueue_many", "payloads", "ids", "resonate_core._core.JobBatch");
  bound.def(
      "graph",
      [](const Jobs& self, const OptionalStr& id) {
        return Shown<"resonate_core.calls.graph.Graph">(
            call(member_of_module("resonate_core.calls.graph", "graph_of"), py::cast(self), id));
      },
      py::arg("id") = py::none());
  bound.def(
      "_run_calls", [](const Jobs& self, const Calls& envelopes) { return Answers(answers_of_calls(*self.store, envelopes)); },
      py::arg("envelopes"));
  bind_claims(module, bound);
  bind_job_inspection(bound);
}

}  // namespace resonate::python
