// Traces: the recorded lines of each event, and their replay, which gives the same results.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "codec/encode_request.hpp"
#include "codec/json_sink.hpp"
#include "protocol/envelope_handler.hpp"
#include "protocol/trace.hpp"
#include "resonate/clock.hpp"
#include "resonate/engine.hpp"

namespace resonate {
namespace {

using nlohmann::json;

const json kTargeted = {{"resonate:target", "poll://any@w"}};

class TraceTest : public ::testing::Test {
 protected:
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(1000);
  std::shared_ptr<Engine> engine = Engine::create(make_memory_storage(), clock, {.debug = true});
  EnvelopeHandler handler{engine};
  std::vector<std::string> lines;

  void record() {
    start_trace(*engine, [this](std::string_view line) { lines.emplace_back(line); });
  }
  json send(const std::string& kind, const json& data, const std::string& version = "2026-04-01") {
    return json::parse(
        handler.apply_json(json({{"kind", kind}, {"head", {{"corrId", "c"}, {"version", version}}}, {"data", data}}).dump()));
  }
  void create(const std::string& id, Instant timeout_at, const json& tags = kTargeted) {
    send("promise.create", {{"id", id}, {"timeoutAt", timeout_at}, {"tags", tags}});
  }
  std::vector<std::string> kinds() const {
    std::vector<std::string> all;
    for (const std::string& line : lines) all.push_back(json::parse(line)["kind"]);
    return all;
  }
};

TEST_F(TraceTest, WritesALineForEachEvent) {
  record();
  create("a", 9000);
  send("promise.register_listener", {{"awaited", "a"}, {"address", "http://l"}});
  engine->take_messages();
  clock->advance_to(9000);
  send("promise.get", {{"id", "absent"}});
  EXPECT_EQ(kinds(),
            (std::vector<std::string>{"open", "promise.create", "step.dispatch", "promise.register_listener", "messages.take",
                                      "step.dispatch", "step.promise_timeout", "step.listener_drain", "promise.get"}));
  EXPECT_EQ(lines[0],
            R"({"kind":"open","now":1000,"req":{"format":"resonate_core-trace/1","options":{"rules":"compatible",)"
            R"("retry_timeout":5000,"catchup":"all","unblock_retention":86400000}},"res":{"snapshot":{"format":"resonate_core/1",)"
            R"("now":1000,"dropped":0,"promises":[],"schedules":[],"messages":[]}}})");
  const json created = json::parse(lines[1]);
  EXPECT_EQ(created["now"], 1000);
  EXPECT_EQ(created["req"], json({{"kind", "promise.create"},
                                  {"head", {{"corrId", "trace"}, {"version", "2026-04-01"}}},
                                  {"data", {{"id", "a"}, {"timeoutAt", 9000}, {"tags", kTargeted}}}}));
  EXPECT_EQ(created["res"]["data"]["promise"]["state"], "pending");
  EXPECT_EQ(lines[2], R"({"kind":"step.dispatch","now":1000,"req":{"id":"a","at":1000},"res":{"address":"poll://any@w"}})");
  EXPECT_EQ(lines[4], R"({"kind":"messages.take","now":1000,"req":{"keys":["execute:a"]},"res":{}})");
  EXPECT_EQ(lines[6], R"({"kind":"step.promise_timeout","now":9000,"req":{"id":"a","at":9000},"res":{}})");
  EXPECT_EQ(json::parse(lines[8])["res"]["head"]["status"], 404);
}

TEST_F(TraceTest, AResetOpensTheTraceAgain) {
  record();
  create("a", 9000);
  send("debug.reset", json::object());
  create("b", 9000);
  EXPECT_EQ(kinds(),
            (std::vector<std::string>{"open", "promise.create", "step.dispatch", "open", "promise.create", "step.dispatch"}));
  const ReplayResult result = replay(lines);
  EXPECT_TRUE(result.ok) << result.expected << "\n" << result.got;
}

// Random requests on few ids, so that most of them find an existing promise, task or schedule.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : random_(seed) {}

  std::pair<std::string, json> next(Instant now) {
    const std::string id = name();
    const json create = {{"id", id}, {"timeoutAt", now + pick(20'000)}, {"tags", tags()}};
    const json settle = {{"id", id}, {"state", pick(2) ? "resolved" : "rejected"}, {"value", {{"data", "eA=="}}}};
    const json awaits = {{{"kind", "promise.register_callback"}, {"data", {{"awaited", name()}, {"awaiter", id}}}}};
    switch (pick(13)) {
      case 0: return {"promise.create", create};
      case 1: return {"promise.settle", settle};
      case 2: return {"promise.register_callback", {{"awaited", id}, {"awaiter", name()}}};
      case 3: return {"promise.register_listener", {{"awaited", id}, {"address", "http://" + name()}}};
      case 4:
        return {"task.create", {{"pid", "w"}, {"ttl", 1 + pick(5000)}, {"action", {{"kind", "promise.create"}, {"data", create}}}}};
      case 5: return {"task.acquire", {{"id", id}, {"version", pick(3)}, {"pid", "w"}, {"ttl", 1 + pick(5000)}}};
      case 6: return {"task.suspend", {{"id", id}, {"version", pick(3)}, {"actions", awaits}}};
      case 7:
        return {"task.fulfill", {{"id", id}, {"version", pick(3)}, {"action", {{"kind", "promise.settle"}, {"data", settle}}}}};
      case 8:
        return {"task.fence", {{"id", name()}, {"version", pick(3)}, {"action", {{"kind", "promise.create"}, {"data", create}}}}};
      case 9: return {"task.release", {{"id", id}, {"version", pick(3)}}};
      case 10: return {pick(2) ? "task.halt" : "task.continue", {{"id", id}}};
      case 11: return {"promise.search", {{"state", "pending"}, {"limit", 1 + pick(5)}}};
      default:
        return {"schedule.create",
                {{"id", id},
                 {"cron", "*/10 * * * * *"},
                 {"promiseId", "{{.id}}.{{.timestamp}}"},
                 {"promiseTimeout", pick(9000)},
                 {"promiseTags", tags()}}};
    }
  }
  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint32_t>(below)); }

 private:
  std::string name() { return std::string(1, static_cast<char>('a' + pick(8))); }
  json tags() {
    json tags = json::object();
    if (pick(3)) tags = kTargeted;
    if (pick(5) == 0) tags["resonate:timer"] = "true";
    if (pick(3) == 0) tags["resonate:branch"] = "branch";
    return tags;
  }

  std::mt19937 random_;
};

TEST_F(TraceTest, ReplaysRandomPrograms) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    clock = std::make_shared<ManualClock>(1000);
    engine = Engine::create(make_memory_storage(), clock,
                            {.rules = seed % 2 ? RulesId::strict : RulesId::compatible,
                             .retry_timeout = seed % 3 ? std::optional<Duration>(3000) : std::nullopt,
                             .catchup = static_cast<CatchUp>(seed % 3),
                             .unblock_retention = 15'000});
    EnvelopeHandler its_handler(engine);
    RandomProgram program(seed);
    lines.clear();
    const auto run = [&](int requests) {
      for (int i = 0; i < requests; ++i) {
        auto [kind, data] = program.next(clock->now());
        const json request = {{"kind", kind}, {"head", {{"corrId", "c"}, {"version", "2026-04-01"}}}, {"data", data}};
        its_handler.apply_json(request.dump());
        if (program.pick(4) == 0) clock->advance(program.pick(3000));
        if (program.pick(20) == 0) engine->tick(clock->now() + program.pick(30'000));
        if (program.pick(15) == 0) engine->take_messages(2);
      }
    };
    run(50);  // the trace begins on a store that is not empty
    record();
    run(250);
    const ReplayResult result = replay(lines);
    EXPECT_TRUE(result.ok) << *result.line << "\n" << result.expected << "\n" << result.got;
    EXPECT_EQ(result.steps, lines.size());
    EXPECT_GT(lines.size(), 250u);
  }
}

TEST_F(TraceTest, NamesTheFirstLineThatDiffers) {
  record();
  create("a", 9000);
  clock->advance_to(9000);
  std::vector<std::string> changed = lines;
  const std::size_t at = changed[2].find("poll://any@w");
  ASSERT_NE(at, std::string::npos);
  changed[2].replace(at, 12, "poll://any@v");
  ReplayResult result = replay(changed);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.line, 3u);
  EXPECT_EQ(result.steps, 2u);
  EXPECT_EQ(result.expected, changed[2]);
  EXPECT_EQ(result.got, lines[2]);

  std::vector<std::string> cut(lines.begin(), lines.begin() + 2);  // the replay continues with a dispatch
  result = replay(cut);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.line, 3u);
  EXPECT_EQ(result.expected, "");
  EXPECT_EQ(result.got, lines[2]);

  std::vector<std::string> more = lines;
  more.push_back(R"({"kind":"step.dispatch","now":9000,"req":{"id":"a","at":9000},"res":{}})");  // the replay never makes this step
  result = replay(more);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.line, more.size());
  EXPECT_EQ(result.got, "");

  std::vector<std::string> spaced = lines;
  spaced[1] = json::parse(spaced[1]).dump(2);
  EXPECT_TRUE(replay(spaced).ok);
}

TEST_F(TraceTest, RefusesAMalformedTrace) {
  record();
  create("a", 9000);
  const auto problem = [&](std::size_t line, const std::string& text) -> std::string {
    std::vector<std::string> bad = lines;
    bad.resize(line + 1);
    bad[line] = text;
    try {
      replay(bad);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);
      return error.what();
    }
    return "none";
  };
  EXPECT_THROW(replay({}), Error);
  EXPECT_EQ(problem(0, "{"), "trace line 1: must be JSON");
  EXPECT_EQ(problem(0, "[]"), "trace line 1: the document must be an object, got an array");
  EXPECT_EQ(problem(0, lines[1]), R"(trace line 1: kind must be "open", got "promise.create")");
  EXPECT_EQ(problem(0, R"({"kind":"open","now":0,"req":{"format":"x"},"res":{}})"),
            R"(trace line 1: req.format must be "resonate_core-trace/1", got "x")");
  json open = json::parse(lines[0]);
  open["req"]["options"]["rules"] = "loose";
  EXPECT_EQ(problem(0, open.dump()), R"(trace line 1: req.options.rules must be a known name, got "loose")");
  open = json::parse(lines[0]);
  open["res"]["snapshot"]["now"] = nullptr;
  EXPECT_EQ(problem(0, open.dump()), "trace line 1: res.snapshot.now must be an integer within int64, got null");
  EXPECT_EQ(problem(1, R"({"kind":"promise.get","now":"x","req":{},"res":{}})"),
            R"(trace line 2: now must be an integer within int64, got "x")");
  EXPECT_EQ(problem(1, R"({"kind":"promise.get","now":1000,"req":{},"res":{}})"), "trace line 2: req: kind is missing");
  EXPECT_EQ(problem(1, R"({"kind":"step.dispatch","now":5,"req":{},"res":{}})").substr(0, 14), "trace line 2: ");
}

// Encoding and decoding preserve every request, so a trace loses nothing.
TEST(EncodeRequestTest, RoundTrips) {
  const json create = {
      {"id", "p"}, {"timeoutAt", 5}, {"param", {{"headers", json::object()}, {"data", ""}}}, {"tags", {{"a", "b"}}}, {"ikc", "k"}};
  const json settle = {{"id", "p"}, {"state", "resolved"}, {"value", {{"data", "x"}}}, {"iku", ""}};
  const auto action = [](const char* kind, const json& data) { return json({{"kind", kind}, {"data", data}}); };
  const std::pair<const char*, json> cases[] = {
      {"promise.get", {{"id", "p"}}},
      {"promise.create", create},
      {"promise.settle", settle},
      {"promise.register_callback", {{"awaited", "a"}, {"awaiter", "b"}}},
      {"promise.register_listener", {{"awaited", "a"}, {"address", "x:y"}}},
      {"promise.search", {{"id", "*"}, {"state", "pending"}, {"tags", {{"a", "b"}}}, {"limit", 5}, {"cursor", "c"}}},
      {"task.get", {{"id", "p"}}},
      {"task.create", {{"pid", "w"}, {"ttl", 5}, {"action", action("promise.create", create)}}},
      {"task.acquire", {{"id", "p"}, {"version", 1}, {"pid", "w"}, {"ttl", 5}}},
      {"task.release", {{"id", "p"}, {"version", 1}}},
      {"task.suspend",
       {{"id", "p"}, {"version", 1}, {"actions", {action("promise.register_callback", {{"awaited", "a"}, {"awaiter", "p"}})}}}},
      {"task.fulfill", {{"id", "p"}, {"version", 1}, {"action", action("promise.settle", settle)}}},
      {"task.fence", {{"id", "p"}, {"version", 1}, {"action", action("promise.create", create)}}},
      {"task.fence", {{"id", "p"}, {"version", 1}, {"action", action("promise.settle", settle)}}},
      {"task.heartbeat", {{"pid", "w"}, {"tasks", {{{"id", "p"}, {"version", 1}}}}}},
      {"task.halt", {{"id", "p"}}},
      {"task.continue", {{"id", "p"}}},
      {"task.search", {{"target", "t"}}},
      {"schedule.get", {{"id", "p"}}},
      {"schedule.create",
       {{"id", "s"},
        {"cron", "* * * * *"},
        {"promiseId", "i"},
        {"promiseTimeout", 5},
        {"promiseParam", {{"data", "x"}}},
        {"promiseTags", {{"a", "b"}}}}},
      {"schedule.delete", {{"id", "p"}}},
      {"schedule.search", json::object()},
  };
  for (const auto& [kind, data] : cases) {
    const json request = {{"kind", kind}, {"head", {{"corrId", "c"}, {"version", "2026-04-01"}}}, {"data", data}};
    const std::string text = request.dump();
    const Decoded decoded = EnvelopeHandler::decode_json(text);
    ASSERT_TRUE(std::holds_alternative<Envelope>(decoded)) << std::get<Refusal>(decoded).message;
    JsonSink sink;
    encode_request(sink, "c", std::get<Request>(std::get<Envelope>(decoded).operation));
    EXPECT_EQ(json::parse(sink.text()), request);
  }
}

TEST_F(TraceTest, ARequestKeepsItsScope) {
  create("mine.1", 9000);
  create("other.1", 9000);
  record();
  engine->apply(Request{DialectId::k2026_04_01, PromiseSearch{}, "mine."});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(json::parse(lines[1])["scope"], "mine.");
  EXPECT_EQ(json::parse(lines[1])["res"]["data"]["promises"].size(), 1u);
  EXPECT_TRUE(replay(lines).ok);
}

}  // namespace
}  // namespace resonate
