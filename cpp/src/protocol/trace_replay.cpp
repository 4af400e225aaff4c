// Replay: runs the lines of a trace on a new store and compares the events.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/fired_decode.hpp"
#include "codec/json_node.hpp"
#include "codec/kinds.hpp"
#include "codec/messages.hpp"
#include "codec/reader.hpp"
#include "codec/snapshot_decode.hpp"
#include "protocol/envelope_handler.hpp"
#include "protocol/trace.hpp"
#include "resonate/clock.hpp"
#include "resonate/errors.hpp"

namespace resonate {
namespace {

using Node = JsonNode;
const Path kRequestPath(Field::req);

[[noreturn]] void refuse(std::size_t number, const std::string& rule) {
  throw Error(ErrorCode::invalid, "trace line " + std::to_string(number) + ": " + rule);
}

struct Line {
  Line(std::size_t place, NlohmannDocument document) : number(place), content(std::move(document)) {}

  std::size_t number;        // from 1
  NlohmannDocument content;  // holds the memory that the nodes refer to
  std::string kind;
  Instant now = 0;
  std::string scope;
  std::optional<Node> request;
  std::optional<Node> answer;

  // Runs body(); reports an error in it as an error of this line.
  template <class Body>
  auto with_line_number(Body body) const {
    try {
      return body();
    } catch (const Malformed& malformed) {
      refuse(number, malformed.message);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid) throw;
      refuse(number, error.what());
    }
  }
};

std::unique_ptr<Line> read_line(std::span<const std::string> lines, std::size_t at) {
  auto line = std::make_unique<Line>(at + 1, NlohmannDocument(lines[at]));
  if (!line->content.problem().empty()) refuse(line->number, "must be JSON");
  line->with_line_number([&] {
    const Members<Node, Field::kind, Field::now, Field::scope, Field::req, Field::res> members(Node(line->content), nullptr);
    line->kind = members.text<Field::kind>();
    line->now = members.integer<Field::now>();
    if (line->now < 0) throw Malformed{"now must be at least 0, got " + std::to_string(line->now)};
    if (const Node* scope = members.find_given<Field::scope>()) line->scope = read_text(*scope, members.path(Field::scope));
    line->request = members.need<Field::req>();
    line->answer = members.need<Field::res>();
  });
  return line;
}

// Time does not run backwards in a recording, except where the whole state is replaced.
void check_order(const Line& line, Instant before) {
  if (line.kind == "open" || line.now >= before) return;
  refuse(line.number,
         "now must be at least " + std::to_string(before) + ", that of the line before, got " + std::to_string(line.now));
}

bool is_step(std::string_view kind) {
  constexpr std::string_view kPrefix = "step.";
  return kind.starts_with(kPrefix) && step_kind_named(kind.substr(kPrefix.size()));
}

// Returns the position of a name in a list of names.
template <std::size_t N>
std::size_t choice(const std::string& text, const Path& path, const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) throw Malformed{to_text(path) + " must be a known name, got " + in_quotes(text)};
  return static_cast<std::size_t>(found - names.begin());
}

Options read_options(const Line& line) {
  const Members<Node, Field::format, Field::options> request(*line.request, &kRequestPath);
  if (const std::string format = request.text<Field::format>(); format != kTraceFormat) {
    throw Malformed{"req.format must be " + in_quotes(kTraceFormat) + ", got " + in_quotes(format)};
  }
  const Path path = request.path(Field::options);
  const Members<Node, Field::rules, Field::retry_timeout, Field::catchup, Field::unblock_retention> given(
      request.need<Field::options>(), &path);
  Options options;
  options.rules =
      static_cast<RulesId>(choice<2>(given.text<Field::rules>(), given.path(Field::rules), {kRules[0].name, kRules[1].name}));
  const Node& retry = given.need<Field::retry_timeout>();
  if (retry.type() == NodeType::string && retry.text() == "ttl") {
    options.retry_timeout.reset();
  } else {
    options.retry_timeout = read_integer(retry, given.path(Field::retry_timeout));
  }
  options.catchup = static_cast<CatchUp>(choice<3>(given.text<Field::catchup>(), given.path(Field::catchup), kCatchUpNames));
  options.unblock_retention = given.integer<Field::unblock_retention>();
  return options;
}

std::unique_ptr<Storage> read_contents(const Line& line) {
  const Path path(Field::res);
  const Members<Node, Field::snapshot> answer(*line.answer, &path);
  const Path at = answer.path(Field::snapshot);
  return decode_snapshot(answer.need<Field::snapshot>(), &at);
}

// The recorded result of each examination of a due schedule: it fired or was set aside, for example because the recording system
// lacked a time zone. The replaying system's time zones may differ.
class RecordedExaminations {
 public:
  explicit RecordedExaminations(std::span<const std::string> lines) {
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (lines[at].find("step.schedule") == std::string::npos) continue;
      const std::unique_ptr<Line> line = read_line(lines, at);
      if (line->kind != kFired && line->kind != kSetAside) continue;
      line->with_line_number([&] {
        const Members<Node, Field::id, Field::at> step(*line->request, &kRequestPath);
        Examination examination{line->now, {}};
        if (line->kind == kSetAside) {
          const Path path(Field::res);
          examination.problem = Members<Node, Field::problem>(*line->answer, &path).text<Field::problem>();
        }
        by_id_[step.text<Field::id>()].push_back(std::move(examination));
      });
    }
  }

  // Returns the recorded problem of a schedule at an instant; empty: none. Without a line for that instant, the problem had not
  // changed.
  std::string problem(const Schedule& schedule, Instant now) {
    std::deque<Examination>& examinations = by_id_[schedule.id];
    while (!examinations.empty() && examinations.front().now < now) examinations.pop_front();
    if (examinations.empty() || examinations.front().now > now)
      return schedule.set_aside ? schedule.set_aside->problem : std::string();
    std::string found = std::move(examinations.front().problem);
    examinations.pop_front();
    return found;
  }

 private:
  static constexpr std::string_view kFired = "step.schedule";
  static constexpr std::string_view kSetAside = "step.schedule_set_aside";
  struct Examination {
    Instant now;
    std::string problem;
  };
  std::unordered_map<std::string, std::deque<Examination>> by_id_;
};

// A store that repeats recorded lines, and the trace that it produced itself.
class Replayer {
 public:
  Replayer(const Line& open, std::span<const std::string> lines, const MoveContents& move) : examinations_(lines), move_(move) {
    if (open.kind != "open") refuse(open.number, "kind must be \"open\", got " + in_quotes(open.kind));
    open.with_line_number([&] {
      options_ = read_options(open);
      options_.recorded_problem = [this](const Schedule& schedule, Instant now) { return examinations_.problem(schedule, now); };
      begin(read_contents(open));
    });
  }
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  const std::vector<std::string>& produced() const noexcept { return produced_; }

  void replay_line(const Line& line) {
    line.with_line_number([&] {
      if (line.kind == "open") {
        std::unique_ptr<Storage> contents = read_contents(line);
        if (contents->counters().now < clock_->now()) {
          begin(std::move(contents));  // the store's clock was set back
        } else {
          engine_->replace_storage(std::move(contents));
        }
      } else if (line.kind == "messages.take") {
        take(line);
      } else if (is_step(line.kind)) {
        // One step: during a long tick, other requests may run between its steps, and have the next lines.
        engine_->repeat_step(line.now);
      } else {
        apply(line);
      }
    });
  }

  // Throws the error that stopped its own recording: without the recording, a difference would be meaningless.
  void stop() { engine_->stop_trace(); }

 private:
  void begin(std::unique_ptr<Storage> contents) {
    if (engine_) engine_->stop_trace();
    clock_ = std::make_shared<ManualClock>(contents->counters().now);
    if (move_) {
      engine_ = nullptr;  // it may hold the storage that the contents move to
      contents = move_(std::move(contents));
    }
    engine_ = Engine::create(std::move(contents), clock_, options_);
    start_trace(*engine_, [this](std::string_view line) { produced_.emplace_back(line); });
  }
  void apply(const Line& line) {
    Decoded decoded = EnvelopeHandler::decode_json(*line.request);
    if (const auto* refusal = std::get_if<Refusal>(&decoded)) throw Malformed{"req: " + refusal->message};
    auto& envelope = std::get<Envelope>(decoded);
    if (const auto kind = name_of(envelope.head.kind, envelope.head.dialect); kind != line.kind) {
      throw Malformed{"kind must be that of req, " + in_quotes(std::string(kind)) + ", got " + in_quotes(line.kind)};
    }
    if (is_debug(envelope.head.kind)) throw Malformed{"req must not be a debug operation"};
    auto& request = std::get<Request>(envelope.operation);
    request.scope = line.scope;
    (void)engine_->apply(std::move(request), line.now);
  }
  void take(const Line& line) {
    std::unordered_set<std::string> keys;
    Members<Node, Field::keys>(*line.request, &kRequestPath).each<Field::keys>([&](const Node& key, const Path& path) {
      keys.emplace(read_text(key, path));
    });
    // The messages were removed at the clock's instant, even if steps were due by then.
    (void)clock_->set(line.now);
    (void)engine_->take_messages_if([&](const OutboxMessage& message) { return keys.contains(key_of(message)); }, keys.size());
  }

  RecordedExaminations examinations_;
  const MoveContents& move_;
  Options options_;
  std::shared_ptr<ManualClock> clock_;
  std::shared_ptr<Engine> engine_;
  std::vector<std::string> produced_;
};

// Compares two lines as JSON: white space and the order of members do not matter.
bool same(const std::string& recorded, const std::string& produced) {
  return recorded == produced || nlohmann::json::parse(recorded) == nlohmann::json::parse(produced);
}

ReplayResult compare(Replayer& replayer, std::span<const std::string> lines) {
  ReplayResult result;
  Instant before = 0;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::unique_ptr<Line> line = read_line(lines, at);
    check_order(*line, before);
    before = line->now;
    if (replayer.produced().size() <= at) replayer.replay_line(*line);
    const std::string* produced = at < replayer.produced().size() ? &replayer.produced()[at] : nullptr;
    if (!produced || !same(lines[at], *produced)) {
      result.line = line->number;
      result.expected = lines[at];
      if (produced) result.got = *produced;
      return result;
    }
    ++result.steps;
  }
  if (replayer.produced().size() > lines.size()) {
    result.line = lines.size() + 1;
    result.got = replayer.produced()[lines.size()];
    return result;
  }
  result.ok = true;
  return result;
}

}  // namespace

ReplayResult replay(std::span<const std::string> lines, const MoveContents& move) {
  if (lines.empty()) throw Error(ErrorCode::invalid, "trace must have at least one line, got none");
  Replayer replayer(*read_line(lines, 0), lines, move);
  ReplayResult result = compare(replayer, lines);
  replayer.stop();
  return result;
}

}  // namespace resonate
