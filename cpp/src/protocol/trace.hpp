// Traces: every change of a store as one JSON line per event, and a replay that compares a new store with a trace.
//
// A line is {"kind","now","req","res"}:
//   open            req {"format","options"}, res {"snapshot"}: the whole state; the first line, and after a restore or reset
//   a request's     req and res are whole envelopes
//   step.<step>     req {"id","at"}, res the step's detail
//   messages.take   req {"keys"}, res {}
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "resonate/engine.hpp"

namespace resonate {

inline constexpr std::string_view kTraceFormat = "resonate_core-trace/1";
inline constexpr std::array<std::string_view, 3> kCatchUpNames = {"all", "latest", "none"};  // by CatchUp

// A TraceSink that writes lines. The engine calls it, and it calls `write` (without the newline), under the engine's lock.
class TraceWriter {
 public:
  using Write = std::function<void(std::string_view line)>;

  TraceWriter(Options options, Write write) : options_(options), write_(std::move(write)) {}
  void operator()(const TraceEvent& event) const;

 private:
  Options options_;
  Write write_;
};

// Records the engine from now on; a previous recording ends. engine.stop_trace() ends the recording and throws the exception of
// `write`, if there was one.
void start_trace(Engine& engine, TraceWriter::Write write);

struct ReplayResult {
  bool ok = false;
  std::size_t steps = 0;            // lines that the replay reproduced
  std::optional<std::size_t> line;  // the number of the first line that differs, from 1
  std::string expected;             // that line in the recording; empty: the replay had further lines
  std::string got;                  // that line in the replay; empty: the replay had no further line
};

// Moves what a store begins with from memory to the storage on which it is to run.
using MoveContents = std::function<std::unique_ptr<Storage>(std::unique_ptr<Storage> contents)>;

// Repeats the recorded requests on a new store, in memory unless `move` is given, and compares the events in order. Error (invalid)
// names the line of a malformed trace.
ReplayResult replay(std::span<const std::string> lines, const MoveContents& move = {});

}  // namespace resonate
