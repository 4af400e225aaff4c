#include "envelopes.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "fork_safety.hpp"
#include "protocol/door.hpp"
#include "python_node.hpp"
#include "python_sink.hpp"

namespace resonate::python {

namespace {

Atomicity atomicity_of(bool atomic) { return atomic ? Atomicity::all_or_nothing : Atomicity::independent; }

py::object dict_of(const Answer& answer) {
  PythonSink sink;
  encode_answer(sink, answer);
  return sink.take();
}

std::vector<Answer> run_batch(const OpenStore& store, std::vector<Decoded> envelopes, std::optional<Instant> now, bool atomic) {
  const auto door = store.door();
  const OutsidePython outside;
  return door->run(std::move(envelopes), now, atomicity_of(atomic));
}

// A text as bytes. A lone surrogate becomes bytes that are no UTF-8, which the parser refuses as it refuses any other.
py::object bytes_of_text(py::handle text) {
  auto bytes = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass"));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

bool is_text(py::handle given) {
  return PyBytes_Check(given.ptr()) || PyUnicode_Check(given.ptr()) || PyByteArray_Check(given.ptr()) || PyMemoryView_Check(given.ptr());
}

// What a JSON door takes as one envelope, kept alive and unchanged while the GIL is away.
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
      owner_ = py::reinterpret_steal<py::object>(PyBytes_FromObject(given.ptr()));  // somebody may change a bytearray
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

}  // namespace

AnyValue apply(const OpenStore& store, py::handle envelope, const OptionalInt& now, bool atomic) {
  const std::optional<Instant> at = optional_integer(now, "now");
  if (!PyList_Check(envelope.ptr())) {
    Decoded decoded = decode_envelope(PythonNode(envelope.ptr()));
    const auto door = store.door();
    const Answer answer = [&] {
      const OutsidePython outside;
      return door->run(std::move(decoded), at);
    }();
    return AnyValue(dict_of(answer));
  }
  std::vector<Decoded> decoded;
  const Py_ssize_t size = PyList_GET_SIZE(envelope.ptr());
  decoded.reserve(static_cast<std::size_t>(size));
  for (Py_ssize_t i = 0; i < size; ++i) decoded.push_back(decode_envelope(PythonNode(PyList_GET_ITEM(envelope.ptr(), i))));
  const std::vector<Answer> answers = run_batch(store, std::move(decoded), at, atomic);
  py::list replies(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) PyList_SET_ITEM(replies.ptr(), static_cast<Py_ssize_t>(i), dict_of(answers[i]).release().ptr());
  return AnyValue(std::move(replies));
}

AnyValue apply_json(const OpenStore& store, py::handle envelope, const OptionalInt& now, bool atomic) {
  const std::optional<Instant> at = optional_integer(now, "now");
  const auto door = store.door();
  if (!PyList_Check(envelope.ptr())) {
    const JsonText document(envelope);
    const std::string reply = [&] {
      const OutsidePython outside;
      return door->apply_json(document.text(), at);
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
    return door->apply_json(texts, at, atomicity_of(atomic));
  }();
  py::list replies(answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) PyList_SET_ITEM(replies.ptr(), static_cast<Py_ssize_t>(i), bytes_of(answers[i]).release().ptr());
  return AnyValue(std::move(replies));
}

}  // namespace resonate::python
