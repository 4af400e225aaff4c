#include "recorder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "errors.hpp"
#include "fork_safety.hpp"
#include "trace.hpp"

namespace resonate::python {

namespace {

class FileWriter final : public LineWriter {
 public:
  explicit FileWriter(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
    if (!file_) fail("cannot be opened");
  }
  ~FileWriter() override {
    if (file_) std::fclose(file_);
  }
  void finish() override {
    if (file_ && std::fclose(std::exchange(file_, nullptr)) != 0) fail("cannot be written");
  }

 protected:
  // Each line reaches the system at once: a crash of the process loses none.
  void put(std::string_view line) override {
    const std::string text = std::string(line) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) fail("cannot be written");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(ErrorCode::storage, "the trace file '" + path_ + "' " + what + ": " + std::strerror(errno));
  }

  std::string path_;
  std::FILE* file_;
};

class ObjectWriter final : public LineWriter {
 public:
  explicit ObjectWriter(py::object file) : file_(std::move(file)) {
    const auto io = py::module_::import("io");
    takes_bytes_ = py::isinstance(file_, io.attr("RawIOBase")) || py::isinstance(file_, io.attr("BufferedIOBase"));
  }
  ~ObjectWriter() override {
    const py::gil_scoped_acquire held;
    file_ = py::object();
  }
  void finish() override {
    if (py::hasattr(file_, "flush")) file_.attr("flush")();
  }

 protected:
  void put(std::string_view line) override {
    const py::gil_scoped_acquire held;
    const std::string text = std::string(line) + "\n";
    try {
      if (takes_bytes_) {
        file_.attr("write")(py::bytes(text));
      } else {
        file_.attr("write")(py::str(text));
      }
    } catch (py::error_already_set& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();  // the caller's, once the request is through
      throw;
    }
  }

 private:
  py::object file_;
  bool takes_bytes_ = false;
};

}  // namespace

void LineWriter::write(std::string_view line) {
  if (process_ == 0) process_ = getpid();
  if (process_ != getpid()) return;
  put(line);
  ++lines_;
}

std::shared_ptr<LineWriter> open_line_writer(py::handle target) {
  if (py::hasattr(target, "write")) return std::make_shared<ObjectWriter>(py::reinterpret_borrow<py::object>(target));
  const auto os = py::module_::import("os");
  const py::bytes path = os.attr("fsencode")(target);
  return std::make_shared<FileWriter>(std::string(path));
}

Recorder::Recorder(std::shared_ptr<Engine> engine, std::shared_ptr<LineWriter> writer)
    : engine_(std::move(engine)), writer_(std::move(writer)) {
  const OutsidePython outside;
  start_trace(*engine_, [lines = writer_](std::string_view line) { lines->write(line); });
}

void Recorder::close() {
  const std::shared_ptr<Engine> engine = std::exchange(engine_, nullptr);
  if (!engine) return;
  {
    const OutsidePython outside;
    engine->stop_trace();
  }
  writer_->finish();
}

}  // namespace resonate::python
