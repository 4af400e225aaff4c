// The engine on SQLite, beside a bare loop that writes the same rows, one by one, with the same settings: no look-up, no rules,
// no timers, no replies.
//
// Prints one JSON line a figure: {"name", "value", "unit"}. Rounds of things that are compared alternate; the best of each counts.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "machine/derive.hpp"
#include "resonate/clock.hpp"
#include "resonate/engine.hpp"
#include "resonate/sqlite.hpp"
#include "storage/sqlite_file.hpp"
#include "storage/sqlite_rows.hpp"

namespace {

using namespace resonate;
namespace fs = std::filesystem;
using Stopwatch = std::chrono::steady_clock;

constexpr Instant kFar = 4'000'000'000'000;
constexpr int kRounds = 3;

double seconds(const std::function<void()>& body) {
  const auto start = Stopwatch::now();
  body();
  return std::chrono::duration<double>(Stopwatch::now() - start).count();
}

std::map<std::string, double> best;  // operations per second
void count(const std::string& name, double operations, double took) {
  double& rate = best[name];
  rate = std::max(rate, operations / took);
}

// A new path in the folder for every measurement.
fs::path folder;
std::string new_path() {
  static int number = 0;
  return (folder / (std::to_string(++number) + ".db")).string();
}

PromiseCreate creation(const std::string& id) {
  PromiseCreate create;
  create.id = id;
  create.timeout_at = kFar;
  create.param.data = "eyJza3UiOiJ0ZWEiLCJjb3VudCI6Mn0=";
  create.tags.set("resonate:external", "true");
  return create;
}
Request create_request(const std::string& id) { return {DialectId::k2026_04_01, creation(id)}; }
Request settle_request(const std::string& id) {
  PromiseSettle settle;
  settle.id = id;
  settle.state = "resolved";
  settle.value.data = "InNoaXBwZWQi";
  return {DialectId::k2026_04_01, std::move(settle)};
}
std::string id_of(std::size_t number) { return "promise-" + std::to_string(number); }

std::shared_ptr<Engine> open_engine(const std::string& path, Durability durability) {
  return Engine::create(open_sqlite_storage(path, {.durability = durability, .read_only = false, .busy_timeout = 5000}),
                        std::make_shared<ManualClock>(0), Options{});
}

// --- The bare loop ---------------------------------------------------------------

RowRef row_of(std::size_t number) {
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

double bare_loop(Durability durability, std::size_t rows, std::size_t batch) {
  const auto file = SqliteFile::open(new_path(), {.durability = durability, .read_only = false, .busy_timeout = 5000});
  SqliteStatements statements(file->database());
  std::vector<RowRef> made;
  for (std::size_t i = 0; i < rows; ++i) made.push_back(row_of(i));
  return seconds([&] {
    for (std::size_t i = 0; i < rows;) {
      Query(statements[Sql::begin_write]).run();
      for (const std::size_t end = std::min(rows, i + batch); i < end; ++i) {
        Query insert(statements[Sql::insert_row]);
        bind_new(insert, *made[i]);
        insert.run();
      }
      Query(statements[Sql::store_counters])
          .integer(0)
          .integer(static_cast<std::int64_t>(i))
          .integer(0)
          .integer(0)
          .integer(0)
          .run();
      Query(statements[Sql::commit]).run();
    }
  });
}

// --- The engine ------------------------------------------------------------------

void run(Engine& engine, std::size_t rows, std::size_t batch, Request (*request)(const std::string&)) {
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

void task_cycles(Engine& engine, std::size_t cycles) {
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

const char* name_of(Durability durability) { return durability == Durability::full ? "FULL" : "NORMAL"; }

void one_caller(Durability durability) {
  const std::string mode = std::string(" ") + name_of(durability);
  for (const std::size_t batch : {1u, 10u, 100u, 1000u}) {
    const std::size_t rows = batch == 1 ? (durability == Durability::full ? 500 : 4000) : std::max<std::size_t>(batch * 20, 2000);
    const std::string by = mode + " by " + std::to_string(batch);
    count("SQLite bare loop" + by, static_cast<double>(rows), bare_loop(durability, rows, batch));
    const auto engine = open_engine(new_path(), durability);
    const double create = seconds([&] { run(*engine, rows, batch, create_request); });
    const double settle = seconds([&] { run(*engine, rows, batch, settle_request); });
    count("SQLite create" + by, static_cast<double>(rows), create);
    count("SQLite create + settle" + by, static_cast<double>(rows), create + settle);
  }
  const std::size_t cycles = durability == Durability::full ? 200 : 1500;
  const auto engine = open_engine(new_path(), durability);
  count("SQLite task cycle" + mode, static_cast<double>(cycles), seconds([&] { task_cycles(*engine, cycles); }));
}

void sixteen_threads() {
  constexpr std::size_t kThreads = 16;
  constexpr std::size_t kEach = 200;
  const auto engine = open_engine(new_path(), Durability::full);
  const double took = seconds([&] {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&engine, t] {
        for (std::size_t i = 0; i < kEach; ++i) engine->apply(create_request(id_of(t * kEach + i)));
      });
    for (std::thread& thread : threads) thread.join();
  });
  count("SQLite create FULL, 16 threads", kThreads * kEach, took);
}

void fsyncs() {
  const int file = ::open(new_path().c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0) std::abort();
  constexpr int kSyncs = 100;
  const std::string page(4096, 'x');
  const double took = seconds([&] {
    for (int i = 0; i < kSyncs; ++i)
      if (::write(file, page.data(), page.size()) < 0 || ::fdatasync(file) != 0) std::abort();
  });
  ::close(file);
  count("fdatasync of a page", kSyncs, took);
}

// With a million rows: what an operation costs, how large the file is, how long the first look takes.
void growth() {
  const auto cost = [](std::size_t live, bool report) {
    const std::string path = new_path();
    double took = 0;
    {
      const auto engine = open_engine(path, Durability::normal);
      run(*engine, live, 1000, create_request);
      took = seconds([&] {
        for (std::size_t i = 0; i < 2000; ++i) engine->apply(create_request("new-" + std::to_string(i)));
      });
    }
    if (report) {
      std::shared_ptr<Engine> engine;
      const double opened = seconds([&] {
        engine = open_engine(path, Durability::normal);
        engine->tick();
      });
      std::printf("{\"name\": \"SQLite open and first tick with 1M rows\", \"value\": %.6g, \"unit\": \"ms\"}\n", opened * 1e3);
      std::printf("{\"name\": \"SQLite bytes a row at 1M\", \"value\": %.6g, \"unit\": \"bytes\"}\n",
                  static_cast<double>(fs::file_size(path)) / static_cast<double>(live));
    }
    return took / 2000 * 1e6;
  };
  std::printf("{\"name\": \"SQLite create NORMAL at 1k rows\", \"value\": %.6g, \"unit\": \"us\"}\n", cost(1'000, false));
  std::printf("{\"name\": \"SQLite create NORMAL at 1M rows\", \"value\": %.6g, \"unit\": \"us\"}\n", cost(1'000'000, true));
}

}  // namespace

// sqlite_probe FOLDER: where files may be written, on the disk that is to be measured.
int main(int, char** arguments) {
  folder = arguments[1];
  for (int round = 0; round < kRounds; ++round) {
    fsyncs();
    one_caller(Durability::normal);
    one_caller(Durability::full);
    sixteen_threads();
  }
  growth();
  for (const auto& [name, rate] : best)
    std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"per s\"}\n", name.c_str(), rate);
  return 0;
}
