// Files of older releases: this release migrates each schema to the newest and keeps the contents.
#include <gtest/gtest.h>

#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "fake_jobs.hpp"
#include "resonate/errors.hpp"
#include "storage/sqlite_schema.hpp"

namespace resonate {
namespace {

using namespace fake;

class SqliteMigrations : public ::testing::Test {
 protected:
  // A file as the release with that schema would have written it, with the contents that `fill` gives a store of this release.
  std::string made_by(std::int64_t version, auto fill) {
    std::string now;
    {
      JobStore store(backends.storage(Backend::sqlite), checked(), 10);
      now = today = backends.last_file();
      fill(store);
      digest = store.digest();
      due = store.engine->next_due();
    }
    const std::string older = folder.file("schema-" + std::to_string(version) + ".db");
    SQLite::Database file(older, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    for (std::int64_t next = 0; next < version; ++next) file.exec(sqlite_migrations()[static_cast<std::size_t>(next)]);
    file.exec("PRAGMA user_version = " + std::to_string(version) +
              "; PRAGMA application_id = " + std::to_string(kSqliteApplicationId));
    file.exec("ATTACH '" + now + "' AS today; DELETE FROM counters");
    SQLite::Statement tables(file, "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    while (tables.executeStep()) {
      const std::string table = tables.getColumn(0);
      const std::string columns = columns_of(file, table);
      file.exec("INSERT INTO main." + table + " (" + columns + ") SELECT " + columns + " FROM today.resonate_" + table);
    }
    if (version >= 2 && version <= 4)  // these schemas store the two columns for every job
      file.exec(R"(UPDATE promises SET enqueued_at = coalesce(enqueued_at, 0), job_state = (SELECT key FROM json_each(
          '["scheduled","pending","claimed","running","retry","archived","completed","failed","cancelled","expired"]')
          WHERE value = json_extract(job, '$.state')) WHERE job IS NOT NULL)");
    return older;
  }
  static std::string columns_of(SQLite::Database& file, const std::string& table) {
    std::string columns;
    SQLite::Statement names(file, "SELECT name FROM pragma_table_info(?, 'main')");
    names.bind(1, table);
    while (names.executeStep()) columns += (columns.empty() ? "" : ", ") + names.getColumn(0).getString();
    return columns;
  }
  // Expects that every column has the value that this release would have written.
  void expect_as_today(const std::string& path) {
    SQLite::Database file(path, SQLite::OPEN_READWRITE);
    file.exec("ATTACH '" + today + "' AS today");
    for (const std::string name : {"promises", "messages", "schedules", "edges", "queues"}) {
      const std::string table = "resonate_" + name;
      const std::string columns = columns_of(file, table);
      for (const auto& [one, other] : {std::pair("main", "today"), std::pair("today", "main")})
        EXPECT_EQ(file.execAndGet("SELECT count(*) FROM (SELECT " + columns + " FROM " + one + "." + table + " EXCEPT SELECT " +
                                  columns + " FROM " + other + "." + table + ")")
                      .getInt64(),
                  0)
            << table << " of " << one;
    }
  }
  // Opens the file with this release, and expects the same contents and no violations.
  JobStore opened(const std::string& path) {
    JobStore store(open_sqlite_storage(path, {}), checked(), 10);
    EXPECT_EQ(store.digest(), digest);
    EXPECT_EQ(store.engine->next_due(), due);
    store.expect_no_violations();
    EXPECT_TRUE(check_sqlite_file(path).empty());
    expect_as_today(path);
    EXPECT_EQ(sqlite_schema_versions(path).found, sqlite_schema_version());
    return store;
  }

  Folder folder;
  Backends backends;
  std::string today;
  std::string digest;
  std::optional<Instant> due;
};

void gather(JobStore& store) {
  store.must(gathers({3, 100, {}}));
  for (const char* id : {"g1", "g2"}) store.add(grouped(id));
  EXPECT_EQ(store.gathering("g1").substr(0, 9), "scheduled");
  store.add(grouped("g3"));
  EXPECT_EQ(store.claim(1), (Texts{"g1", "g2", "g3"}));
  ScheduleCreate schedule;
  schedule.id = "of jobs";
  schedule.cron = "* * * * *";
  schedule.promise_id = "report";
  schedule.promise_timeout = 1000;
  schedule.job = grouped("");
  schedule.job->id.reset();
  store.must(schedule);
  store.clock->advance_to(60'000);
  EXPECT_EQ(store.state("report"), "scheduled");
  store.expect_no_violations();
}

void fill_with_jobs(JobStore& store) {
  for (const char* id : {"claimed", "retry", "archived", "running"}) store.start(order(id, "q"));
  store.must(failure("retry", 1));
  store.must(JobArchive{only("retry")});
  store.add(keyed("pending", "K", "q"));
  store.add(with(order("scheduled", "q"), [](JobOrder& its) { its.process_in = 77; }));
  store.must(RegisterListener{"pending", "http://a"});
  ScheduleCreate schedule;
  schedule.id = "s";
  schedule.cron = "@daily";
  schedule.promise_id = "x";
  store.must(schedule);
  store.create("promise");
}

TEST_F(SqliteMigrations, JobsOfTheSecondSchema) {
  ASSERT_GE(sqlite_schema_version(), 3);
  const std::string path = made_by(2, fill_with_jobs);
  JobStore store = opened(path);
  EXPECT_EQ(store.run(enqueue(keyed("other", "K", "q"))).status, status::kConflict);
  EXPECT_EQ(store.must(ScheduleGet{"s"}).schedule->job, nullptr);
  EXPECT_EQ(store.claim(9, {"q"}), Texts{"pending"});
  gather(store);
}

// Up to the fourth schema, the SQL of an index selected its rows; since the fifth, the values of the columns select them.
TEST_F(SqliteMigrations, IndexesOfTheFourthSchema) {
  const std::string path = made_by(4, [](JobStore& store) {
    fill_with_jobs(store);
    store.add(with(order("first", "q"), [](JobOrder& its) { its.priority = 3; }));
    store.must(RegisterListener{"promise", "http://b"});
    store.must(settlement("promise"));
    store.must(JobCancel{only("archived")});
  });
  JobStore store = opened(path);
  const auto found = [&](const char* state) {
    Texts ids;
    JobSearch search;
    search.filter.state = state;
    for (const RowRef& row : store.must(search).rows) ids.push_back(row->id());
    return ids;
  };
  EXPECT_EQ(found("scheduled"), Texts{"scheduled"});
  EXPECT_EQ(found("archived"), Texts{"retry"});
  EXPECT_EQ(found("cancelled"), Texts{"archived"});
  EXPECT_EQ(store.outbox(), Texts{"unblock:promise:http://b"});
  EXPECT_EQ(store.claim(9, {"q"}), (Texts{"first", "pending"}));
  gather(store);
}

TEST_F(SqliteMigrations, PromisesOfTheFirstSchema) {
  const std::string path = made_by(1, [](JobStore& store) {
    store.create("promise", 70'000);
    store.Store::claim("task", 80'000);
    store.must(RegisterListener{"promise", "http://a"});
    store.must(settlement("promise"));
  });
  JobStore store = opened(path);
  EXPECT_EQ(store.outbox(), Texts{"unblock:promise:http://a"});
  gather(store);
}

TEST_F(SqliteMigrations, NeedAStoreThatMayWrite) {
  for (const std::int64_t version : {1, 2}) {
    const std::string path = made_by(version, [](JobStore& store) { store.create("promise"); });
    try {
      open_sqlite_storage(path, {.durability = Durability::full, .read_only = true});
      ADD_FAILURE() << version;
    } catch (const Error& error) {
      EXPECT_NE(
          std::string(error.what())
              .find("its schema version must be " + std::to_string(sqlite_schema_version()) + ", got " + std::to_string(version)),
          std::string::npos);
    }
    EXPECT_EQ(sqlite_schema_versions(path).found, version);
  }
}

}  // namespace
}  // namespace resonate
