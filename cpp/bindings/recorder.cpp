#include "recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "errors.hpp"
#include "fork_safety.hpp"
#include "gil.hpp"
#include "protocol/trace.hpp"
#include "resonate/file_rights.hpp"

namespace resonate::python {

namespace {

class FileWriter final : public LineWriter {
 public:
  FileWriter(std::string path, const FileRights& rights) : path_(std::move(path)) {
    const int opened = open_with_rights(path_, O_WRONLY | O_TRUNC, rights);
    if (opened < 0) fail("cannot be opened");
    file_ = ::fdopen(opened, "wb");
    if (!file_) {
      const int problem = errno;
      (void)::close(opened);
      errno = problem;
      fail("cannot be opened");
    }
  }
  ~FileWriter() override {
    if (file_) std::fclose(file_);
  }
  void finish() override {
    if (file_ && std::fclose(std::exchange(file_, nullptr)) != 0) fail("cannot be written");
  }

 protected:
  // Each line is passed to the system at once, so that a crash of the process loses none.
  void put(std::string_view line) override {
    const std::string text = std::string(line) + "\n";
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0) fail("cannot be written");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(ErrorCode::storage, "the trace file '" + path_ + "' " + what + ": " + std::strerror(errno));
  }

  std::string path_;
  std::FILE* file_ = nullptr;
};

class ObjectWriter final : public LineWriter {
 public:
  explicit ObjectWriter(py::object file) : file_(std::move(file)) {
    const py::object io = imported("io");
    takes_bytes_ = py::isinstance(file_, io.attr("RawIOBase")) || py::isinstance(file_, io.attr("BufferedIOBase"));
  }
  ~ObjectWriter() override {
    if (interpreter_is_ending()) {
      file_.release();  // leaked: Python is shutting down
      return;
    }
    const InsidePython held;
    file_ = py::object();
  }
  void finish() override {
    if (py::hasattr(file_, "flush")) call_method(file_, "flush");
  }

 protected:
  void put(std::string_view line) override {
    // The thread would wait for ever, holding the lock of an engine that the last thread may need.
    if (interpreter_is_ending()) throw Error(ErrorCode::closed, "the recording has ended: Python is shutting down");
    const InsidePython held;
    const std::string text = std::string(line) + "\n";
    try {
      if (takes_bytes_) {
        call_method(file_, "write", py::bytes(text));
      } else {
        call_method(file_, "write", py::str(text));
      }
    } catch (py::error_already_set& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();  // raised in the caller once the request has finished
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

std::shared_ptr<LineWriter> open_line_writer(py::handle target, const std::string& source) {
  if (py::hasattr(target, "write")) return std::make_shared<ObjectWriter>(py::reinterpret_borrow<py::object>(target));
  const py::bytes path = call(member_of_module("os", "fsencode"), target);
  return std::make_shared<FileWriter>(std::string(path), rights_of_copy(source));
}

Recorder::Recorder(std::shared_ptr<Engine> engine, std::shared_ptr<LineWriter> writer)
    : engine_(std::move(engine)), writer_(std::move(writer)) {
  const OutsidePython outside;
  start_trace(*engine_, [lines = writer_](std::string_view line) { lines->write(line); });
}

void Recorder::close() {
  if (!engine_) return;
  {
    const OutsidePython outside;
    engine_->with_storage([](Storage&) {});  // raises if this is called from the recording's own write()
    std::exchange(engine_, nullptr)->stop_trace();
  }
  writer_->finish();
}

}  // namespace resonate::python
