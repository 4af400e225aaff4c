// store.apply and store.apply_json: whole envelopes, as Python objects or JSON texts.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "fork_safety.hpp"
#include "keyword_method.hpp"
#include "protocol/decode.hpp"
#include "protocol/encode_answer.hpp"
#include "python_node.hpp"
#include "python_sink.hpp"
#include "store_handle.hpp"

namespace resonate::python {

namespace {

Atomicity atomicity_of(bool atomic) { return atomic ? Atomicity::all_or_nothing : Atomicity::independent; }

py::object dict_of(const Answer& answer) {
  PythonSink sink;
  encode_answer(sink, answer);
  return sink.take();
}

std::vector<Answer> run_batch(const OpenStore& store, std::vector<Decoded> envelopes, std::optional<Instant> now, bool atomic) {
  const auto handler = store.handler();
  const OutsidePython outside;
  return handler->run(std::move(envelopes), now, atomicity_of(atomic));
}

// A text as bytes. A lone surrogate becomes bytes that are not UTF-8, which the parser refuses.
py::object bytes_of_text(py::handle text) {
  auto bytes = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

bool is_text(py::handle given) {
  return PyBytes_Check(given.ptr()) || PyUnicode_Check(given.ptr()) || PyByteArray_Check(given.ptr()) ||
         PyMemoryView_Check(given.ptr());
}

// The text of one envelope, kept alive and unchanged while the GIL is released.
class JsonText {
 public:
  explicit JsonText(py::handle given) : owner_(py::reinterpret_borrow<py::object>(given)) {
    if (PyUnicode_Check(given.ptr())) {
      Py_ssize_t size = 0;
      if (const char* utf8 = PyUnicode_AsUTF8AndSize(given.ptr(), &size)) {
        text_ = {utf8, static_cast<std::size_t>(size)};
        return;
      }
      PyErr_Clear();
      owner_ = bytes_of_text(given);
    } else if (!PyBytes_Check(given.ptr())) {
      if (!is_text(given)) wrong_type("envelope", "bytes, str or a list of them", given);
      owner_ = py::reinterpret_steal<py::object>(PyBytes_FromObject(given.ptr()));  // another thread may change a bytearray
      if (!owner_) throw py::error_already_set();
    }
    text_ = {PyBytes_AS_STRING(owner_.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(owner_.ptr()))};
  }
  std::string_view text() const noexcept { return text_; }

 private:
  py::object owner_;
  std::string_view text_;
};

py::bytes bytes_of(const std::string& reply) { return {reply.data(), reply.size()}; }

AnyValue apply(const OpenStore& store, py::handle envelope, const OptionalInstant& now, bool atomic) {
  const std::optional<Instant> at = optional_instant(now, "now");
  if (!PyList_Check(envelope.ptr())) {
    Decoded decoded = decode_envelope(PythonNode(envelope.ptr()));
    const auto handler = store.handler();
    const Answer answer = [&] {
      const OutsidePython outside;
      return handler->run(std::move(decoded), at);
    }();
    return AnyValue(dict_of(answer));
  }
  std::vector<Decoded> decoded;
  const Py_ssize_t size = PyList_GET_SIZE(envelope.ptr());
  decoded.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) decoded.push_back(decode_envelope(PythonNode(PyList_GET_ITEM(envelope.ptr(), i))));
  const std::vector<Answer> answers = run_batch(store, std::move(decoded), at, atomic);
  py::list replies(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    PyList_SET_ITEM(replies.ptr(), static_cast<Py_ssize_t>(i), dict_of(answers[i]).release().ptr());
  return AnyValue(std::move(replies));
}

AnyValue apply_json(const OpenStore& store, py::handle envelope, const OptionalInstant& now, bool atomic) {
  const std::optional<Instant> at = optional_instant(now, "now");
  const auto handler = store.handler();
  if (!PyList_Check(envelope.ptr())) {
    const JsonText document(envelope);
    const std::string reply = [&] {
      const OutsidePython outside;
      return handler->apply_json(document.text(), at);
    }();
    return AnyValue(bytes_of(reply));
  }
  std::vector<JsonText> documents;
  for (py::handle one : envelope) documents.emplace_back(one);
  std::vector<std::string_view> texts;
  texts.reserve(documents.size());
  for (const JsonText& document : documents) texts.push_back(document.text());
  const std::vector<std::string> answers = [&] {
    const OutsidePython outside;
    return handler->apply_json(texts, at, atomicity_of(atomic));
  }();
  py::list replies(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i)
    PyList_SET_ITEM(replies.ptr(), static_cast<Py_ssize_t>(i), bytes_of(answers[i]).release().ptr());
  return AnyValue(std::move(replies));
}

// Whether the data of a reply is one promise, or one job, and nothing else. A message and its receive are promises.
bool is_one_promise(Kind kind) {
  return kind == Kind::promise_get || kind == Kind::promise_create || kind == Kind::promise_settle ||
         kind == Kind::register_callback || kind == Kind::register_listener || kind == Kind::job_receive || kind == Kind::job_send;
}
bool is_one_job(Kind kind, const Reply& reply) { return is_job(kind) && !is_one_promise(kind) && reply.promise && !reply.jobs; }

PromiseBatch batch_of(const std::vector<RowRef>& rows) {
  PromiseBatch batch;
  for (const RowRef& row : rows) batch.records.push_back({row});
  return batch;
}

// The jobs of a request that enqueues many, if it has refused none of them.
std::optional<JobBatch> enqueued(Kind kind, const Reply& reply) {
  if (kind != Kind::job_enqueue_many) return std::nullopt;
  JobBatch batch;
  batch.rows.reserve(reply.jobs->items.size());
  for (const JobReply::Item& item : reply.jobs->items) {
    if (item.status != status::kOk) return std::nullopt;
    batch.rows.push_back(item.row);
  }
  return batch;
}

// The data of an answer: a record, jobs, or the promises of a workflow, if it is nothing else, which spares the members; otherwise
// the members, or the text of a refusal.
py::object data_of(const Answer& answer) {
  if (const auto* answered = std::get_if<Answered>(&answer)) {
    const auto& [head, reply] = *answered;
    if (!reply.ok()) return py::str(reply.error);
    if (is_one_promise(head.kind)) return py::cast(PromiseRecord{reply.promise});
    if (is_one_job(head.kind, reply)) return py::cast(JobRecord{reply.promise});
    if (head.kind == Kind::job_record) return py::cast(batch_of(reply.rows));
    if (head.kind == Kind::job_history) return py::cast(PromisePage{{reply.cursor}, reply.rows});
    if (std::optional<JobBatch> batch = enqueued(head.kind, reply)) return py::cast(*std::move(batch));
  }
  return dict_of(answer)["data"];
}

using CallsArgument = Shown<"collections.abc.Sequence[dict[str, typing.Any] | resonate_core._core.RecordRequest]">;
using CallAnswers = Shown<"list[tuple[int, typing.Any]]">;

CallAnswers run_calls(const StoreHandle& self, const CallsArgument& envelopes) {
  return CallAnswers(answers_of_calls(open(self), py::list(envelopes)));
}

Decoded decoded_call(py::handle given) {
  if (!py::isinstance<RecordRequest>(given)) return decode_envelope(PythonNode(given.ptr()));
  Envelope made;
  made.head.kind = Kind::job_record;
  made.operation = Request{.operation = py::cast<const RecordRequest&>(given).request};
  return made;
}

using EnvelopeArgument = Shown<"dict[str, typing.Any] | list[dict[str, typing.Any]]">;
using JsonArgument = Shown<"bytes | str | list[bytes] | list[str]">;

bool is_true(const OptionalBool& given, const char* argument) {
  if (!given.is_none() && !PyBool_Check(given.ptr())) wrong_type(argument, "bool", given);
  return given.ptr() == Py_True;
}

AnyValue apply_envelope(const StoreHandle& self, const EnvelopeArgument& envelope, const OptionalInstant& now,
                        const OptionalBool& atomic) {
  return apply(open(self), envelope, now, is_true(atomic, "atomic"));
}

AnyValue apply_json_text(const StoreHandle& self, const JsonArgument& envelope, const OptionalInstant& now,
                         const OptionalBool& atomic) {
  return apply_json(open(self), envelope, now, is_true(atomic, "atomic"));
}

}  // namespace

py::list answers_of_calls(const OpenStore& store, const py::list& envelopes) {
  std::vector<Decoded> decoded;
  decoded.reserve(envelopes.size());
  for (py::handle one : envelopes) decoded.push_back(decoded_call(one));
  const std::vector<Answer> answers = run_batch(store, std::move(decoded), std::nullopt, false);
  py::list made(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) made[i] = py::make_tuple(status_of(answers[i]), data_of(answers[i]));
  return made;
}

// The signatures are written by hand: a list is answered with a list, and with two overloads each call would try both.
void bind_envelopes(StoreClass& bound) {
  constexpr std::array<Parameter, 3> kParameters = {
      {{"envelope", Given::required}, {"now", Given::optional}, {"atomic", Given::optional}}};
  KeywordMethod<&apply_envelope>::bind_with_signature(bound, "apply", kParameters, R"doc(apply(*args, **kwargs)
Overloaded function.

1. apply(self: resonate_core._core.Store, envelope: dict[str, typing.Any], now: int | None = None, atomic: bool = False) -> dict[str, typing.Any]

2. apply(self: resonate_core._core.Store, envelope: list[dict[str, typing.Any]], now: int | None = None, atomic: bool = False) -> list[dict[str, typing.Any]]
)doc");
  bound.def(
      "apply_async",
      [](const Shown<"resonate_core._core.Store">& self, const EnvelopeArgument& envelope, const OptionalInstant& now,
         bool atomic) {
        return Shown<"collections.abc.Awaitable[typing.Any]">(
            call(member_of_module("resonate_core.calls.local", "apply_async"), self, envelope, now, py::bool_(atomic)));
      },
      py::arg("envelope"), py::arg("now") = py::none(), py::arg("atomic") = false);
  bound.def("_run_calls", &run_calls, py::arg("envelopes"));
  KeywordMethod<&apply_json_text>::bind_with_signature(bound, "apply_json", kParameters, R"doc(apply_json(*args, **kwargs)
Overloaded function.

1. apply_json(self: resonate_core._core.Store, envelope: bytes | str, now: int | None = None, atomic: bool = False) -> bytes

2. apply_json(self: resonate_core._core.Store, envelope: list[bytes] | list[str], now: int | None = None, atomic: bool = False) -> list[bytes]
)doc");
}

}  // namespace resonate::python
