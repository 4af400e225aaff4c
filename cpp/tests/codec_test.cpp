// The envelope handler refuses invalid requests with an error that names the member, replies in both dialects, and replies to any
// text at all.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "codec/json_sink.hpp"
#include "protocol/envelope_handler.hpp"
#include "resonate/clock.hpp"
#include "resonate/engine.hpp"

namespace resonate {
namespace {

using nlohmann::json;

constexpr const char* kNewest = "2026-04-01";
constexpr const char* kOlder = "2025-01-15";

json envelope(const std::string& kind, json data, const std::string& version = kNewest) {
  return {{"kind", kind}, {"head", {{"corrId", "c1"}, {"version", version}}}, {"data", std::move(data)}};
}

class CodecTest : public ::testing::Test {
 protected:
  explicit CodecTest(Options options = {.debug = true})
      : clock(std::make_shared<ManualClock>(1000)),
        engine(Engine::create(make_memory_storage(), clock, options)),
        handler(engine) {}

  std::string send_text(std::string_view text) { return handler.apply_json(text); }
  json send(const json& request) { return json::parse(send_text(request.dump(-1, ' ', true, json::error_handler_t::replace))); }
  json data(const std::string& kind, const json& data, const std::string& version = kNewest) {
    const json answer = send(envelope(kind, data, version));
    EXPECT_LE(answer["head"]["status"], 300) << answer;
    return answer["data"];
  }
  std::string problem(const json& request, int status = 400) {
    const json answer = send(request);
    EXPECT_EQ(answer["head"]["status"], status) << answer;
    return answer["data"].is_string() ? answer["data"].get<std::string>() : "no string: " + answer["data"].dump();
  }

  std::shared_ptr<ManualClock> clock;
  std::shared_ptr<Engine> engine;
  EnvelopeHandler handler;
};

const json kTargeted = {{"resonate:target", "poll://any@w"}};

TEST_F(CodecTest, AnswersInAFixedOrderAndInAscii) {
  const std::string answer =
      send_text(R"({"kind":"promise.create","head":{"corrId":"é","version":"2026-04-01"},)"
                R"("data":{"id":"p","timeoutAt":5000,"param":{"data":"","headers":{"k":"v\n\"\\\u0001😀"}}}})");
  EXPECT_EQ(
      answer,
      R"({"kind":"promise.create","head":{"corrId":"\u00e9","status":200,"version":"2026-04-01"},"data":{"promise":{"id":"p",)"
      R"("state":"pending","param":{"headers":{"k":"v\n\"\\\u0001\ud83d\ude00"},"data":""},"value":{},"tags":{},"timeoutAt":5000,)"
      R"("createdAt":1000}}})");
}

TEST_F(CodecTest, NamesMemberAndValueOfAWrongType) {
  struct Case {
    json data;
    std::string expected;
  };
  const Case cases[] = {
      {{{"id", "p"}, {"timeoutAt", "5"}}, R"(data.timeoutAt must be an integer within int64, got "5")"},
      {{{"id", "p"}, {"timeoutAt", true}}, "data.timeoutAt must be an integer within int64, got a boolean"},
      {{{"id", "p"}, {"timeoutAt", 1.0}}, "data.timeoutAt must be an integer within int64, got a number that is no integer"},
      {{{"id", "p"}, {"timeoutAt", 9223372036854775808ULL}},
       "data.timeoutAt must be an integer within int64, got an integer outside int64"},
      {{{"id", "p"}}, "data.timeoutAt is missing"},
      {{{"id", 5}, {"timeoutAt", 1}}, "data.id must be a string, got 5"},
      {{{"id", "p"}, {"timeoutAt", 1}, {"param", nullptr}}, "data.param must be an object, got null"},
      {{{"id", "p"}, {"timeoutAt", 1}, {"tags", nullptr}}, "data.tags must be an object of strings, got null"},
      {{{"id", "p"}, {"timeoutAt", 1}, {"tags", {{"a", 1}}}}, "data.tags.a must be a string, got 1"},
      {{{"id", "p"}, {"timeoutAt", 1}, {"param", {{"headers", {{"h", nullptr}}}}}},
       "data.param.headers.h must be a string, got null"},
      {{{"id", "p"}, {"timeoutAt", 1}, {"param", {{"data", {1}}}}}, "data.param.data must be a string, got an array"},
  };
  for (const Case& row : cases) EXPECT_EQ(problem(envelope("promise.create", row.data)), row.expected);
  EXPECT_EQ(
      problem(envelope(
          "task.suspend",
          {{"id", "t"}, {"version", 1}, {"actions", {{{"kind", "promise.register_callback"}, {"data", {{"awaited", "a"}}}}}}})),
      "data.actions[0].data.awaiter is missing");
  EXPECT_EQ(problem(envelope("task.heartbeat", {{"pid", "w"}})), "data.tasks is missing");
  EXPECT_EQ(problem(envelope("task.create",
                             {{"pid", "w"}, {"ttl", 1}, {"action", {{"kind", "promise.settle"}, {"data", json::object()}}}})),
            R"(data.action.kind must be "promise.create", got "promise.settle")");
}

TEST_F(CodecTest, NullIsFineForOptionalScalars) {
  data("promise.create",
       {{"id", "p"}, {"timeoutAt", 5000}, {"ikc", nullptr}, {"param", {{"headers", nullptr}, {"data", nullptr}}}});
  data("promise.search", {{"id", nullptr}, {"state", nullptr}, {"tags", nullptr}, {"limit", nullptr}, {"cursor", nullptr}});
  data("task.search", {{"target", nullptr}});
  json request = envelope("promise.get", {{"id", "p"}});
  request["head"]["auth"] = nullptr;
  request["head"]["resonate:debug_time"] = nullptr;
  request["head"]["whatever"] = {1, {{"a", nullptr}}};
  EXPECT_EQ(send(request)["head"]["status"], 200);
  request["head"]["auth"] = 5;
  EXPECT_EQ(problem(request), "head.auth must be a string, got 5");
  request["head"].erase("auth");
  request["head"]["resonate:debug_time"] = "now";
  EXPECT_EQ(problem(request), R"(head.resonate:debug_time must be an integer within int64, got "now")");
}

TEST_F(CodecTest, SalvagesWhatARefusalRepeats) {
  const auto head_of_answer = [&](std::string_view text) {
    const json answer = json::parse(send_text(text));
    EXPECT_EQ(answer["head"]["status"], 400) << text;
    EXPECT_TRUE(answer["data"].is_string());
    return answer["kind"].get<std::string>() + " " + answer["head"]["corrId"].get<std::string>() + " " +
           answer["head"]["version"].get<std::string>();
  };
  EXPECT_EQ(head_of_answer(""), "unknown 0 2026-04-01");
  EXPECT_EQ(head_of_answer("[]"), "unknown 0 2026-04-01");
  EXPECT_EQ(head_of_answer(R"({"kind":5,"head":{"corrId":7,"version":"2025-01-15"}})"), "unknown 0 2025-01-15");
  EXPECT_EQ(head_of_answer(R"({"kind":"k","head":[],"data":{}})"), "k 0 2026-04-01");
  EXPECT_EQ(head_of_answer(R"({"kind":"","head":{"corrId":"c","version":"2025-01-15"},"data":{}})"), " c 2025-01-15");
  EXPECT_EQ(head_of_answer(R"({"kind":"promise.get","head":{"corrId":"c","version":"1999-01-01"},"data":{}})"),
            "promise.get c 2026-04-01");
  // simdjson refuses these texts; nlohmann's parser reads them.
  EXPECT_EQ(head_of_answer(R"({"kind":"promise.create","head":{"corrId":"c","version":"2025-01-15"},)"
                           R"("data":{"id":"p","timeoutAt":123456789012345678901234567890}})"),
            "promise.create c 2025-01-15");
  EXPECT_EQ(head_of_answer(R"({"kind":"promise.get","head":{"corrId":"c","version":"2026-04-01"},"data":{"id":"a\ud800b"}})"),
            "promise.get c 2026-04-01");
}

TEST_F(CodecTest, NamesAnUnknownVersionAndKind) {
  EXPECT_EQ(problem(envelope("promise.get", json::object(), "1999")),
            R"(version must be 2026-04-01 or 2025-01-15, got "1999" (kind "promise.get"))");
  for (const char* kind :
       {"promise.register_callback", "promise.search", "task.halt", "task.continue", "schedule.search", "debug.snap"}) {
    EXPECT_EQ(problem(envelope(kind, json::object(), kOlder)),
              "kind must be one of version 2025-01-15, got \"" + std::string(kind) + "\"");
  }
  for (const char* kind : {"promise.register", "promise.subscribe", "nothing"}) {
    EXPECT_EQ(problem(envelope(kind, json::object())), "kind must be one of version 2026-04-01, got \"" + std::string(kind) + "\"");
  }
}

TEST_F(CodecTest, UnknownMembersAreIgnoredWhateverTheyHold) {
  const std::string deep = std::string(50'000, '[') + std::string(50'000, ']');
  for (const std::string& extra : {std::string("99999999999999999999999"), std::string(R"("\ud800")"), deep, std::string("null")}) {
    const json answer = json::parse(send_text(R"({"x":)" + extra +
                                              R"(,"kind":"promise.get","head":{"corrId":"c","version":"2026-04-01"},)"
                                              R"("data":{"y":)" +
                                              extra + R"(,"id":"absent"}})"));
    EXPECT_EQ(answer["head"]["status"], 404) << answer;
  }
}

TEST_F(CodecTest, BothParsersNameTheFirstWrongMember) {
  for (const char* second : {"9", "-9223372036854775809", "9999999999999999999999"}) {
    const json answer =
        json::parse(send_text(R"({"kind":"promise.create","head":{"corrId":"c","version":"2026-04-01"},"data":{"id":"p",)"
                              R"("timeoutAt":1,"tags":{"z":null,"a":)" +
                              std::string(second) + "}}}"));
    EXPECT_EQ(answer["data"], "data.tags.z must be a string, got null");
  }
}

TEST_F(CodecTest, ManyMembersCostNoMoreThanTheirNumber) {
  std::string tags;
  for (int i = 0; i < 100'000; ++i) tags += "\"" + std::to_string((i * 7919LL) % 100'000) + "\":\"\",";
  for (const char* last : {"\"\"", "99999999999999999999"}) {  // simdjson reads the first text, nlohmann's parser the second
    const json answer =
        json::parse(send_text(R"({"kind":"promise.create","head":{"corrId":"c","version":"2026-04-01"},"x":)" + std::string(last) +
                              R"(,"data":{"id":"p","timeoutAt":5000,"tags":{)" + tags + R"("last":""}}})"));
    EXPECT_EQ(answer["head"]["status"], 200);
    EXPECT_EQ(answer["data"]["promise"]["tags"].size(), 100'001u);
  }
}

TEST_F(CodecTest, TheLastOfADuplicateMemberCounts) {
  const json answer = json::parse(send_text(R"({"kind":7,"kind":"promise.create","head":{"corrId":"c","version":"2026-04-01"},)"
                                            R"("data":{"id":5,"id":"p","timeoutAt":5000,"tags":{"a":1,"b":"x","a":"y"}}})"));
  EXPECT_EQ(answer["data"]["promise"]["tags"], json({{"a", "y"}, {"b", "x"}}));
}

TEST_F(CodecTest, AnyTextGetsAnAnswer) {
  const std::string whole = envelope("promise.get", {{"id", "p"}}).dump();
  std::vector<std::string> texts = {"",
                                    " ",
                                    "{",
                                    "nul",
                                    "NaN",
                                    "[1,]",
                                    "\xEF\xBB\xBF" + whole,
                                    whole + "x",
                                    whole + whole,
                                    "\"\xff\"",
                                    "\"\xed\xa0\x80\"",
                                    std::string("\0", 1),
                                    std::string(100'000, '['),
                                    std::string(100'000, '{'),
                                    std::string(20'000, '[') + "1e999" + std::string(20'000, ']'),
                                    "{\"kind\":" + std::string(100'000, '['),
                                    std::string(2'000'000, ' ') + "x",
                                    "\"\\ud800\\ud800\\udc00\""};
  for (std::size_t cut = 0; cut < whole.size(); ++cut) texts.push_back(whole.substr(0, cut));
  for (const std::string& text : texts) {
    const json answer = json::parse(send_text(text));
    EXPECT_EQ(answer["head"]["status"], 400) << text.substr(0, 100);
    EXPECT_TRUE(answer["data"].is_string());
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) text[random() % text.size()] = static_cast<char>(random() % 256);
    const json answer = json::parse(send_text(text));
    EXPECT_TRUE(answer["head"]["status"].is_number()) << text;
  }
}

TEST_F(CodecTest, TasksInTheNewestDialect) {
  const json action = {
      {"kind", "promise.create"}, {"head", 5}, {"data", {{"id", "t"}, {"timeoutAt", 50'000}, {"tags", kTargeted}}}};
  const json claim = data("task.create", {{"pid", "w"}, {"ttl", 100}, {"action", action}});
  EXPECT_EQ(claim["task"], json({{"id", "t"}, {"state", "acquired"}, {"version", 1}, {"resumes", 0}, {"ttl", 100}, {"pid", "w"}}));
  EXPECT_EQ(claim["preload"], json::array());
  EXPECT_EQ(claim["promise"]["value"], json::object());
  EXPECT_EQ(data("task.release", {{"id", "t"}, {"version", 1}}), json::object());
  EXPECT_EQ(data("task.get", {{"id", "t"}})["task"], json({{"id", "t"}, {"state", "pending"}, {"version", 1}, {"resumes", 0}}));
  const json again = data("task.acquire", {{"id", "t"}, {"version", 1}, {"pid", "w"}, {"ttl", 100}});
  EXPECT_EQ(again["task"]["version"], 2);

  const json fenced = data(
      "task.fence",
      {{"id", "t"},
       {"version", 2},
       {"action",
        {{"kind", "promise.settle"}, {"head", {{"version", "nonsense"}}}, {"data", {{"id", "absent"}, {"state", "resolved"}}}}}});
  EXPECT_EQ(fenced["action"]["kind"], "promise.settle");
  EXPECT_EQ(fenced["action"]["head"], json({{"corrId", "c1"}, {"status", 404}, {"version", kNewest}}));
  EXPECT_TRUE(fenced["action"]["data"].is_string());
  EXPECT_EQ(fenced["preload"], json::array());
  const json made = data(
      "task.fence",
      {{"id", "t"}, {"version", 2}, {"action", {{"kind", "promise.create"}, {"data", {{"id", "child"}, {"timeoutAt", 40'000}}}}}});
  EXPECT_EQ(made["action"]["data"]["promise"]["id"], "child");

  const json actions = {{{"kind", "promise.register_callback"}, {"data", {{"awaited", "child"}, {"awaiter", "t"}}}}};
  EXPECT_EQ(data("task.suspend", {{"id", "t"}, {"version", 2}, {"actions", actions}}), json::object());
  data("promise.settle", {{"id", "child"}, {"state", "resolved"}});
  EXPECT_EQ(data("task.get", {{"id", "t"}})["task"]["resumes"], 1);
  data("task.acquire", {{"id", "t"}, {"version", 2}, {"pid", "w"}, {"ttl", 100}});
  const json redirect = send(envelope("task.suspend", {{"id", "t"}, {"version", 3}, {"actions", actions}}));
  EXPECT_EQ(redirect["head"]["status"], 300);
  EXPECT_EQ(redirect["data"], json({{"preload", json::array()}}));
  const json done = data(
      "task.fulfill",
      {{"id", "t"},
       {"version", 3},
       {"action", {{"kind", "promise.settle"}, {"data", {{"id", "t"}, {"state", "resolved"}, {"value", {{"data", "eA=="}}}}}}}});
  EXPECT_EQ(done["promise"]["value"], json({{"data", "eA=="}}));
  EXPECT_EQ(done["promise"]["settledAt"], 1000);
}

TEST_F(CodecTest, TasksInTheOlderDialect) {
  const json promise = {{"id", "t"}, {"timeoutAt", 50'000}, {"tags", kTargeted}};
  const json action = {{"kind", "promise.create"}, {"data", promise}};
  const json claim = data("task.create", {{"pid", "w"}, {"ttl", 100}, {"action", action}}, kOlder);
  EXPECT_EQ(claim["task"], json({{"id", "t"}, {"version", 0}}));
  EXPECT_EQ(claim["promise"]["param"], json({{"headers", json::object()}, {"data", ""}}));
  EXPECT_FALSE(claim.contains("preload"));
  const json existing = data("task.create", {{"pid", "w"}, {"ttl", 100}, {"action", action}}, kOlder);
  EXPECT_FALSE(existing.contains("task"));
  data("promise.create", {{"id", "a"}, {"timeoutAt", 40'000}}, kOlder);
  const json awaits = {{{"kind", "promise.register"}, {"data", {{"awaited", "a"}, {"awaiter", "t"}}}}};
  EXPECT_EQ(data("task.suspend", {{"id", "t"}, {"version", 0}, {"actions", awaits}}, kOlder), json::object());
  data("promise.settle", {{"id", "a"}, {"state", "rejected"}, {"value", {{"headers", {{"h", "v"}}}}}}, kOlder);
  const json run = data("task.acquire", {{"id", "t"}, {"version", 1}, {"pid", "w"}, {"ttl", 100}}, kOlder);
  EXPECT_EQ(run["kind"], "resume");
  EXPECT_EQ(run["data"]["invoked"]["id"], "t");
  EXPECT_EQ(run["data"]["awaited"]["value"], json({{"headers", {{"h", "v"}}}, {"data", ""}}));
  EXPECT_EQ(data("promise.get", {{"id", "a"}})["promise"]["value"], json({{"headers", {{"h", "v"}}}}));
  data("promise.create", {{"id", "u"}, {"timeoutAt", 50'000}, {"tags", {{"resonate:invoke", "poll://any@w"}}}}, kOlder);
  const json invoke = data("task.acquire", {{"id", "u"}, {"version", 0}, {"pid", "w"}, {"ttl", 100}}, kOlder);
  EXPECT_EQ(invoke["kind"], "invoke");
  EXPECT_FALSE(invoke["data"].contains("awaited"));
}

TEST_F(CodecTest, SchedulesAndSearches) {
  const json made =
      data("schedule.create", {{"id", "s"}, {"cron", "* * * * *"}, {"promiseId", "{{.id}}.{{.timestamp}}"}, {"promiseTimeout", 5}});
  EXPECT_EQ(made["schedule"], json({{"id", "s"},
                                    {"cron", "* * * * *"},
                                    {"promiseId", "{{.id}}.{{.timestamp}}"},
                                    {"promiseTimeout", 5},
                                    {"promiseParam", json::object()},
                                    {"promiseTags", json::object()},
                                    {"createdAt", 1000},
                                    {"nextRunAt", 60'000}}));
  for (const char* id : {"a", "b", "c"}) data("promise.create", {{"id", id}, {"timeoutAt", 5000}, {"tags", kTargeted}});
  const json page = data("promise.search", {{"limit", 2}});
  EXPECT_EQ(page["promises"].size(), 2u);
  EXPECT_EQ(page["cursor"], "b");
  EXPECT_FALSE(data("promise.search", {{"limit", 2}, {"cursor", "b"}}).contains("cursor"));
  EXPECT_EQ(data("task.search", {{"state", "pending"}})["tasks"].size(), 3u);
  EXPECT_EQ(data("schedule.search", json::object())["schedules"].size(), 1u);
  EXPECT_EQ(data("schedule.delete", {{"id", "s"}}), json::object());
}

TEST_F(CodecTest, DebugOperations) {
  data("promise.create", {{"id", "t"}, {"timeoutAt", 9000}, {"tags", kTargeted}});
  data("promise.create", {{"id", "a"}, {"timeoutAt", 8000}, {"tags", {{"resonate:external", "true"}}}});
  data("promise.register_listener", {{"awaited", "a"}, {"address", "http://x"}});
  data("promise.register_callback", {{"awaited", "a"}, {"awaiter", "t"}});
  EXPECT_EQ(data("debug.start", json::object()), json::object());
  EXPECT_TRUE(handler.paused());
  EXPECT_EQ(data("debug.stop", json::object()), json::object());
  EXPECT_FALSE(handler.paused());
  const json snap = data("debug.snap", json::object());
  EXPECT_EQ(snap["promiseTimeouts"], json({{{"id", "a"}, {"timeout", 8000}}, {{"id", "t"}, {"timeout", 9000}}}));
  EXPECT_EQ(snap["callbacks"], json({{{"awaiter", "t"}, {"awaited", "a"}}}));
  EXPECT_EQ(snap["listeners"], json({{{"id", "a"}, {"address", "http://x"}}}));
  EXPECT_EQ(snap["tasks"].size(), 1u);
  EXPECT_EQ(snap["taskTimeouts"], json({{{"id", "t"}, {"type", 0}, {"timeout", 6000}}}));
  EXPECT_EQ(
      snap["messages"],
      json({{{"address", "poll://any@w"},
             {"message", {{"kind", "execute"}, {"head", json::object()}, {"data", {{"task", {{"id", "t"}, {"version", 0}}}}}}}}}));
  EXPECT_EQ(data("debug.tick", {{"time", 8000}}), json::array());
  EXPECT_EQ(clock->now(), 8000);
  problem(envelope("debug.tick", {{"time", 7000}}));
  EXPECT_EQ(problem(envelope("debug.tick", {{"time", "x"}})), R"(data.time must be an integer within int64, got "x")");
  json moved = envelope("debug.tick", {{"time", 8500}});
  moved["head"]["resonate:debug_time"] = 8400;
  problem(moved);
  json timed = envelope("promise.get", {{"id", "t"}});
  timed["head"]["resonate:debug_time"] = 9000;
  EXPECT_EQ(send(timed)["data"]["promise"]["state"], "rejected_timedout");
  EXPECT_EQ(data("debug.reset", json::object()), json::object());
  EXPECT_EQ(data("debug.snap", json::object())["promises"], json::array());
}

class ClosedDebugTest : public CodecTest {
 protected:
  ClosedDebugTest() : CodecTest({.debug = false}) {}
};

TEST_F(ClosedDebugTest, DebugIsForbiddenAndItsTimeIgnored) {
  problem(envelope("debug.tick", {{"time", "x"}}), 403);
  problem(envelope("debug.snap", json::object()), 403);
  json timed = envelope("promise.get", {{"id", "absent"}});
  timed["head"]["resonate:debug_time"] = 9000;
  problem(timed, 404);
  EXPECT_EQ(clock->now(), 1000);
}

class BatchTest : public CodecTest {
 protected:
  std::vector<json> batch(const std::vector<std::string>& texts, Atomicity atomicity) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    std::vector<json> answers;
    for (const std::string& text : handler.apply_json(views, std::nullopt, atomicity)) answers.push_back(json::parse(text));
    return answers;
  }
  static std::string create(const std::string& id) { return envelope("promise.create", {{"id", id}, {"timeoutAt", 5000}}).dump(); }
  static std::vector<int> statuses(const std::vector<json>& answers) {
    std::vector<int> all;
    for (const json& answer : answers) all.push_back(answer["head"]["status"]);
    return all;
  }
};

TEST_F(BatchTest, AnswersKeepTheirPlaces) {
  const auto answers = batch({create("a"), "nonsense", create("b"), envelope("debug.snap", json::object()).dump(), create("a")},
                             Atomicity::independent);
  EXPECT_EQ(statuses(answers), (std::vector<int>{200, 400, 200, 400, 200}));
  EXPECT_EQ(answers[2]["data"]["promise"]["id"], "b");
  EXPECT_TRUE(batch({}, Atomicity::independent).empty());
}

TEST_F(BatchTest, TheFirstRefusalUndoesAnAtomicBatch) {
  const std::string missing = envelope("promise.get", {{"id", "absent"}}).dump();
  auto answers = batch({create("a"), "nonsense", missing}, Atomicity::all_or_nothing);
  EXPECT_EQ(statuses(answers), (std::vector<int>{409, 400, 409}));
  EXPECT_NE(answers[0]["data"].get<std::string>().find("not JSON"), std::string::npos) << answers[0];
  answers = batch({create("a"), missing, "nonsense"}, Atomicity::all_or_nothing);
  EXPECT_EQ(statuses(answers), (std::vector<int>{409, 404, 409}));
  EXPECT_EQ(send(envelope("promise.get", {{"id", "a"}}))["head"]["status"], 404);
  EXPECT_EQ(statuses(batch({create("a"), create("b")}, Atomicity::all_or_nothing)), (std::vector<int>{200, 200}));
  EXPECT_EQ(statuses(batch({"nonsense"}, Atomicity::all_or_nothing)), (std::vector<int>{400}));
  EXPECT_EQ(statuses(batch({envelope("debug.stop", json::object()).dump()}, Atomicity::all_or_nothing)), (std::vector<int>{200}));
}

TEST_F(BatchTest, AnAtomicBatchOfOneIsUndoneToo) {
  const std::string text = envelope("promise.get", {{"id", "absent"}}).dump();
  const std::vector<std::string_view> one = {text};
  EXPECT_EQ(json::parse(handler.apply_json(one, 2000, Atomicity::all_or_nothing)[0])["head"]["status"], 404);
  EXPECT_EQ(clock->now(), 1000);
}

TEST(JsonSinkTest, EscapesAtEveryOffset) {
  for (const char* special : {"\"", "\\", "\n", "\x01", "\x7f", "é", "\u20ac", "😀"}) {
    for (std::size_t before = 0; before < 20; ++before) {
      const std::string text = std::string(before, 'x') + special + std::string(17, 'y');
      JsonSink sink;
      sink.string(text);
      EXPECT_EQ(json::parse(sink.text()).get<std::string>(), text);
      for (const char byte : sink.text()) EXPECT_LT(static_cast<unsigned char>(byte), 0x80);
    }
  }
  JsonSink numbers;
  numbers.begin_array();
  for (const std::int64_t number : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) numbers.integer(number);
  numbers.end_array();
  EXPECT_EQ(numbers.text(), "[-9223372036854775808,-1,0,9223372036854775807]");
}

TEST(FieldsTest, EveryNameIsFound) {
  for (std::size_t place = 0; place < kFieldCount; ++place) {
    const auto field = static_cast<Field>(place);
    EXPECT_EQ(field_named(name_of(field)), field) << name_of(field);
  }
  EXPECT_FALSE(field_named(""));
  EXPECT_FALSE(field_named("timeoutat"));
}

}  // namespace
}  // namespace resonate
