// The requests of the probes of stores, and the best rate of each figure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "machine/derive.hpp"
#include "resonate/engine.hpp"

namespace resonate::probe {

using Stopwatch = std::chrono::steady_clock;

inline constexpr Instant kFar = 4'000'000'000'000;

inline double seconds(const std::function<void()>& body) {
  const auto start = Stopwatch::now();
  body();
  return std::chrono::duration<double>(Stopwatch::now() - start).count();
}

inline std::map<std::string, double> best;  // operations per second
inline void count(const std::string& name, double operations, double took) {
  double& rate = best[name];
  rate = std::max(rate, operations / took);
}
inline void print(const std::string& name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", name.c_str(), value, unit);
}
inline void print_best() {
  for (const auto& [name, rate] : best) print(name, rate, "per s");
}

inline PromiseCreate creation(const std::string& id) {
  PromiseCreate create;
  create.id = id;
  create.timeout_at = kFar;
  create.param.data = "eyJza3UiOiJ0ZWEiLCJjb3VudCI6Mn0=";
  create.tags.set("resonate:external", "true");
  return create;
}
inline Request create_request(const std::string& id) { return {DialectId::k2026_04_01, creation(id)}; }
inline Request settle_request(const std::string& id) {
  PromiseSettle settle;
  settle.id = id;
  settle.state = "resolved";
  settle.value.data = "InNoaXBwZWQi";
  return {DialectId::k2026_04_01, std::move(settle)};
}
inline std::string id_of(std::size_t number) { return "promise-" + std::to_string(number); }

inline RowRef row_of(std::size_t number) {
  PromiseCreate create = creation(id_of(number));
  Shared<PromiseSpec> promise_spec(new PromiseSpec);
  promise_spec->id = create.id;
  promise_spec->param = create.param;
  promise_spec->tags = create.tags;
  promise_spec->timeout_at = kFar;
  derive_promise_spec(*promise_spec);
  Shared<Row> row(new Row);
  row->promise_spec = promise_spec;
  row->external = true;
  row->due = next_due(*row);
  return row;
}

inline void run(Engine& engine, std::size_t rows, std::size_t batch, Request (*request)(const std::string&)) {
  std::vector<Request> requests;
  for (std::size_t i = 0; i < rows;) {
    if (batch == 1) {
      engine.apply(request(id_of(i++)));
      continue;
    }
    requests.clear();
    for (const std::size_t end = std::min(rows, i + batch); i < end; ++i) requests.push_back(request(id_of(i)));
    engine.apply(std::move(requests));
    requests = {};
  }
}

inline void task_cycles(Engine& engine, std::size_t cycles) {
  for (std::size_t i = 0; i < cycles; ++i) {
    PromiseCreate create = creation(id_of(i));
    create.tags.set("resonate:target", "poll://any@workers");
    engine.apply({DialectId::k2026_04_01, std::move(create)});
    engine.apply({DialectId::k2026_04_01, TaskAcquire{.id = id_of(i), .version = 0, .pid = "worker", .ttl = 60'000}});
    TaskFulfill fulfill{.id = id_of(i), .version = 1, .action = {}};
    fulfill.action.id = id_of(i);
    fulfill.action.state = "resolved";
    fulfill.action.value.data = "InNoaXBwZWQi";
    engine.apply({DialectId::k2026_04_01, std::move(fulfill)});
  }
}

// Creates by 16 threads, each request in a call of its own.
inline double create_by_threads(Engine& engine, std::size_t each) {
  constexpr std::size_t kThreads = 16;
  return seconds([&] {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&engine, t, each] {
        for (std::size_t i = 0; i < each; ++i) engine.apply(create_request(id_of(t * each + i)));
      });
    for (std::thread& thread : threads) thread.join();
  });
}

}  // namespace resonate::probe
