// The engine on SQLite, beside a bare loop that writes the same rows, one by one, with the same settings: no look-up, no rules,
// no timers, no replies.
//
// Prints one JSON line a figure: {"name", "value", "unit"}. Rounds of things that are compared alternate; the best of each counts.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "resonate/clock.hpp"
#include "resonate/engine.hpp"
#include "resonate/sqlite.hpp"
#include "storage/row_columns.hpp"
#include "storage/sqlite_file.hpp"
#include "storage/sqlite_statements.hpp"
#include "workload.hpp"

namespace {

using namespace resonate;
namespace fs = std::filesystem;
using namespace resonate::probe;

constexpr int kRounds = 3;

// A new path in the folder for every measurement.
fs::path folder;
std::string new_path() {
  static int number = 0;
  return (folder / (std::to_string(++number) + ".db")).string();
}

std::shared_ptr<Engine> open_engine(const std::string& path, Durability durability) {
  return Engine::create(open_sqlite_storage(path, {.durability = durability, .read_only = false, .busy_timeout = 5000}),
                        std::make_shared<ManualClock>(0), Options{});
}

// --- The bare loop ---------------------------------------------------------------

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
  constexpr std::size_t kEach = 200;
  const auto engine = open_engine(new_path(), Durability::full);
  count("SQLite create FULL, 16 threads", 16 * kEach, create_by_threads(*engine, kEach));
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
      print("SQLite open and first tick with 1M rows", opened * 1e3, "ms");
      print("SQLite bytes a row at 1M", static_cast<double>(fs::file_size(path)) / static_cast<double>(live), "bytes");
    }
    return took / 2000 * 1e6;
  };
  print("SQLite create NORMAL at 1k rows", cost(1'000, false), "us");
  print("SQLite create NORMAL at 1M rows", cost(1'000'000, true), "us");
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
  print_best();
  return 0;
}
