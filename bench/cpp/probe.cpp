// The core alone, beside a bare hash map of records and bare JSON parsers, in one process and one run.
//
// Prints one JSON line a figure: {"name", "value", "unit"}. Every figure is the best of several rounds; the rounds of things that
// are compared alternate, so that a slow moment of the machine hits both.
#include <malloc.h>

#include <simdjson.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "protocol/envelope_handler.hpp"
#include "resonate/engine.hpp"

namespace {

using namespace resonate;
using Stopwatch = std::chrono::steady_clock;

constexpr Instant kFar = 4'000'000'000'000;
constexpr int kRounds = 7;

void print(const std::string& name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), value, unit);
  std::fflush(stdout);
}

double seconds(const std::function<void()>& body) {
  const auto start = Stopwatch::now();
  body();
  return std::chrono::duration<double>(Stopwatch::now() - start).count();
}

std::vector<std::string> make_ids(const std::string& prefix, std::size_t count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(prefix + std::to_string(i));
  return ids;
}

// --- What bounds us: the same members in a map, nothing else ------------------

struct BareValue {
  std::map<std::string, std::string> headers;
  std::string data;
};
struct Record {
  std::string id;
  int state = 0;
  BareValue param;
  BareValue value;
  std::map<std::string, std::string> tags;
  Instant timeout_at = 0;
  Instant created_at = 0;
  Instant settled_at = 0;
};

const std::string kParam = "eyJza3UiOiJ0ZWEiLCJjb3VudCI6Mn0=";  // 32 characters
const std::string kValue = "InNoaXBwZWQi";

void bare_create(std::unordered_map<std::string, Record>& map, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    Record record;
    record.id = id;
    record.param.data = kParam;
    record.tags.emplace("resonate:external", "true");
    record.timeout_at = kFar;
    map.emplace(id, std::move(record));
  }
}

void bare_settle(std::unordered_map<std::string, Record>& map, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    Record& record = map.find(id)->second;
    record.state = 1;
    record.value.data = kValue;
    record.settled_at = 1;
  }
}

// --- The engine -----------------------------------------------------------------

std::shared_ptr<Engine> new_engine() { return Engine::create(make_memory_storage(), std::make_shared<ManualClock>(0), Options{}); }

Request create_request(const std::string& id, Instant timeout_at, const char* tag = "resonate:external",
                       const char* value = "true") {
  PromiseCreate create;
  create.id = id;
  create.timeout_at = timeout_at;
  create.param.data = kParam;
  create.tags.set(tag, value);
  return {DialectId::k2026_04_01, std::move(create)};
}

void engine_create(Engine& engine, const std::vector<std::string>& ids, Instant timeout_at = kFar) {
  for (const std::string& id : ids) engine.apply(create_request(id, timeout_at));
}

void engine_settle(Engine& engine, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    PromiseSettle settle;
    settle.id = id;
    settle.state = "resolved";
    settle.value.data = kValue;
    engine.apply({DialectId::k2026_04_01, std::move(settle)});
  }
}

void engine_task_cycle(Engine& engine, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    engine.apply(create_request(id, kFar, "resonate:target", "poll://any@workers"));
    TaskAcquire acquire{.id = id, .version = 0, .pid = "worker", .ttl = 60'000};
    engine.apply({DialectId::k2026_04_01, std::move(acquire)});
    TaskFulfill fulfill{.id = id, .version = 1, .action = {}};
    fulfill.action.id = id;
    fulfill.action.state = "resolved";
    fulfill.action.value.data = kValue;
    engine.apply({DialectId::k2026_04_01, std::move(fulfill)});
  }
}

void compare_with_bare_map() {
  const auto ids = make_ids("promise-", 100'000);
  double best[4] = {1e9, 1e9, 1e9, 1e9};
  for (int round = 0; round < kRounds; ++round) {
    {
      std::unordered_map<std::string, Record> map;
      const double create = seconds([&] { bare_create(map, ids); });
      const double settle = seconds([&] { bare_settle(map, ids); });
      best[0] = std::min(best[0], create);
      best[1] = std::min(best[1], create + settle);
    }
    {
      const auto engine = new_engine();
      const double create = seconds([&] { engine_create(*engine, ids); });
      const double settle = seconds([&] { engine_settle(*engine, ids); });
      best[2] = std::min(best[2], create);
      best[3] = std::min(best[3], create + settle);
    }
  }
  const auto count = static_cast<double>(ids.size());
  print("bare map create", count / best[0], "per s");
  print("bare map create + settle", count / best[1], "per s");
  print("core create", count / best[2], "per s");
  print("core create + settle", count / best[3], "per s");
}

void compare_json() {
  std::string envelope =
      R"({"kind":"promise.create","head":{"corrId":"5b0f2f5e-7a4d-4f65-9d4b-0c7f0f4f8f11","version":"2026-04-01"},"data":{"id":"order-000000","timeoutAt":4000000000000,"param":{"headers":{"content-type":"application/json"},"data":")" +
      kParam + kParam + kParam +
      R"("},"tags":{"resonate:target":"poll://any@workers","resonate:origin":"order-000000","resonate:branch":"","resonate:parent":"order-000000","resonate:scope":"global"}}})";
  constexpr int kCount = 20'000;
  const std::size_t digits = envelope.find("order-000000") + 6;
  double nlohmann_best = 1e9;
  double simdjson_best = 1e9;
  double json_best = 1e9;
  simdjson::dom::parser parser;
  std::size_t sink = 0;
  for (int round = 0; round < kRounds; ++round) {
    nlohmann_best = std::min(nlohmann_best, seconds([&] {
                               for (int i = 0; i < kCount; ++i) sink += nlohmann::json::parse(envelope).dump().size();
                             }));
    simdjson_best = std::min(simdjson_best, seconds([&] {
                               for (int i = 0; i < kCount; ++i) {
                                 simdjson::dom::element document;
                                 if (parser.parse(envelope).get(document)) std::abort();
                                 Record record;
                                 record.id = std::string(std::string_view(document["data"]["id"]));
                                 record.timeout_at = std::int64_t(document["data"]["timeoutAt"]);
                                 record.param.data = std::string(std::string_view(document["data"]["param"]["data"]));
                                 for (const auto tag : simdjson::dom::object(document["data"]["tags"]))
                                   record.tags.emplace(std::string(tag.key), std::string(std::string_view(tag.value)));
                                 sink += record.tags.size();
                               }
                             }));
    const auto engine = new_engine();
    EnvelopeHandler handler(engine);
    json_best = std::min(json_best, seconds([&] {
                           for (int i = 0; i < kCount; ++i) {
                             std::string number = std::to_string(1'000'000 + i).substr(1);
                             envelope.replace(digits, 6, number);
                             sink += handler.apply_json(envelope).size();
                           }
                         }));
  }
  if (sink == 0) std::abort();
  print("nlohmann parse + dump", kCount / nlohmann_best, "per s");
  print("simdjson parse into a struct", kCount / simdjson_best, "per s");
  print("core apply_json create", kCount / json_best, "per s");
}

// Nanoseconds per operation with `live` promises (all with a timer) in the store.
std::map<std::string, double> cost_at(std::size_t live) {
  constexpr std::size_t kOps = 20'000;
  const auto engine = new_engine();
  engine_create(*engine, make_ids("live-", live));
  std::map<std::string, double> best;
  auto measure = [&](const std::string& name, const std::function<void()>& body) {
    const double cost = seconds(body) / static_cast<double>(kOps) * 1e9;
    const auto [at, fresh] = best.emplace(name, cost);
    if (!fresh) at->second = std::min(at->second, cost);
  };
  for (int round = 0; round < kRounds; ++round) {
    // Each round on a fork that is thrown away: the number of live promises stays what it says.
    const auto fork = engine->fork(std::make_shared<ManualClock>(0));
    const auto warm = make_ids("warm-" + std::to_string(round) + "-", 20'000);
    engine_create(*fork, warm);
    const auto ids = make_ids("new-" + std::to_string(round) + "-", kOps);
    const auto tasks = make_ids("task-" + std::to_string(round) + "-", kOps);
    measure("create", [&] { engine_create(*fork, ids); });
    measure("get", [&] {
      for (const std::string& id : ids) fork->apply({DialectId::k2026_04_01, PromiseGet{id}});
    });
    measure("settle", [&] { engine_settle(*fork, ids); });
    measure("task cycle", [&] { engine_task_cycle(*fork, tasks); });
  }
  return best;
}

void measure_growth() {
  const auto few = cost_at(1'000);
  const auto many = cost_at(1'000'000);
  for (const auto& [name, cost] : few) {
    print("core " + name + " at 1k live", cost, "ns");
    print("core " + name + " at 1M live", many.at(name), "ns");
  }
}

void measure_timers() {
  const auto engine = new_engine();
  for (std::size_t i = 0; i < 1'000'000; ++i)
    engine->apply(create_request("timer-" + std::to_string(i), 1'000'000 + static_cast<Instant>(i)));
  constexpr int kTicks = 10'000;
  double idle = 1e9;
  for (int round = 0; round < kRounds; ++round)
    idle = std::min(idle, seconds([&] {
                      for (int i = 0; i < kTicks; ++i) engine->tick();
                    }));
  print("idle tick with 1M timers", idle / kTicks * 1e6, "us");
  double fire = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto fork = engine->fork(std::make_shared<ManualClock>(0));
    std::size_t fired = 0;
    fire = std::min(fire, seconds([&] { fired = fork->tick(1'000'000 + 9'999).size(); }));
    if (fired != 10'000) std::abort();
  }
  print("10k due timers of 1M", fire * 1e3, "ms");
}

void measure_fork_and_memory() {
  const auto ids = make_ids("promise-", 100'000);
  double fork = 1e9;
  const std::size_t before = mallinfo2().uordblks;
  const auto engine = new_engine();
  engine_create(*engine, ids);
  const std::size_t after = mallinfo2().uordblks;
  for (int round = 0; round < kRounds; ++round)
    fork = std::min(fork, seconds([&] { engine->fork(std::make_shared<ManualClock>(0)); }));
  print("fork of 100k promises", fork * 1e3, "ms");
  print("bytes a small promise", static_cast<double>(after - before) / static_cast<double>(ids.size()), "bytes");
}

}  // namespace

int main() {
  measure_fork_and_memory();
  compare_with_bare_map();
  compare_json();
  measure_growth();
  measure_timers();
  return 0;
}
