// The target of a recording: a file by path, or a Python file object.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "resonate/engine.hpp"

namespace resonate::python {

namespace py = pybind11;

// Receives lines under the engine's lock, without the GIL. An exception of put() ends the recording, and Recorder::close() raises
// it; so does a write() that calls the recorded store, which the engine refuses.
class LineWriter {
 public:
  virtual ~LineWriter() = default;
  // Does nothing in a child of fork(2): a recording belongs to the process that began it.
  void write(std::string_view line);
  // Call it after the last line, with the GIL.
  virtual void finish() = 0;  // throws

  std::uint64_t lines() const noexcept { return lines_; }

 protected:
  virtual void put(std::string_view line) = 0;  // throws

 private:
  std::uint64_t lines_ = 0;
  int process_ = 0;
};

// `target`: a path (str or os.PathLike), or an object with write(). A new file has at most the rights of the store's, at `source`.
// StoreError: the file cannot be opened.
std::shared_ptr<LineWriter> open_line_writer(py::handle target, const std::string& source);

// The recording of an engine.
class Recorder {
 public:
  // Call it with the GIL.
  Recorder(std::shared_ptr<Engine> engine, std::shared_ptr<LineWriter> writer);
  // Call it with the GIL. It raises the error of the file, if there was one; further calls do nothing.
  void close();
  bool closed() const noexcept { return !engine_; }
  std::uint64_t lines() const noexcept { return writer_->lines(); }

 private:
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<LineWriter> writer_;
};

}  // namespace resonate::python
