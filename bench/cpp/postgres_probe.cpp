// The engine on PostgreSQL, beside a bare client that inserts the same rows through the same connection: no look-up, no rules, no
// timers, no replies.
//
// Prints one JSON line a figure: {"name", "value", "unit"}. Rounds of things that are compared alternate; the best of each counts.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "resonate/clock.hpp"
#include "resonate/job_requests.hpp"
#include "resonate/postgres.hpp"
#include "storage/postgres_connection.hpp"
#include "storage/postgres_schema.hpp"
#include "storage/postgres_statements.hpp"
#include "storage/postgres_values.hpp"
#include "storage/row_columns.hpp"
#include "workload.hpp"

namespace {

using namespace resonate;
using namespace resonate::probe;

constexpr int kRounds = 3;
constexpr std::size_t kThreads = 16;

std::string url;

// A new schema for every measurement.
std::string new_place() {
  static int number = 0;
  return url + "?schema=p" + std::to_string(++number);
}

std::shared_ptr<Engine> open_engine(const std::string& place) {
  return Engine::create(open_postgres_storage(place, {}), std::make_shared<ManualClock>(0), Options{});
}

// --- The bare client ------------------------------------------------------------

// A connection to the tables of a store.
std::unique_ptr<PostgresConnection> bare_connection(const std::string& place) {
  const PostgresAddress address = PostgresAddress::parse(place);
  auto connection = std::make_unique<PostgresConnection>(address);
  prepare_postgres_schema(*connection, address, TablesAccess::make);
  connection->run(("SET search_path TO " + address.schema).c_str());
  return connection;
}

// Inserts rows in transactions of one statement each, by `batch`.
void insert(PostgresConnection& connection, const std::vector<RowRef>& rows, std::size_t first, std::size_t last,
            std::size_t batch) {
  while (first < last) {
    PostgresColumns columns(columns_of(PostgresQuery::insert_rows));
    for (const std::size_t end = std::min(last, first + batch); first < end; ++first) {
      bind_new(columns, *rows[first]);
      bind_job(columns, *rows[first]);
    }
    const WritingStatement& writing = writing_statement(PostgresQuery::insert_rows, columns.differing());
    connection.run(writing.statement, columns.parameters(writing.arrays));
  }
}

std::vector<RowRef> rows_of(std::size_t count) {
  std::vector<RowRef> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(row_of(i));
  return made;
}

double bare_loop(std::size_t count, std::size_t batch) {
  const auto connection = bare_connection(new_place());
  const std::vector<RowRef> rows = rows_of(count);
  return seconds([&] { insert(*connection, rows, 0, count, batch); });
}

double bare_threads(std::size_t each) {
  const std::string place = new_place();
  const std::vector<RowRef> rows = rows_of(kThreads * each);
  std::vector<std::unique_ptr<PostgresConnection>> connections;
  for (std::size_t t = 0; t < kThreads; ++t) connections.push_back(bare_connection(place));
  return seconds([&] {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { insert(*connections[t], rows, t * each, (t + 1) * each, 1); });
    for (std::thread& thread : threads) thread.join();
  });
}

// --- The engine ------------------------------------------------------------------

void one_caller() {
  for (const std::size_t batch : {1u, 100u}) {
    const std::size_t rows = batch == 1 ? 2000 : 20'000;
    const std::string by = " by " + std::to_string(batch);
    count("PostgreSQL bare loop" + by, static_cast<double>(rows), bare_loop(rows, batch));
    const auto engine = open_engine(new_place());
    const double create = seconds([&] { run(*engine, rows, batch, create_request); });
    const double settle = seconds([&] { run(*engine, rows, batch, settle_request); });
    count("PostgreSQL create" + by, static_cast<double>(rows), create);
    count("PostgreSQL create + settle" + by, static_cast<double>(rows), create + settle);
  }
  const auto engine = open_engine(new_place());
  count("PostgreSQL task cycle", 500, seconds([&] { task_cycles(*engine, 500); }));
}

void sixteen_threads() {
  constexpr std::size_t kEach = 500;
  count("PostgreSQL bare loop, 16 threads", kThreads * kEach, bare_threads(kEach));
  const auto engine = open_engine(new_place());
  count("PostgreSQL create, 16 threads", kThreads * kEach, create_by_threads(*engine, kEach));
}

// Two processes on one database share its one writer.
void two_engines() {
  constexpr std::size_t kRows = 2000;
  const std::string place = new_place();
  const auto one = open_engine(place);
  const auto other = open_engine(place);
  const auto create = [](Engine& engine, std::size_t from) {
    for (std::size_t i = from; i < from + kRows; ++i) engine.apply(create_request(id_of(i)));
  };
  const double took = seconds([&] {
    std::thread beside([&] { create(*other, kRows); });
    create(*one, 0);
    beside.join();
  });
  count("PostgreSQL create, two processes", 2 * kRows, took);
}

void enqueue(Engine& engine, std::size_t jobs) {
  constexpr std::size_t kBatch = 1000;
  for (std::size_t i = 0; i < jobs; i += kBatch) {
    JobEnqueueMany many;
    for (std::size_t at = i; at < std::min(jobs, i + kBatch); ++at) {
      JobOrder& order = many.orders.emplace_back();
      order.id = "job-" + std::to_string(at);
      order.type = "probe";
    }
    engine.apply({DialectId::k2026_04_01, std::move(many)});
  }
}

// The time of a claim of ten jobs from a queue with that many jobs, in us.
double claim_cost(std::size_t queued) {
  const auto engine = open_engine(new_place());
  enqueue(*engine, queued);
  engine->vacuum();
  constexpr int kClaims = 50;
  const double took = seconds([&] {
    for (int i = 0; i < kClaims; ++i) {
      JobClaim claim;
      claim.queues.push_back({.name = "default", .weight = {}});
      claim.count = 10;
      claim.worker = "probe";
      claim.lease = 60'000;
      engine->apply({DialectId::k2026_04_01, std::move(claim)});
    }
  });
  return took / kClaims * 1e6;
}

}  // namespace

// postgres_probe URL [JOBS]: a database that is empty; how many jobs wait in the largest queue.
int main(int count_of_arguments, char** arguments) {
  url = arguments[1];
  const std::size_t jobs = count_of_arguments > 2 ? std::stoul(arguments[2]) : 1'000'000;
  for (int round = 0; round < kRounds; ++round) {
    one_caller();
    sixteen_threads();
    two_engines();
  }
  print("PostgreSQL claim at 1k jobs", claim_cost(1000), "us");
  print("PostgreSQL claim at " + std::to_string(jobs / 1000) + "k jobs", claim_cost(jobs), "us");
  print_best();
  return 0;
}
