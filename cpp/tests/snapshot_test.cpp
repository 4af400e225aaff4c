// Snapshots: the whole state as JSON and back, and its digest.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "codec/json_sink.hpp"
#include "codec/snapshot.hpp"
#include "protocol/envelope_handler.hpp"
#include "resonate/clock.hpp"
#include "resonate/engine.hpp"

namespace resonate {
namespace {

using nlohmann::json;

constexpr const char* kOlder = "2025-01-15";
const json kTargeted = {{"resonate:target", "poll://any@w"}};

class SnapshotTest : public ::testing::Test {
 protected:
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(1000);
  std::shared_ptr<Engine> engine = Engine::create(make_memory_storage(), clock, {});
  EnvelopeHandler handler{engine};

  void send(const std::string& kind, const json& data, const std::string& version = "2026-04-01") {
    const json request = {{"kind", kind}, {"head", {{"corrId", "c"}, {"version", version}}}, {"data", data}};
    const json answer = json::parse(handler.apply_json(request.dump()));
    ASSERT_LE(answer["head"]["status"], 300) << answer;
  }
  std::string text() {
    return engine->with_storage([](Storage& storage) { return write_snapshot(storage, SnapshotFormat::full, {}); });
  }
  std::string digest_now() {
    return engine->with_storage([](Storage& storage) { return digest(storage, {}); });
  }
  static json reread(const json& snapshot) {
    return json::parse(write_snapshot(*read_snapshot(snapshot.dump()), SnapshotFormat::full, {}));
  }
  static std::string digest_of(const json& snapshot) { return digest(*read_snapshot(snapshot.dump()), {}); }

  // Adds tasks in every state, edges, messages of all kinds, and schedules.
  void fill() {
    const auto task = [&](const std::string& id) {
      send("task.create", {{"pid", "w"},
                           {"ttl", 7000},
                           {"action",
                            {{"kind", "promise.create"},
                             {"data",
                              {{"id", id},
                               {"timeoutAt", 900'000},
                               {"tags", kTargeted},
                               {"param", {{"data", "eA=="}, {"headers", {{"h", "é"}}}}},
                               {"ikc", "key"}}}}}});
    };
    for (const char* id : {"acquired", "halted", "released", "suspended", "done"}) task(id);
    send("promise.create", {{"id", "pending"}, {"timeoutAt", 900'000}, {"tags", kTargeted}});
    send("promise.create", {{"id", "awaited"}, {"timeoutAt", 800'000}});
    send("promise.create", {{"id", "older"}, {"timeoutAt", 800'000}, {"tags", {{"resonate:invoke", "http://o"}}}}, kOlder);
    send("promise.subscribe", {{"awaited", "older"}, {"address", "http://l1"}}, kOlder);
    send("promise.register_listener", {{"awaited", "awaited"}, {"address", "http://l2"}});
    send("promise.register_listener", {{"awaited", "awaited"}, {"address", "http://l1"}});
    send("task.suspend",
         {{"id", "suspended"},
          {"version", 1},
          {"actions", {{{"kind", "promise.register_callback"}, {"data", {{"awaited", "awaited"}, {"awaiter", "suspended"}}}}}}});
    send("promise.register_callback", {{"awaited", "awaited"}, {"awaiter", "halted"}});
    send("promise.create", {{"id", "soon"}, {"timeoutAt", 900'000}});
    for (const char* awaiter : {"halted", "acquired"})
      send("promise.register_callback", {{"awaited", "soon"}, {"awaiter", awaiter}});
    send("promise.register_listener", {{"awaited", "soon"}, {"address", "http://l3"}});
    send("promise.settle", {{"id", "soon"}, {"state", "rejected"}, {"value", {{"data", ""}}}, {"iku", "k"}});
    send("task.halt", {{"id", "halted"}});
    send("task.release", {{"id", "released"}, {"version", 1}});
    send("task.fulfill", {{"id", "done"},
                          {"version", 1},
                          {"action", {{"kind", "promise.settle"}, {"data", {{"id", "done"}, {"state", "resolved"}}}}}});
    send("schedule.create", {{"id", "s"},
                             {"cron", "* * * * *"},
                             {"promiseId", "{{.id}}.{{.timestamp}}"},
                             {"promiseTimeout", 500'000},
                             {"promiseTags", kTargeted}});
    send("schedule.create", {{"id", "s2"}, {"cron", "@daily"}, {"promiseId", "x"}, {"promiseTimeout", 1}}, kOlder);
  }
};

TEST_F(SnapshotTest, OfAnEmptyStore) {
  EXPECT_EQ(text(), R"({"format":"resonate_core/1","now":1000,"dropped":0,"promises":[],"schedules":[],"messages":[]})");
  EXPECT_EQ(digest_now(), "e6e6fb8a9ac53ee71be338fabfd86fb2");  // MurmurHash3 x64 128 of the tokens; the same on every machine
}

TEST_F(SnapshotTest, ShowsEveryMember) {
  fill();
  const json snapshot = json::parse(text());
  json promises;
  for (const json& promise : snapshot["promises"]) promises[promise["id"].get<std::string>()] = promise;
  EXPECT_EQ(promises["acquired"], json({{"id", "acquired"},
                                        {"state", "pending"},
                                        {"param", {{"data", "eA=="}, {"headers", {{"h", "é"}}}}},
                                        {"value", json::object()},
                                        {"tags", kTargeted},
                                        {"timeoutAt", 900'000},
                                        {"createdAt", 1000},
                                        {"ikc", "key"},
                                        {"dialect", "2026-04-01"},
                                        {"external", true},
                                        {"callbacks", json::array()},
                                        {"listeners", json::array()},
                                        {"task",
                                         {{"state", "acquired"},
                                          {"acquisitions", 1},
                                          {"pid", "w"},
                                          {"ttl", 7000},
                                          {"expiresAt", 8000},
                                          {"lastTtl", 7000},
                                          {"resumes", {"soon"}}}}}));
  EXPECT_EQ(promises["halted"]["task"], json({{"state", "halted"}, {"acquisitions", 1}, {"lastTtl", 7000}, {"resumes", {"soon"}}}));
  EXPECT_EQ(promises["released"]["task"],
            json({{"state", "pending"}, {"acquisitions", 1}, {"lastTtl", 7000}, {"retryAt", 6000}, {"resumes", json::array()}}));
  EXPECT_EQ(promises["done"]["task"], json({{"state", "fulfilled"}, {"acquisitions", 1}, {"resumes", json::array()}}));
  EXPECT_EQ(promises["awaited"]["callbacks"], json({"suspended", "halted"}));
  EXPECT_EQ(promises["awaited"]["listeners"][0], json({{"address", "http://l2"}, {"dialect", "2026-04-01"}}));
  EXPECT_EQ(promises["older"]["dialect"], kOlder);
  EXPECT_EQ(promises["soon"]["iku"], "k");
  EXPECT_EQ(promises["soon"]["settledAt"], 1000);
  EXPECT_EQ(snapshot["messages"].back(), json({{"kind", "execute"},
                                               {"id", "released"},
                                               {"version", 1},
                                               {"address", "poll://any@w"},
                                               {"attempts", 0},
                                               {"queuedAt", 1000}}));
  EXPECT_EQ(snapshot["messages"][1]["kind"], "invoke");
  EXPECT_EQ(snapshot["schedules"][1]["dialect"], kOlder);
}

TEST_F(SnapshotTest, RoundTrips) {
  fill();
  const std::string before = text();
  std::unique_ptr<Storage> copy = read_snapshot(before);
  EXPECT_EQ(write_snapshot(*copy, SnapshotFormat::full, {}), before);
  EXPECT_EQ(digest(*copy, {}), digest_now());
  const auto debug = [](Storage& storage) { return write_snapshot(storage, SnapshotFormat::debug, {}); };
  EXPECT_EQ(debug(*copy), engine->with_storage(debug));
}

TEST_F(SnapshotTest, ARestoredStateBehavesLikeTheOriginal) {
  fill();
  const auto other_clock = std::make_shared<ManualClock>(1000);
  const auto other = Engine::create(read_snapshot(text()), other_clock, {});
  const auto fired = clock->advance_to(1'000'000);
  const auto other_fired = other_clock->advance_to(1'000'000);
  ASSERT_EQ(fired.size(), other_fired.size());
  EXPECT_GT(fired.size(), 20u);
  EXPECT_EQ(other->with_storage([](Storage& storage) { return write_snapshot(storage, SnapshotFormat::full, {}); }), text());
  EXPECT_TRUE(other->check().empty());
}

// Calls the body with each leaf of the snapshot, one after the other.
void each_leaf(json& node, const std::function<void(json&)>& body) {
  if (node.is_structured() && !node.empty()) {
    for (json& member : node) each_leaf(member, body);
  } else {
    body(node);
  }
}

TEST_F(SnapshotTest, TheDigestDiffersWithEveryMember) {
  fill();
  json snapshot = json::parse(text());
  const std::string before = digest_of(snapshot);
  EXPECT_EQ(before.size(), 32u);
  std::set<std::string> digests = {before};
  std::size_t changes = 0;
  each_leaf(snapshot, [&](json& leaf) {
    const json kept = leaf;
    if (leaf.is_number())
      leaf = leaf.get<std::int64_t>() + 1;
    else if (leaf.is_boolean())
      leaf = !leaf.get<bool>();
    else if (leaf.is_string())
      leaf = leaf.get<std::string>() + "x";
    else
      return;
    if (&leaf == &snapshot["now"]) {  // the only member that a digest leaves out
      EXPECT_EQ(digest_of(snapshot), before);
      leaf = kept;
      return;
    }
    try {
      const json seen = reread(snapshot);
      if (seen == snapshot) {
        ++changes;
        EXPECT_TRUE(digests.insert(digest_of(snapshot)).second) << kept << " -> " << leaf;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);  // the change made a name, a reference or a ttl inconsistent
    }
    leaf = kept;
  });
  EXPECT_GT(changes, 100u);
  EXPECT_EQ(digest_of(snapshot), before);
}

TEST_F(SnapshotTest, TheDigestOfAnOrderIsThatOfItsNumbers) {
  fill();
  const std::string before = digest_now();
  clock->advance_to(20'000);
  EXPECT_NE(digest_now(), before);
  // A store that is read from the snapshot has the same state with other sequence numbers.
  EXPECT_EQ(digest_of(json::parse(text())), digest_now());
}

TEST_F(SnapshotTest, RefusesWhatIsNoSnapshotAndNamesIt) {
  fill();
  const json good = json::parse(text());
  struct Case {
    const char* pointer;
    json value;
    std::string expected;
  };
  const Case cases[] = {
      {"/format", "other", R"(snapshot: format must be "resonate_core/1", got "other")"},
      {"/now", "x", R"(snapshot: now must be an integer within int64, got "x")"},
      {"/promises/0/state", "open", R"(snapshot: promises[0].state must be the name of a promise's state, got "open")"},
      {"/promises/0/task/state", "none", R"(snapshot: promises[0].task.state must be the name of a task's state, got "none")"},
      {"/promises/0/dialect", "1999", R"(snapshot: promises[0].dialect must be a known version, got "1999")"},
      {"/promises/0/external", 1, "snapshot: promises[0].external must be a boolean, got 1"},
      {"/promises/0/task/ttl", 1, "snapshot: promises[0].task.ttl must be lastTtl (7000), got 1"},
      {"/promises/1/id", "acquired", R"(snapshot: promises[1].id comes twice: "acquired")"},
      {"/promises/0/task", nullptr, "snapshot: promises[0].task must be an object, got null"},
      {"/schedules/1/id", "s", R"(snapshot: schedules[1].id comes twice: "s")"},
      {"/messages/0/kind", "post", R"(snapshot: messages[0].kind must be the kind of a message, got "post")"},
      {"/messages/0/id", "absent", R"(snapshot: messages[0].id must name a promise of the snapshot, got "absent")"},
      {"/messages/0/id", "awaited", R"(snapshot: messages[0].id must name a task, got "awaited")"},
  };
  for (const Case& row : cases) {
    json bad = good;
    bad[json::json_pointer(row.pointer)] = row.value;
    try {
      read_snapshot(bad.dump());
      ADD_FAILURE() << row.pointer;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), row.expected);
      EXPECT_EQ(error.code(), ErrorCode::invalid);
    }
  }
  for (const char* text : {"", "[]", "{}", "{\"format\":", "null"}) EXPECT_THROW(read_snapshot(text), Error) << text;
}

TEST_F(SnapshotTest, ABrokenStateRoundTrips) {
  fill();
  json snapshot = json::parse(text());
  for (json& promise : snapshot["promises"]) {
    if (promise["id"] == "acquired") promise["task"].erase("expiresAt");
    if (promise["id"] == "pending") promise["task"].erase("retryAt");
    if (promise["id"] == "halted") promise["task"]["retryAt"] = 5;
    if (promise["id"] == "released") promise["task"]["pid"] = "w";
    if (promise["id"] == "suspended") promise["task"]["expiresAt"] = 5;
    if (promise["id"] == "awaited") promise["settledAt"] = 5;
    if (promise["id"] == "soon") promise.erase("settledAt");
  }
  EXPECT_EQ(reread(snapshot), snapshot);
}

TEST_F(SnapshotTest, PagesThroughManyRows) {
  for (int i = 0; i < 2500; ++i) {
    const std::string id = "p" + std::to_string(i);
    send("promise.create", {{"id", id}, {"timeoutAt", 900'000}, {"tags", kTargeted}});
    if (i > 0) send("promise.register_callback", {{"awaited", "p0"}, {"awaiter", id}});
    send("schedule.create", {{"id", id}, {"cron", "@daily"}, {"promiseId", "x"}, {"promiseTimeout", 1}});
  }
  const json snapshot = json::parse(text());
  EXPECT_EQ(snapshot["promises"].size(), 2500u);
  EXPECT_EQ(snapshot["promises"][0]["callbacks"].size(), 2499u);
  EXPECT_EQ(snapshot["schedules"].size(), 2500u);
  EXPECT_EQ(snapshot["messages"].size(), 2500u);
  EXPECT_EQ(reread(snapshot), snapshot);
}

}  // namespace
}  // namespace resonate
