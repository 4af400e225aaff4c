// Traces: everything that changed a store, one JSON line an event, and the replay that holds a store against one.
//
// A line is {"kind","now","req","res"}:
//   open            req {"format","options"}, res {"snapshot"}: what the store holds; the first line, and after a restore or reset
//   a request's     req and res are whole envelopes
//   step.<step>     req {"id","at"}, res the step's detail
//   messages.take   req {"keys"}, res {}
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "resonate/engine.hpp"

namespace resonate {

inline constexpr std::string_view kTraceFormat = "resonate_core-trace/1";
inline constexpr std::array<std::string_view, 3> kCatchUpNames = {"all", "latest", "none"};  // by CatchUp

// A TraceSink that writes lines. Called under the engine's lock; so is `write`, without the newline.
class TraceWriter {
 public:
  using Write = std::function<void(std::string_view line)>;

  TraceWriter(Options options, Write write) : options_(options), write_(std::move(write)) {}
  void operator()(const TraceEvent& event) const;

 private:
  Options options_;
  Write write_;
};

// Records the engine from here on, in place of what recorded it before. engine.stop_trace() ends it, and throws what `write` threw.
void start_trace(Engine& engine, TraceWriter::Write write);

struct ReplayResult {
  bool ok = false;
  std::size_t steps = 0;            // lines that came out as recorded
  std::optional<std::size_t> line;  // the first that did not, counted from 1
  std::string expected;             // that line as recorded; empty where the replay went on past the end
  std::string got;                  // and as replayed; empty where the replay had nothing more to say
};

// Does on a new store in memory what the trace says was done and compares what happens, in order. Error (invalid) names the line
// of a malformed trace.
ReplayResult replay(std::span<const std::string> lines);

}  // namespace resonate
